/* The model of the host backend, how models are loaded into it, and exchanges of rows with other
 * ranks. */
#include "backend/host/host_state.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"
#include "problem/initial_guess.h"

#define SUMMED_ROWS 4096 /* of a factor matrix, at a time */

void host_state_fill(double *x, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = value;
}

void *host_model_row(const struct host_model *model, void *array, uint64_t row)
{
    return host_entry(array, row * model->rank, model->precision);
}

struct host_rows host_model_rows(const struct host_model *model)
{
    struct host_rows rows = {.rank = model->rank, .precision = model->precision};
    for (int n = 0; n < model->shape.order; n++)
        rows.of[n] = model->factor[n].entries;
    return rows;
}

void host_model_scale_gram(struct host_model *model, int n, const double *scale)
{
    const uint64_t rank = model->rank;
    double *gram = model->factor[n].gram;
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            gram[i * rank + j] = gram[i * rank + j] * scale[i] * scale[j];
}

void host_model_scale_of_m(const struct host_model *model, int mode, double *row)
{
    host_state_fill(row, model->rank, 1.0);
    for (int n = 0; n < model->shape.order; n++)
        for (uint64_t r = 0; n != mode && r < model->rank; r++)
            row[r] *= model->factor[n].scale[r];
}

void host_model_hadamard(const struct host_model *model, int mode, double *v)
{
    uint64_t rank = model->rank;
#pragma omp parallel for schedule(static) if (rank * rank > 65536)
    for (uint64_t i = 0; i < rank; i++) {
        double *row = v + i * rank;
        for (uint64_t j = 0; j < rank; j++)
            row[j] = 1.0;
        for (int n = 0; n < model->shape.order; n++)
            if (n != mode)
                for (uint64_t j = 0; j < rank; j++)
                    row[j] *= model->factor[n].gram[i * rank + j];
    }
}

void host_model_expected_norms(const struct host_model *model, double *column)
{
    const double *lambda = model->lambda;
    for (uint64_t r = 0; r < model->rank; r++)
        column[r] = lambda[r] > 1e-100 && lambda[r] < 1e100 ? ldexp(1.0, -ilogb(lambda[r])) : 1.0;
}

enum status host_state_make_gram(struct host_state *h, int n, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[n];
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank;
    double *gram = model->factor[n].gram;
    const void *own = host_model_row(model, model->factor[n].entries, rows->first);
    TRY(host_dense_gram(own, rows->count, rank, model->precision, gram, error));
    return comm_allreduce_sum(h->ranks->all, gram, rank * rank, error);
}

/* Where pieces are cut does not depend on the number of threads. */
enum status host_state_make_sums(struct host_state *h, int n, struct error *error)
{
    const struct mode_rows *own = &h->ranks->mode[n];
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank, pieces = own->count / SUMMED_ROWS + 1;
    const struct host_factor *f = &model->factor[n];
    double *part = memory_zeros(pieces, 2 * rank * sizeof *part, error);
    TRY(error->status);
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (uint64_t k = 0; k < pieces; k++) {
        const uint64_t last = least_of(own->count, (k + 1) * SUMMED_ROWS);
        double *sum = part + 2 * k * rank, *row = sum + rank;
        for (uint64_t i = k * SUMMED_ROWS; i < last; i++) {
            const void *from = host_model_row(model, f->entries, own->first + i);
            host_entries_read(row, from, rank, model->precision);
            for (uint64_t r = 0; r < rank; r++)
                sum[r] += row[r];
        }
    }
    host_state_fill(f->sum, rank, 0);
    for (uint64_t k = 0; k < pieces; k++)
        for (uint64_t r = 0; r < rank; r++)
            f->sum[r] += part[2 * k * rank + r];
    memory_free(part);
    TRY(comm_allreduce_sum(h->ranks->all, f->sum, rank, error));
    for (uint64_t r = 0; r < rank; r++)
        f->sum[r] *= f->scale[r];
    return STATUS_OK;
}

/* The entries of factor matrix n = from (rows x R). */
static void write_rows(const struct host_model *model, int n, const double *from)
{
    const uint64_t rank = model->rank, rows = model->shape.dims[n];
    void *to = model->factor[n].entries;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        host_entries_write(host_model_row(model, to, i), from + i * rank, rank, model->precision);
}

/* The random rows of factor matrix n, which are made as doubles. */
static enum status make_rows(struct host_state *h, int n, const struct model_source *from,
                             struct error *error)
{
    const struct part *part = &h->ranks->part;
    const struct host_model *model = &h->model;
    const bool is_single = model->precision == PRECISION_SINGLE;
    const uint64_t entries = part->here.dims[n] * model->rank;
    double *made =
        is_single ? memory_array(entries, sizeof *made, error) : model->factor[n].entries;
    if (!made)
        return error->status;
    ktensor_random_rows(made, part, n, model->rank, from->init, from->seed);
    if (h->problem->asked->rules.nonneg[n])
        entries_drop_signs(made, entries);
    if (!is_single)
        return STATUS_OK;
    write_rows(model, n, made);
    memory_free(made);
    return STATUS_OK;
}

