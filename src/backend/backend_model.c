/* Models on their way into a backend and out of it. */
#include "backend/backend.h"

#include <math.h>
#include <string.h>

#include "backend/value_scale.h"
#include "base/memory.h"
#include "numerics/nonneg.h"
#include "ranks/model_collect.h"

/* Times its floor, an entry is at the floor: weights have changed since the update. */
#define NEAR_FLOOR 16

/* The weights are divided by 2^exponent, as the tensor is; those of a start say nothing but how
 * large components are beside each other, and those of a random one are equal. Where all modes are
 * fixed, nothing starts. */
static enum status load(struct backend *b, struct model_source from, bool starts,
                        struct error *error)
{
    const struct problem *p = &b->options.problem;
    double *lambda = memory_array(p->rank, sizeof *lambda, error), most = 0;
    int exponent = -b->problem.exponent;
    TRY(error->status);
    for (uint64_t r = 0; r < p->rank; r++) {
        lambda[r] = from.k ? from.k->lambda[r] : 1;
        most = fmax(most, fabs(lambda[r]));
    }
    if (starts && mode_rules_last(&p->rules, b->order) >= 0) {
        /* the largest is about ||X||: what a run does with zeros (numerics/nonneg.h) then does not
         * depend on the unit of the values */
        struct backend_built built;
        b->kind->ops->built(b->state, &built);
        exponent = most > 0 && isfinite(most) ? ilogb(sqrt(built.norm_sq)) - ilogb(most) : 0;
    }
    for (uint64_t r = 0; r < p->rank; r++)
        lambda[r] = ldexp(lambda[r], exponent);
    from.lambda = lambda;
    b->last = (struct last_operation){.op = OP_LOAD};
    for (int n = 0; n < b->order; n++) {
        b->floors.may[n] =
            from.carried && p->rules.nonneg[n] && !p->rules.fixed[n] && !problem_by_rows(p);
        b->floors.precision[n] = from.precision;
    }
    b->precision = from.precision;
    TRY_OR(done, operation_begin(&b->clock, OP_LOAD, error));
    TRY_OR(done, b->kind->ops->load(b->state, &from, error));
    operation_end(&b->clock, OP_LOAD, 0, error);
done:
    memory_free(lambda);
    return error->status;
}

enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error)
{
    const struct model_source from = {.k = k,
                                      .precision = precision_last(b->options.problem.precision)};
    return load(b, from, false, error);
}

enum status backend_begin(struct backend *b, const struct ktensor *k, struct error *error)
{
    const struct model_source from = {.k = k,
                                      .precision = precision_first(b->options.problem.precision)};
    return load(b, from, true, error);
}

enum status backend_randomise(struct backend *b, enum ktensor_init init, uint64_t seed,
                              struct error *error)
{
    const struct model_source from = {
        .init = init, .seed = seed, .precision = precision_first(b->options.problem.precision)};
    return load(b, from, true, error);
}

enum status backend_resume(struct backend *b, const struct ktensor *k,
                           const struct carried *carried, struct error *error)
{
    const enum precision_policy policy = b->options.problem.precision;
    const struct model_source from = {.k = k,
                                      .carried = carried,
                                      .precision = policy == POLICY_AUTO ? carried->precision
                                                                         : precision_last(policy)};
    return load(b, from, false, error);
}

enum status backend_widen(struct backend *b, struct error *error)
{
    if (b->precision == PRECISION_DOUBLE)
        return STATUS_OK;
    b->last.op = OP_LOAD;
    TRY(operation_begin(&b->clock, OP_LOAD, error));
    TRY(b->kind->ops->widen(b->state, error));
    b->precision = PRECISION_DOUBLE;
    return operation_end(&b->clock, OP_LOAD, 0, error);
}

enum status backend_gram(struct backend *b, int mode, double *gram, struct error *error)
{
    return b->kind->ops->gram(b->state, mode, gram, error);
}

enum status backend_weights(struct backend *b, double *lambda, struct error *error)
{
    return b->kind->ops->weights(b->state, lambda, error);
}

