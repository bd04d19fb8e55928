/* What the next sweep begins with, on the host. */
#include "backend/host/host_state.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_entries.h"
#include "base/memory.h"

#define PIECE 64 /* entries of a row that are worked on at a time */

static void swap(double **a, double **b)
{
    double *of_a = *a;
    *a = *b;
    *b = of_a;
}

static void swap_mode(struct host_state *h, int n)
{
    void *factor = h->factor[n];
    h->factor[n] = h->previous[n].factor;
    h->previous[n].factor = factor;
    swap(&h->gram[n], &h->previous[n].gram);
    swap(&h->scale[n], &h->previous[n].scale);
    host_state_changed(h, n);
}

void host_state_swap(void *state)
{
    struct host_state *h = state;
    for (int n = 0; n < h->shape.order; n++)
        if (h->previous[n].factor)
            swap_mode(h, n);
    swap(&h->lambda, &h->previous_lambda);
}

static void copy_mode(struct host_state *h, int n)
{
    struct host_previous *previous = &h->previous[n];
    uint64_t rank = h->rank;
    memcpy(previous->scale, h->scale[n], rank * sizeof(double));
    memcpy(previous->gram, h->gram[n], rank * rank * sizeof(double));
    memory_copy(previous->factor, h->factor[n],
                h->shape.dims[n] * rank * precision_bytes(h->sweep.precision));
}

/* What a row of Y is made of. */
struct combination {
    const double *now, *before; /* (R) */
    bool clip;                  /* negative entries become zero */
};

static double combined(const struct combination *c, uint64_t r, double a, double s)
{
    double y = c->now[r] * a + c->before[r] * s;
    return c->clip && y < 0 ? 0 : y; /* a NaN stays */
}

/* s (rows x R) = a diag(now) + s diag(before). */
static void combine(const struct host_state *h, void *s, const void *a, uint64_t rows,
                    const struct combination *c)
{
    const enum precision precision = h->sweep.precision;
    const uint64_t rank = h->rank;
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t first = 0; first < rank; first += PIECE) {
            double of_a[PIECE], of_s[PIECE];
            const uint64_t e = i * rank + first,
                           count = rank - first < PIECE ? rank - first : PIECE;
            host_entries_read(of_a, host_entry_of(a, e, precision), count, precision);
            host_entries_read(of_s, host_entry_of(s, e, precision), count, precision);
            for (uint64_t k = 0; k < count; k++)
                of_s[k] = combined(c, first + k, of_a[k], of_s[k]);
            host_entries_write(host_entry(s, e, precision), of_s, count, precision);
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
        before[r] = is_zero ? 0 : step->before * h->previous[n].scale[r];
    }
    const struct combination c = {now, before, h->rules.nonneg[n]};
    combine(h, h->previous[n].factor, h->factor[n], h->shape.dims[n], &c);
    swap_mode(h, n);
    return measure_mode(h, n, error);
}

enum status host_state_extrapolate(void *state, const struct momentum_step *step,
                                   struct error *error)
{
    struct host_state *h = state;
    if (step->now == 0) {
        host_state_swap(h);
        return STATUS_OK;
    }
    memcpy(h->previous_lambda, h->lambda, h->rank * sizeof *h->lambda);
    for (int n = 0; n < h->shape.order; n++) {
        if (!h->previous[n].factor)
            continue;
        if (step->before == 0)
            copy_mode(h, n);
        else if (extrapolate_mode(h, n, step, error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}
