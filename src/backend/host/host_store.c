/* What leaves the host backend: its model, statistics of columns, values at coordinates, M, Grams
 * and weights; and terms of entries, which those values make. */
#include "backend/host/host_state.h"

#include <string.h>

#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "model/factor_columns.h"
#include "numerics/row_term.h"

#define TERMS    16                  /* components that are multiplied side by side */
#define PART     512                 /* coordinates that a thread takes              */
#define MEASURED (UINT64_C(1) << 20) /* entries whose columns are measured at a time, about */

/* to (rows x R) = the entries of `from` (rows x R), column r multiplied by scale[r]. */
static void read_rows(const struct host_model *model, double *to, void *from, uint64_t rows,
                      const double *scale)
{
    const uint64_t rank = model->rank;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++) {
        double *row = to + i * rank;
        host_entries_read(row, host_model_row(model, from, i), rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            row[r] *= scale[r];
    }
}

enum status host_state_save(void *state, struct ktensor *k, struct carried *carried,
                            struct error *error)
{
    (void)error;
    struct host_state *h = state;
    const struct host_model *model = &h->model;
    uint64_t row = model->rank, square = row * row;
    memcpy(k->lambda, model->lambda, row * sizeof *model->lambda);
    host_state_fill(h->solve.row, row, 1.0);
    for (int n = 0; n < model->shape.order; n++) {
        const struct host_factor *f = &model->factor[n];
        read_rows(model, k->factor[n], f->entries, model->shape.dims[n], h->solve.row);
        memcpy(carried->scale + (uint64_t)n * row, f->scale, row * sizeof *f->scale);
        memcpy(carried->gram + (uint64_t)n * square, f->gram, square * sizeof *f->gram);
    }
    return STATUS_OK;
}

/* to = the rows of factor matrix n from `first` on, in this form: row i becomes row number[i], or
 * row i where `number` is NULL. */
static void store_rows(const struct host_model *model, int n, uint64_t first, uint64_t rows,
                       const struct column_form *form, double *to, const uint64_t *number)
{
    const uint64_t rank = model->rank;
    void *entries = model->factor[n].entries;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t row = number ? number[i] : i;
        if (row != NO_ROW)
            column_form_row(form, host_model_row(model, entries, first + i), model->precision, 0,
                            rank, to + row * rank);
    }
}

enum status host_state_store(void *state, const struct model_form *form, struct ktensor *k,
                             struct error *error)
{
    const struct host_state *h = state;
    const struct host_model *model = &h->model;
    double *room = memory_array(3, model->rank * sizeof *room, error);
    TRY(error->status);
    for (int n = 0; n < model->shape.order; n++) {
        const struct column_form columns = column_form_of(form, n, model->factor[n].scale, room);
        const struct rank_rows_stored rows = rank_rows_stored(h->ranks, n, form->whole);
        store_rows(model, n, rows.first, rows.count, &columns, k->factor[n] + rows.at * model->rank,
                   rows.number);
    }
    memory_free(room);
    return STATUS_OK;
}

enum status host_state_columns(void *state, int mode, const struct model_form *form,
                               struct column *column, struct error *error)
{
    const struct host_state *h = state;
    const struct mode_rows *own = &h->ranks->mode[mode];
    const struct part *part = &h->ranks->part;
    const uint64_t rank = h->model.rank, most = MEASURED / rank, step = most > 0 ? most : 1;
    double *room = memory_array(3 + least_of(step, own->count), rank * sizeof *room, error);
    struct column *found = memory_array(rank, sizeof *found, error);
    TRY_OR(done, error->status);
    double *piece = room + 3 * rank; /* rows that are measured at a time */
    const struct column_form columns =
        column_form_of(form, mode, h->model.factor[mode].scale, room);
    for (uint64_t r = 0; r < rank; r++)
        column[r] = (struct column){0, 0, NO_ROW};
    for (uint64_t k = 0; k < own->count; k += step) {
        const uint64_t i = own->first + k, rows = least_of(step, own->count - k);
        const struct factor_rows stored = {.a = piece,
                                           .rows = rows,
                                           .rank = rank,
                                           .first = part->first[mode] + i,
                                           .row = part->row[mode] ? part->row[mode] + i : NULL};
        store_rows(&h->model, mode, i, rows, &columns, piece, NULL);
        TRY_OR(done, factor_columns_measure(&stored, found, error));
        for (uint64_t r = 0; r < rank; r++)
            column_add(&column[r], &found[r]);
    }
done:
    memory_free(room, found);
    return error->status;
}

