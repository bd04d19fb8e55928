#include "backend/backend_fit.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"

#define SAFE     16  /* times what rounding moves a model by, about             */
#define NEAR_CUT 100 /* times the eigenvalues that count as zero, beside the largest */

double backend_fit_epsilon(uint64_t rows, enum precision precision)
{
    return precision == PRECISION_SINGLE ? FLT_EPSILON / sqrt((double)rows) : DBL_EPSILON;
}

enum status backend_fit_of(struct backend_fit *fit, const struct fit_squares *s, int mode,
                           struct error *error)
{
    if (!isfinite(s->residual_sq))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the squared residual is %g", mode,
                         s->residual_sq);
    const struct fit_numbers numbers = fit_of_squares(s);
    *fit = (struct backend_fit){.value = numbers.value,
                                .noise = numbers.noise,
                                .objective = numbers.objective,
                                .growth = numbers.growth,
                                .penalty = s->penalty / s->norm_sq,
                                .reciprocal = 1};
    return STATUS_OK;
}

enum status backend_fit_of_counts(struct backend_fit *fit, double deviance, double null,
                                  double size, int mode, struct error *error)
{
    if (!isfinite(deviance))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the deviance is %g", mode, deviance);
    const struct fit_numbers numbers = fit_of_deviance(deviance, null, size);
    *fit = (struct backend_fit){.value = numbers.value,
                                .noise = numbers.noise,
                                .objective = numbers.objective,
                                .reciprocal = 1,
                                .exact = true};
    return STATUS_OK;
}

/* Of a model Y, the errors of V, about R epsilon, move the model that solves A V = M by about
 * R epsilon ||Y|| / v, where v is V's least eigenvalue, and the rounding of A moves it by epsilon
 * ||Y|| / sqrt(v). From a residual r at its minimum this leads to one of sqrt(r^2 + moved^2). Where
 * v is so small that the next V may be cut off, a sweep may lose more. */
bool backend_fit_may_fall(const struct backend_fit *fit, uint64_t rank, enum precision precision)
{
    const double v = fit->reciprocal, r = fmax(1 - fit->value, 0);
    const double epsilon = precision == PRECISION_SINGLE ? FLT_EPSILON : DBL_EPSILON;
    const double moved = SAFE * ((double)rank * DBL_EPSILON / v + epsilon / sqrt(v));
    return v < NEAR_CUT * (double)rank * epsilon ||
           sqrt(r * r + moved * moved) - r > fmax(fit->noise, fit_slack(precision));
}

void backend_fit_decide(struct backend_fit *fit, const struct momentum *m)
{
    if (!m)
        return;
    fit->momentum = *m;
    fit->step = momentum_next(&fit->momentum, fit->objective, fit->noise);
}

struct backend_fit backend_fit_exact(const struct backend_fit *fit, double value, double size,
                                     enum precision precision)
{
    const double of_norm = 1 - value;
    struct backend_fit exact = *fit;
    exact.value = exact.objective = value;
    if (fit->penalty > 0)
        exact.objective = 1 - sqrt(of_norm * of_norm + fit->penalty);
    /* Factor matrices are rounded when the model is written. Such errors are random; if they change
     * the model by d, a residual of the norm r becomes one of sqrt(r^2 + d^2). */
    const double d = precision == PRECISION_SINGLE ? FLT_EPSILON / 2 : 0;
    exact.noise = fmax(sqrt(of_norm * of_norm + d * d) - of_norm, DBL_EPSILON);
    exact.written = FIT_ROUNDINGS * DBL_EPSILON * sqrt(size);
    exact.exact = true;
    if (fit->momentum.undecided)
        backend_fit_decide(&exact, &fit->momentum);
    return exact;
}

enum status backend_residual_create(struct backend_residual *r, int order, uint64_t rank,
                                    struct error *error)
{
    *r = (struct backend_residual){.order = order, .rank = rank, .unlisted = 1};
    r->weight = memory_zeros(rank, sizeof *r->weight, error);
    for (int n = 0; n < order; n++)
        r->gram[n] = memory_zeros(rank, rank * sizeof *r->gram[n], error);
    if (error->status != STATUS_OK)
        backend_residual_free(r);
    return error->status;
}

void backend_residual_free(struct backend_residual *r)
{
    memory_free(r->weight);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(r->gram[n]);
    *r = (struct backend_residual){0};
}

/* x[0..count) = the sums of all ranks' x, in the order of the ranks. */
static enum status sum_ranks(struct comm *c, struct double_double *x, uint64_t count,
                             struct error *error)
{
    size_t bytes = count * sizeof *x;
    if (c->size == 1)
        return STATUS_OK;
    struct double_double *all = memory_array((size_t)c->size, bytes, error);
    if (!all) {
        comm_abort(c, error);
        return error->status;
    }
    TRY_OR(done, comm_allgather(c, x, bytes, all, error));
    for (uint64_t i = 0; i < count; i++) {
        x[i] = all[i];
        for (int k = 1; k < c->size; k++)
            x[i] = dd_add(x[i], all[(uint64_t)k * count + i]);
    }
done:
    memory_free(all);
    return error->status;
}

/* ||Y||^2 = w' (G_1 * ... * G_N) w, from the upper triangles of whole Grams; *size = the sum of the
 * magnitudes of its terms. */
static struct double_double model_sq(const struct backend_residual *r, double *size)
{
    struct double_double sum = {0, 0};
    *size = 0;
    for (uint64_t i = 0; i < r->rank; i++)
        for (uint64_t j = i; j < r->rank; j++) {
            struct double_double term = two_product(r->weight[i], r->weight[j]);
            for (int n = 0; n < r->order; n++)
                term = dd_product(term, r->gram[n][i * r->rank + j]);
            sum = dd_add(sum, dd_times(term, i == j ? 1 : 2));
            *size += fabs(term.high) * (i == j ? 1 : 2);
        }
    return sum;
}

enum status backend_residual_fit(struct backend_residual *r, struct comm *c,
                                 enum precision precision, struct backend_fit *fit,
                                 struct error *error)
{
    double size;
    TRY(sum_ranks(c, &r->nonzeros, 1, error));
    TRY(sum_ranks(c, &r->rounded, 1, error));
    for (int n = 0; n < r->order; n++)
        TRY(sum_ranks(c, r->gram[n], r->rank * r->rank, error));
    struct double_double residual_sq =
        dd_add(r->nonzeros, dd_times(model_sq(r, &size), r->unlisted));
    if (!isfinite(residual_sq.high))
        return error_set(error, STATUS_NUMERICAL, "the squared residual is %g", residual_sq.high);
    *fit = backend_fit_exact(fit, fit_of_residual(residual_sq.high, r->norm_sq), size / r->norm_sq,
                             precision);
    /* The errors of values that were rounded to floats have the norm d ||X||, d = FLT_EPSILON / 2.
     * They change the residual by d times the cosine of the angle between them and the residual,
     * which is small if the values are many. */
    if (r->rounded.high > 0)
        fit->written = fmax(fit->written, FLT_EPSILON / 2 / sqrt(r->rounded.high));
    return STATUS_OK;
}