enum status backend_save(struct backend *b, struct ktensor *k, struct carried *carried,
                         struct error *error)
{
    TRY(operation_begin(&b->clock, OP_STORE, error));
    TRY(b->kind->ops->save(b->state, k, carried, error));
    carried->precision = b->precision;
    TRY(value_scale_undo(k->lambda, k->rank, b->problem.exponent, error));
    return operation_end(&b->clock, OP_STORE, 0, error);
}

/* diagonal (R) = the diagonal of V in an update of mode n, with the ridge. Only columns of fixed
 * modes may be no unit columns, so only their Grams count. gram (R x R): room. */
static enum status find_diagonal(struct backend *b, int n, double *diagonal, double *gram,
                                 struct error *error)
{
    const uint64_t rank = b->options.problem.rank;
    const struct mode_rules *rules = &b->options.problem.rules;
    for (uint64_t r = 0; r < rank; r++)
        diagonal[r] = 1;
    for (int m = 0; m < b->order; m++) {
        if (!rules->fixed[m])
            continue;
        TRY(backend_gram(b, m, gram, error));
        for (uint64_t r = 0; r < rank; r++)
            diagonal[r] *= gram[r * rank + r];
    }
    for (uint64_t r = 0; r < rank; r++)
        diagonal[r] += rules->ridge[n];
    return STATUS_OK;
}

/* Copies the model into k, in the standard form where `arranged`. */
static enum status store(struct backend *b, struct ktensor *k, bool arranged, bool whole,
                         struct error *error)
{
    const struct problem *problem = &b->options.problem;
    const uint64_t rank = k->rank, columns = (uint64_t)b->order * rank;
    struct arrangement a = {0};
    struct model_form form = {.whole = whole, .lambda = k->lambda, .arrangement = &a};
    TRY(operation_begin(&b->clock, OP_STORE, error));
    double *diagonal = memory_array((size_t)b->order + 1 + rank, rank * sizeof *diagonal, error);
    TRY(error->status);
    double *bound = diagonal + rank, *gram = bound + columns; /* (N x R), (R x R) */
    TRY_OR(done, arrangement_create(&a, b->order, rank, error));
    memcpy(k->nonneg, problem->rules.nonneg, sizeof k->nonneg);
    k->mixture = problem_has_rates(problem);
    memcpy(k->fixed, problem->rules.fixed, sizeof k->fixed);
    TRY_OR(done, b->kind->ops->weights(b->state, k->lambda, error));
    TRY_OR(done, value_scale_undo(k->lambda, rank, b->problem.exponent, error));
    for (int n = 0; n < b->order; n++) { /* modes in which entries may be at the floor */
        if (!b->floors.may[n])
            continue;
        TRY_OR(done, find_diagonal(b, n, diagonal, gram, error));
        const struct nonneg_update update = {.lambda = form.lambda,
                                             .diagonal = diagonal,
                                             .rows = b->ranks->part.whole.dims[n],
                                             .precision = b->floors.precision[n]};
        double *least = bound + (uint64_t)n * rank;
        nonneg_floors(&update, rank, least);
        for (uint64_t r = 0; r < rank; r++)
            least[r] *= NEAR_FLOOR;
        form.bound[n] = least;
    }
    arrangement_keep(&a, k);
    if (arranged) {           /* from the statistics of the columns in all ranks' rows */
        b->last.op = OP_LOAD; /* M may be lost */
        for (int n = 0; n < b->order; n++)
            TRY_OR(done,
                   b->kind->ops->columns(b->state, n, &form, a.column + (uint64_t)n * rank, error));
        TRY_OR(done, model_columns_together(b->ranks->all, a.column, columns, error));
        arrangement_decide(&a, k);
    }
    TRY_OR(done, b->kind->ops->store(b->state, &form, k, error));
    arrangement_take(&a, k);
    operation_end(&b->clock, OP_STORE, 0, error);
done:
    arrangement_free(&a);
    memory_free(diagonal);
    return error->status;
}

enum status backend_store(struct backend *b, struct ktensor *k, struct error *error)
{
    return store(b, k, false, false, error);
}

enum status backend_store_arranged(struct backend *b, struct ktensor *k, bool whole,
                                   struct error *error)
{
    return store(b, k, true, whole, error);
}