/* Factor matrix n with its scales and its Gram. */
static enum status load_mode(struct host_state *h, int n, const struct model_source *from,
                             struct error *error)
{
    const struct carried *carried = from->carried;
    const struct host_factor *f = &h->model.factor[n];
    uint64_t row = h->model.rank, square = row * row;
    sweep_changed(&h->sweep.sweep, n);
    host_state_fill(f->scale, row, 1.0);
    if (from->k)
        write_rows(&h->model, n, from->k->factor[n]);
    else
        TRY(make_rows(h, n, from, error));
    if (!carried && h->rates)
        TRY(host_state_make_sums(h, n, error));
    if (!carried)
        return host_state_make_gram(h, n, error);
    memcpy(f->scale, carried->scale + (uint64_t)n * row, row * sizeof *f->scale);
    memcpy(f->gram, carried->gram + (uint64_t)n * square, square * sizeof *f->gram);
    for (uint64_t r = 0; r < row; r++)
        f->sum[r] = f->gram[r * row + r] > 0;
    return h->rates && h->problem->asked->rules.fixed[n] ? host_state_make_sums(h, n, error)
                                                         : STATUS_OK;
}

enum status host_state_load(void *state, const struct model_source *from, struct error *error)
{
    struct host_state *h = state;
    struct host_model *model = &h->model;
    model->precision = from->precision;
    model->weights_fit = from->carried != NULL;
    memcpy(model->lambda, from->lambda, model->rank * sizeof *model->lambda);
    for (int n = 0; n < model->shape.order; n++)
        TRY(load_mode(h, n, from, error));
    return STATUS_OK;
}

enum status host_state_widen(void *state, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    const uint64_t rank = h->model.rank;
    double *room = h->solve.m; /* the doubles take twice the room of the floats */
    for (int n = 0; n < h->model.shape.order; n++) {
        const uint64_t rows = h->model.shape.dims[n];
        double *to = h->model.factor[n].entries;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
        for (uint64_t i = 0; i < rows; i++)
            host_entries_read(room + i * rank, host_entry_of(to, i * rank, PRECISION_SINGLE), rank,
                              PRECISION_SINGLE);
        memory_copy(to, room, rows * rank * sizeof *to);
        sweep_changed(&h->sweep.sweep, n);
    }
    h->model.precision = PRECISION_DOUBLE;
    return STATUS_OK;
}

/* The last of the R entries becomes the first. */
static void rotate_row(void *row, uint64_t rank, enum precision precision)
{
    char last[sizeof(double)];
    const uint64_t size = precision_bytes(precision);
    memcpy(last, host_entry_of(row, rank - 1, precision), size);
    memmove(host_entry(row, 1, precision), row, (rank - 1) * size);
    memcpy(row, last, size);
}

enum status host_state_rotate(void *state, int mode, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    const struct host_model *model = &h->model;
    const struct host_factor *f = &model->factor[mode];
    uint64_t rank = model->rank, rows = model->shape.dims[mode];
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        rotate_row(host_model_row(model, f->entries, i), rank, model->precision);
    rotate_row(f->scale, rank, PRECISION_DOUBLE);
    sweep_changed(&h->sweep.sweep, mode);
    return STATUS_OK;
}

/* Rows of the model's entries to h->solve.sent, or back. */
static void rows_to_sent(struct host_state *h, void *from, uint64_t first, uint64_t count)
{
    const struct host_model *model = &h->model;
    host_entries_read(h->solve.sent + first * model->rank, host_model_row(model, from, first),
                      count * model->rank, model->precision);
}

static void rows_from_sent(struct host_state *h, void *to, uint64_t first, uint64_t count)
{
    const struct host_model *model = &h->model;
    host_entries_write(host_model_row(model, to, first), h->solve.sent + first * model->rank,
                       count * model->rank, model->precision);
}

/* How many rows the stripe of this rank has, which begins at rows->first. */
static uint64_t own_rows(const struct mode_rows *rows)
{
    const uint64_t *stripe = rows->stripe_first + rows->peers->rank;
    return stripe[1] - stripe[0];
}

enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_reduce_scatter(h->ranks, mode, m, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    rows_to_sent(h, m, 0, rows->stripe_first[rows->peers->size]);
    TRY(rank_rows_reduce_scatter(h->ranks, mode, h->solve.sent, h->model.rank, error));
    rows_from_sent(h, m, rows->first, own_rows(rows));
    return STATUS_OK;
}

enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_allgather(h->ranks, mode, a, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    rows_to_sent(h, a, rows->first, own_rows(rows));
    TRY(rank_rows_allgather(h->ranks, mode, h->solve.sent, h->model.rank, error));
    rows_from_sent(h, a, 0, rows->stripe_first[rows->peers->size]);
    return STATUS_OK;
}
