/* The model's way into the host backend and back. */
#include "backend/host/host_state.h"

#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "base/memory.h"
#include "problem/initial_guess.h"

void host_state_fill(double *x, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = value;
}

void *host_state_row(const struct host_state *h, void *array, uint64_t row)
{
    return host_entry(array, row * h->rank, h->sweep.precision);
}

void host_state_changed(struct host_state *h, int n)
{
    if (!h->is_empty)
        host_sweep_changed(&h->sweep, n);
}

void host_state_scale_of_m(struct host_state *h, int mode)
{
    host_state_fill(h->row, h->rank, 1.0);
    for (int n = 0; n < h->shape.order; n++)
        for (uint64_t r = 0; n != mode && r < h->rank; r++)
            h->row[r] *= h->scale[n][r];
}

/* to (rows x R) = the entries of `from` (rows x R), column r multiplied by scale[r]. */
static void read_rows(const struct host_state *h, double *to, const void *from, uint64_t rows,
                      const double *scale)
{
    const uint64_t rank = h->rank;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++) {
        double *row = to + i * rank;
        host_entries_read(row, host_entry_of(from, i * rank, h->sweep.precision), rank,
                          h->sweep.precision);
        for (uint64_t r = 0; r < rank; r++)
            row[r] *= scale[r];
    }
}

/* The entries of `to` (rows x R) = from (rows x R). */
static void write_rows(const struct host_state *h, void *to, const double *from, uint64_t rows)
{
    const uint64_t rank = h->rank;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        host_entries_write(host_entry(to, i * rank, h->sweep.precision), from + i * rank, rank,
                           h->sweep.precision);
}

enum status host_state_make_gram(struct host_state *h, int n, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[n];
    const void *own = host_state_row(h, h->factor[n], rows->first);
    if (host_dense_gram(own, rows->count, h->rank, h->sweep.precision, h->gram[n], error) !=
        STATUS_OK)
        return error->status;
    return comm_allreduce_sum(h->ranks->all, h->gram[n], h->rank * h->rank, error);
}

enum status host_state_load(void *state, const struct ktensor *k, const struct carried *carried,
                            struct error *error)
{
    struct host_state *h = state;
    uint64_t row = h->rank, square = row * row;
    memcpy(h->lambda, k->lambda, row * sizeof *h->lambda);
    h->weights_fit = carried != NULL;
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        host_state_fill(h->scale[n], row, 1.0);
        host_state_changed(h, n);
        write_rows(h, h->factor[n], k->factor[n], h->shape.dims[n]);
        if (!carried) {
            host_state_make_gram(h, n, error);
            continue;
        }
        memcpy(h->scale[n], carried->scale + (uint64_t)n * row, row * sizeof *h->scale[n]);
        memcpy(h->gram[n], carried->gram + (uint64_t)n * square, square * sizeof *h->gram[n]);
    }
    return error->status;
}

/* The random rows of factor matrix n, which are made as doubles. */
static enum status random_rows(struct host_state *h, int n, enum ktensor_init init, uint64_t seed,
                               struct error *error)
{
    const struct part *part = &h->ranks->part;
    const bool is_single = h->sweep.precision == PRECISION_SINGLE;
    const uint64_t rows = part->here.dims[n];
    double *made = is_single ? memory_array(rows * h->rank, sizeof *made, error) : h->factor[n];
    if (!made)
        return error->status;
    ktensor_random_rows(made, part, n, h->rank, init, seed);
    if (h->rules.nonneg[n])
        entries_drop_signs(made, rows * h->rank);
    if (!is_single)
        return STATUS_OK;
    write_rows(h, h->factor[n], made, rows);
    memory_free(made);
    return STATUS_OK;
}

enum status host_state_randomise(void *state, enum ktensor_init init, uint64_t seed, double weight,
                                 struct error *error)
{
    struct host_state *h = state;
    host_state_fill(h->lambda, h->rank, weight);
    h->weights_fit = false;
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        host_state_fill(h->scale[n], h->rank, 1.0);
        host_state_changed(h, n);
        if (random_rows(h, n, init, seed, error) == STATUS_OK)
            host_state_make_gram(h, n, error);
    }
    return error->status;
}

enum status host_state_store(void *state, struct ktensor *k, struct carried *carried,
                             struct error *error)
{
    (void)error;
    struct host_state *h = state;
    uint64_t row = h->rank, square = row * row;
    memcpy(k->lambda, h->lambda, row * sizeof *h->lambda);
    host_state_fill(h->row, row, 1.0);
    for (int n = 0; n < h->shape.order; n++) {
        read_rows(h, k->factor[n], h->factor[n], h->shape.dims[n], carried ? h->row : h->scale[n]);
        if (carried) {
            memcpy(carried->scale + (uint64_t)n * row, h->scale[n], row * sizeof *h->scale[n]);
            memcpy(carried->gram + (uint64_t)n * square, h->gram[n], square * sizeof *h->gram[n]);
        }
    }
    return STATUS_OK;
}

enum status host_state_fetch(void *state, int mode, double *m, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    host_state_scale_of_m(h, mode);
    read_rows(h, m, h->m, h->shape.dims[mode], h->row);
    return STATUS_OK;
}

/* The doubles come into M's room first, since they take twice the room of the floats. */
static void widen(struct host_state *h, int n)
{
    const uint64_t rank = h->rank, rows = h->shape.dims[n];
    double *to = h->factor[n], *wide = h->m;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        host_entries_read(wide + i * rank, host_entry_of(h->factor[n], i * rank, PRECISION_SINGLE),
                          rank, PRECISION_SINGLE);
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        memcpy(to + i * rank, wide + i * rank, rank * sizeof *to);
}

enum status host_state_set_precision(void *state, enum precision precision, bool keep,
                                     struct error *error)
{
    (void)error;
    struct host_state *h = state;
    for (int n = 0; n < h->shape.order; n++) {
        if (keep)
            widen(h, n);
        host_state_changed(h, n);
    }
    h->sweep.precision = precision;
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
    uint64_t rank = h->rank, rows = h->shape.dims[mode];
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        rotate_row(host_state_row(h, h->factor[mode], i), rank, h->sweep.precision);
    rotate_row(h->scale[mode], rank, PRECISION_DOUBLE);
    host_state_changed(h, mode);
    return STATUS_OK;
}

enum status host_state_gram(void *state, int mode, double *gram, struct error *error)
{
    (void)error;
    const struct host_state *h = state;
    memcpy(gram, h->gram[mode], h->rank * h->rank * sizeof *gram);
    return STATUS_OK;
}

enum status host_state_weights(void *state, double *lambda, struct error *error)
{
    (void)error;
    const struct host_state *h = state;
    memcpy(lambda, h->lambda, h->rank * sizeof *lambda);
    return STATUS_OK;
}