enum status host_state_fetch(void *state, int mode, double *m, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    host_model_scale_of_m(&h->model, mode, h->solve.row);
    read_rows(&h->model, m, h->solve.m, h->model.shape.dims[mode], h->solve.row);
    return STATUS_OK;
}

enum status host_state_gram(void *state, int mode, double *gram, struct error *error)
{
    (void)error;
    const struct host_model *model = &((const struct host_state *)state)->model;
    memcpy(gram, model->factor[mode].gram, model->rank * model->rank * sizeof *gram);
    return STATUS_OK;
}

enum status host_state_weights(void *state, double *lambda, struct error *error)
{
    (void)error;
    const struct host_model *model = &((const struct host_state *)state)->model;
    memcpy(lambda, model->lambda, model->rank * sizeof *lambda);
    return STATUS_OK;
}

/* term (count) *= the entries from column r on of this row. */
static inline __attribute__((always_inline)) void
multiply(double *term, uint64_t count, const void *rows, uint64_t at, enum precision precision)
{
    if (precision == PRECISION_SINGLE)
        for (uint64_t i = 0; i < count; i++)
            term[i] *= (double)((const float *)rows)[at + i];
    else
        for (uint64_t i = 0; i < count; i++)
            term[i] *= ((const double *)rows)[at + i];
}

/* Of coordinates [first, last). weight (R): what the columns of the entries lack. */
VECTOR_CLONES static void values_of(double *value, const struct host_rows *factors,
                                    const double *weight, const struct coo *at, uint64_t first,
                                    uint64_t last)
{
    const uint64_t rank = factors->rank;
    for (uint64_t i = first; i < last; i++) {
        double sum = 0;
        for (uint64_t r = 0; r < rank; r += TERMS) {
            const uint64_t count = least_of(TERMS, rank - r);
            double term[TERMS];
            for (uint64_t k = 0; k < count; k++)
                term[k] = weight[r + k];
            for (int n = 0; n < at->shape.order; n++)
                multiply(term, count, factors->of[n], at->index[n][i] * rank + r,
                         factors->precision);
            for (uint64_t k = 0; k < count; k++)
                sum += term[k];
        }
        value[i] = sum;
    }
}

/* weight (R) = what the products of the entries lack to be the model's values. */
static void weights_of_values(const struct host_state *h, double *weight)
{
    host_model_scale_of_m(&h->model, -1, weight);
    for (uint64_t r = 0; r < h->model.rank; r++)
        weight[r] *= h->model.lambda[r];
}

enum status host_state_values(void *state, const struct coo *at, double *value, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    const struct host_rows factors = host_model_rows(&h->model);
    double *weight = h->solve.row;
    weights_of_values(h, weight);
#pragma omp parallel for schedule(static) if (at->nnz > PART)
    for (uint64_t first = 0; first < at->nnz; first += PART)
        values_of(value, &factors, weight, at, first, least_of(first + PART, at->nnz));
    return STATUS_OK;
}

/* Where rows have systems, each mode has an ordering of its own, and none is narrow. */
enum status host_state_hold(void *state, int mode, bool *held, struct error *error)
{
    struct host_state *h = state;
    struct host_slices *x = &h->sweep.ordered[mode];
    const struct host_rows factors = host_model_rows(&h->model);
    const double unlisted = h->problem->count.weight;
    double *weight = h->solve.row, *term;
    *held = plan_has_room(&h->built.plan, x->nnz * sizeof *term);
    if (!*held)
        return STATUS_OK;
    term = memory_array(x->nnz, sizeof *term, error);
    TRY(error->status);
    weights_of_values(h, weight);
#pragma omp parallel for schedule(static) if (x->nnz > PART)
    for (uint64_t first = 0; first < x->nnz; first += PART) {
        const uint64_t count = least_of(PART, x->nnz - first);
        struct coo at = {.shape = h->model.shape, .nnz = count};
        uint32_t row[PART];
        host_slices_rows(x, first, count, row);
        for (int n = 0; n < at.shape.order; n++)
            at.index[n] = n == mode ? row : x->coordinate[n] + first;
        values_of(term + first, &factors, weight, &at, 0, count);
        for (uint64_t i = first; i < first + count; i++)
            term[i] = row_term(x->value[i], term[i], unlisted).c;
    }
    h->terms = (struct host_terms){true, mode, x->value};
    x->value = term;
    return STATUS_OK;
}

enum status host_state_drop(void *state, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    struct host_slices *x = &h->sweep.ordered[h->terms.mode];
    if (!h->terms.held)
        return STATUS_OK;
    memory_free(x->value);
    x->value = h->terms.value;
    h->terms = (struct host_terms){.held = false};
    return STATUS_OK;
}
