/* The factor matrices with which the next sweep begins, on the host. */
#include "backend/host/host_state.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"
#include "problem/problem.h"

#define PIECE 64 /* entries of a row that are worked on at a time */

static void swap_mode(struct host_state *h, int n)
{
    const struct host_factor factor = h->model.factor[n];
    h->model.factor[n] = h->momentum.previous[n];
    h->momentum.previous[n] = factor;
    sweep_changed(&h->sweep.sweep, n);
}

void host_state_swap(void *state)
{
    struct host_state *h = state;
    double *lambda = h->model.lambda;
    for (int n = 0; n < h->model.shape.order; n++)
        if (h->momentum.previous[n].entries)
            swap_mode(h, n);
    h->model.lambda = h->momentum.lambda;
    h->momentum.lambda = lambda;
}

/* The Gram of the factor as it stands, and scales that make unit columns of it. */
static enum status measure_mode(struct host_state *h, int n, struct error *error)
{
    const struct host_factor *f = &h->model.factor[n];
    const uint64_t rank = h->model.rank;
    TRY(host_state_make_gram(h, n, error));
    host_state_fill(f->scale, rank, 1);
    if (h->rates)
        TRY(host_state_make_sums(h, n, error));
    for (uint64_t r = 0; r < rank; r++) {
        double norm = h->rates ? f->sum[r] : sqrt(f->gram[r * rank + r]);
        f->scale[r] = norm > 0 ? 1 / norm : 1;
        f->sum[r] = norm > 0;
    }
    host_model_scale_gram(&h->model, n, f->scale);
    return STATUS_OK;
}

/* The factor matrix n becomes Y = now A + before S, and the previous one A. A component that has
 * become zero stays so. */
static enum status extrapolate_mode(struct host_state *h, int n, const struct momentum_step *step,
                                    struct error *error)
{
    const struct host_factor *f = &h->model.factor[n], *previous = &h->momentum.previous[n];
    const struct problem *asked = h->problem->asked;
    const enum precision precision = h->model.precision;
    const uint64_t rank = h->model.rank, rows = h->model.shape.dims[n];
    const bool clip = asked->rules.nonneg[n]; /* entries that are less than `keeps` a become that */
    const double keeps = problem_keeps(asked) / step->now;
    double *now = h->solve.row, *before = h->solve.column;
    for (uint64_t r = 0; r < rank; r++) {
        bool is_zero = f->gram[r * rank + r] == 0;
        now[r] = is_zero ? 0 : step->now * f->scale[r];
        before[r] = is_zero ? 0 : step->before * previous->scale[r];
    }
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t first = 0; first < rank; first += PIECE) {
            double a[PIECE], s[PIECE];
            const uint64_t e = i * rank + first, count = least_of(PIECE, rank - first);
            host_entries_read(a, host_entry_of(f->entries, e, precision), count, precision);
            host_entries_read(s, host_entry_of(previous->entries, e, precision), count, precision);
            for (uint64_t k = 0; k < count; k++) {
                const double part = now[first + k] * a[k], y = part + before[first + k] * s[k];
                const double least = keeps * now[first + k] * a[k];
                s[k] = clip && y < least ? least : y; /* a NaN stays */
            }
            host_entries_write(host_entry(previous->entries, e, precision), s, count, precision);
        }
    swap_mode(h, n);
    return measure_mode(h, n, error);
}

enum status host_state_extrapolate(void *state, const struct momentum_step *step,
                                   struct error *error)
{
    struct host_state *h = state;
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank;
    if (step->now == 0) {
        host_state_swap(h);
        return STATUS_OK;
    }
    memcpy(h->momentum.lambda, model->lambda, rank * sizeof *model->lambda);
    for (int n = 0; n < model->shape.order; n++) {
        struct host_factor *previous = &h->momentum.previous[n];
        if (!previous->entries)
            continue;
        if (step->before != 0) {
            TRY(extrapolate_mode(h, n, step, error));
            continue;
        }
        const struct host_factor *from = &model->factor[n];
        memcpy(previous->scale, from->scale, rank * sizeof *from->scale);
        memcpy(previous->sum, from->sum, rank * sizeof *from->sum);
        memcpy(previous->gram, from->gram, rank * rank * sizeof *from->gram);
        memory_copy(previous->entries, from->entries,
                    model->shape.dims[n] * rank * precision_bytes(model->precision));
    }
    return STATUS_OK;
}
