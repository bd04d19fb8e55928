/* Models on their way into the host backend. */
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

/* The random rows of factor matrix n, which are made as doubles. */
static enum status make_rows(struct host_state *h, int n, const struct model_source *from,
                             struct error *error)
{
    const struct part *part = &h->ranks->part;
    const bool is_single = h->sweep.precision == PRECISION_SINGLE;
    const uint64_t rows = part->here.dims[n];
    double *made = is_single ? memory_array(rows * h->rank, sizeof *made, error) : h->factor[n];
    if (!made)
        return error->status;
    ktensor_random_rows(made, part, n, h->rank, from->init, from->seed);
    if (h->rules.nonneg[n])
        entries_drop_signs(made, rows * h->rank);
    if (!is_single)
        return STATUS_OK;
    write_rows(h, h->factor[n], made, rows);
    memory_free(made);
    return STATUS_OK;
}

/* Factor matrix n with its scales and its Gram. */
static enum status load_mode(struct host_state *h, int n, const struct model_source *from,
                             struct error *error)
{
    const struct carried *carried = from->carried;
    uint64_t row = h->rank, square = row * row;
    host_state_changed(h, n);
    host_state_fill(h->scale[n], row, 1.0);
    if (from->k)
        write_rows(h, h->factor[n], from->k->factor[n], h->shape.dims[n]);
    else if (make_rows(h, n, from, error) != STATUS_OK)
        return error->status;
    if (!carried)
        return host_state_make_gram(h, n, error);
    memcpy(h->scale[n], carried->scale + (uint64_t)n * row, row * sizeof *h->scale[n]);
    memcpy(h->gram[n], carried->gram + (uint64_t)n * square, square * sizeof *h->gram[n]);
    return STATUS_OK;
}

enum status host_state_load(void *state, const struct model_source *from, struct error *error)
{
    struct host_state *h = state;
    h->sweep.precision = from->precision;
    h->weights_fit = from->carried != NULL;
    memcpy(h->lambda, from->lambda, h->rank * sizeof *h->lambda);
    for (int n = 0; n < h->shape.order; n++)
        if (load_mode(h, n, from, error) != STATUS_OK)
            return error->status;
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

enum status host_state_widen(void *state, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    for (int n = 0; n < h->shape.order; n++) {
        widen(h, n);
        host_state_changed(h, n);
    }
    h->sweep.precision = PRECISION_DOUBLE;
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
