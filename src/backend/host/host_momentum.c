/* What the next sweep begins with, on the host. */
#include "backend/host/host_state.h"

#include <math.h>
#include <string.h>

static void swap(double **a, double **b)
{
    double *of_a = *a;
    *a = *b;
    *b = of_a;
}

static void trade_mode(struct host_state *h, int n)
{
    swap(&h->factor[n], &h->second[n].factor);
    swap(&h->gram[n], &h->second[n].gram);
    swap(&h->scale[n], &h->second[n].scale);
    host_state_changed(h, n);
}

void host_state_trade(void *state)
{
    struct host_state *h = state;
    for (int n = 0; n < h->shape.order; n++)
        if (h->second[n].factor)
            trade_mode(h, n);
    swap(&h->lambda, &h->second_lambda);
}

static void copy_mode(struct host_state *h, int n)
{
    struct host_second *second = &h->second[n];
    uint64_t rows = h->shape.dims[n], rank = h->rank;
    memcpy(second->scale, h->scale[n], rank * sizeof(double));
    memcpy(second->gram, h->gram[n], rank * rank * sizeof(double));
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        memcpy(second->factor + i * rank, h->factor[n] + i * rank, rank * sizeof(double));
}

/* s (rows x R) = a diag(now) + s diag(before); where `clip`, without its negative entries. */
static void combine(double *s, const double *a, uint64_t rows, uint64_t rank, const double *now,
                    const double *before, bool clip)
{
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            uint64_t e = i * rank + r;
            double y = now[r] * a[e] + before[r] * s[e];
            s[e] = clip && y < 0 ? 0 : y; /* a NaN stays */
        }
}

/* The Gram of the factor as it stands, and scales that make unit columns of it. */
static enum status measure_mode(struct host_state *h, int n, struct error *error)
{
    if (host_state_make_gram(h, n, error) != STATUS_OK)
        return error->status;
    for (uint64_t r = 0; r < h->rank; r++) {
        double norm = sqrt(h->gram[n][r * h->rank + r]);
        h->scale[n][r] = norm > 0 ? 1 / norm : 1;
    }
    host_state_scale_gram(h, n, h->scale[n]);
    return STATUS_OK;
}

/* A component that has become zero stays so. */
static enum status extrapolate_mode(struct host_state *h, int n, const struct momentum_step *step,
                                    struct error *error)
{
    double *now = h->row, *before = h->column;
    for (uint64_t r = 0; r < h->rank; r++) {
        bool is_zero = h->gram[n][r * h->rank + r] == 0;
        now[r] = is_zero ? 0 : step->now * h->scale[n][r];
        before[r] = is_zero ? 0 : step->before * h->second[n].scale[r];
    }
    combine(h->second[n].factor, h->factor[n], h->shape.dims[n], h->rank, now, before,
            h->rules.nonneg[n]);
    trade_mode(h, n);
    return measure_mode(h, n, error);
}

enum status host_state_extrapolate(void *state, const struct momentum_step *step,
                                   struct error *error)
{
    struct host_state *h = state;
    if (step->now == 0) {
        host_state_trade(h);
        return STATUS_OK;
    }
    memcpy(h->second_lambda, h->lambda, h->rank * sizeof *h->lambda);
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        if (!h->second[n].factor)
            continue;
        if (step->before == 0)
            copy_mode(h, n);
        else
            extrapolate_mode(h, n, step, error);
    }
    return error->status;
}
