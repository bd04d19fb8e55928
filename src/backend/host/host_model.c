/* The model's way into the host backend and back. */
#include "backend/host/host_state.h"

#include <string.h>

#include "backend/host/host_dense.h"
#include "model/ktensor_start.h"

void host_state_fill(double *x, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = value;
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

/* to (rows x R) = from (rows x R) with column r multiplied by scale[r]. */
static void copy_rows(double *to, const double *from, uint64_t rows, uint64_t rank,
                      const double *scale)
{
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            to[i * rank + r] = from[i * rank + r] * scale[r];
}

enum status host_state_make_gram(struct host_state *h, int n, struct error *error)
{
    const struct backend_rows *rows = &h->ranks->mode[n];
    const double *own = h->factor[n] + rows->first * h->rank;
    if (host_dense_gram(own, rows->count, h->rank, h->gram[n], error) != STATUS_OK)
        return error->status;
    return comm_sum(h->ranks->all, h->gram[n], h->rank * h->rank, error);
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
        copy_rows(h->factor[n], k->factor[n], h->shape.dims[n], row, h->scale[n]);
        if (!carried) {
            host_state_make_gram(h, n, error);
            continue;
        }
        memcpy(h->scale[n], carried->scale + (uint64_t)n * row, row * sizeof *h->scale[n]);
        memcpy(h->gram[n], carried->gram + (uint64_t)n * square, square * sizeof *h->gram[n]);
    }
    return error->status;
}

enum status host_state_randomise(void *state, enum ktensor_init init, uint64_t seed, double weight,
                                 struct error *error)
{
    struct host_state *h = state;
    const struct part *part = &h->ranks->part;
    host_state_fill(h->lambda, h->rank, weight);
    h->weights_fit = false;
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        host_state_fill(h->scale[n], h->rank, 1.0);
        host_state_changed(h, n);
        ktensor_random_rows(h->factor[n], part, n, h->rank, init, seed);
        if (h->rules.nonneg[n])
            entries_drop_signs(h->factor[n], part->here.dims[n] * h->rank);
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
        copy_rows(k->factor[n], h->factor[n], h->shape.dims[n], row,
                  carried ? h->row : h->scale[n]);
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
    copy_rows(m, h->m, h->shape.dims[mode], h->rank, h->row);
    return STATUS_OK;
}

/* The last of the R entries becomes the first. */
static void rotate_row(double *row, uint64_t rank)
{
    double last = row[rank - 1];
    memmove(row + 1, row, (rank - 1) * sizeof *row);
    row[0] = last;
}

enum status host_state_rotate(void *state, int mode, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    uint64_t rank = h->rank, rows = h->shape.dims[mode];
    double *a = h->factor[mode];
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        rotate_row(a + i * rank, rank);
    rotate_row(h->scale[mode], rank);
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
