#include "backend/cuda/device_row_update.h"

#include <float.h>
#include <math.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"

static const char doing[] = "systems of rows on the GPU";

enum status device_row_update_plan(struct plan_request *request,
                                   const struct backend_options *options, struct error *error)
{
    const uint64_t rank = options->problem.rank;
    if (request->tensor.is_part)
        return error_set(error, STATUS_INPUT,
                         "unlisted entries that are unknown or weighed: one GPU or --backend host "
                         "expected, several GPUs cannot do that yet");
    if (rank > ROW_SYSTEMS_RANK)
        return error_set(error, STATUS_INPUT,
                         "rank %llu, expected at most %d on a GPU where unlisted entries are "
                         "unknown or weighed, or --backend host",
                         (unsigned long long)rank, ROW_SYSTEMS_RANK);
    request->conflict = CONFLICT_ORDERED;
    request->group = request->can_stream = request->must_stream = false;
    request->system_bytes = device_row_systems_bytes(rank, request->tensor.nnz);
    return STATUS_OK;
}

/* Of a tensor divided by 2^e, a balanced ridge is 2^(e (2/N - 2)) times as large. */
enum status device_row_update_open(struct device_state *s, const struct problem *problem,
                                   int exponent, struct error *error)
{
    struct device_row_update *u = &s->rows;
    const struct device_tensor *tensor[MAX_ORDER] = {NULL};
    const struct device_orderings *o = &s->sweep.orderings;
    u->on = problem->unlisted.weighed;
    u->ridge_scale = problem->ridge_scale;
    u->balance = exp2(exponent * (2.0 / s->order - 2));
    u->count = problem_count(problem, -1);
    if (!u->on || s->sweep.is_empty)
        return STATUS_OK;
    for (int n = 0; n < s->order; n++)
        tensor[n] = o->sweep.ordered[n] ? &o->ordered[n] : NULL;
    return device_row_systems_open(&u->systems, tensor, s->order, s->rank, s->stream, error);
}

/* (R): of the present model. */
static const double *lambda_of(const struct device_state *s)
{
    return s->model.last_mode < 0 ? s->model.lambda : s->model.norm[s->model.last_mode];
}

/* What a balanced ridge is divided by: a power of a component's weight. */
static double balance_power(const struct device_state *s)
{
    return s->rows.ridge_scale == RIDGE_BALANCED ? 2.0 * (s->order - 1) / s->order : 0;
}

static enum status queue_pass(struct device_state *s, int mode, bool only_squares,
                              struct error *error)
{
    struct device_row_update *u = &s->rows;
    const bool balanced = u->ridge_scale == RIDGE_BALANCED;
    const struct row_common_args common = {.modes = device_state_modes(s, mode),
                                           .lambda = lambda_of(s),
                                           .unlisted = u->count.weight,
                                           .ridge = s->rules.ridge[mode] * u->count.ridge *
                                                    (balanced ? u->balance : 1),
                                           .power = balance_power(s),
                                           .to = u->systems.common};
    const struct device_row_rules rules = {.unlisted = u->count.weight,
                                           .nonneg = s->rules.nonneg[mode],
                                           .counted = u->ridge_scale == RIDGE_COUNTED,
                                           .ridge = common.ridge > 0,
                                           .only_squares = only_squares};
    if (cuda_status(row_common_make(&common, s->side), doing, error) != STATUS_OK)
        return error->status;
    if (cuda_status(device_queue_follow(s->stream, s->side, s->solve.ready), doing, error) !=
        STATUS_OK)
        return error->status;
    return device_row_systems_solve(&u->systems, mode, &s->sweep.factors, &rules, s->stream, error);
}

/* Unit columns, as they are after an update; the model stays. Fixed modes keep their lengths. */
static enum status scale_columns(struct device_state *s, double *lambda, struct error *error)
{
    const size_t row = s->rank * sizeof *lambda;
    double *norm = memory_array(1, row, error);
    if (!norm)
        return error->status;
    for (int n = 0; n < s->order; n++) {
        if (s->rules.fixed[n])
            continue;
        const struct device_dense_norms to = {s->solve.raw, s->model.norm[n], s->model.gram[n]};
        if (cuda_status(cudaMemcpyAsync(s->solve.raw, s->model.gram[n], s->rank * row,
                                        cudaMemcpyDeviceToDevice, s->side),
                        doing, error) != STATUS_OK)
            goto done;
        if (device_dense_normalise(s->dense, &to, n + 1, &s->scalars->bad, error) != STATUS_OK)
            goto done;
        if (device_fetch(norm, s->model.norm[n], row, s->side, doing, error) != STATUS_OK)
            goto done;
        for (uint64_t r = 0; r < s->rank; r++)
            lambda[r] *= norm[r];
    }
done:
    memory_free(norm);
    return error->status;
}

static enum status put_lambda(struct device_state *s, const double *lambda, struct error *error)
{
    return device_send(s->model.lambda, lambda, s->rank * sizeof *lambda, s->side, doing, error);
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's. */
static enum status fit_weights(struct device_state *s, int mode, struct error *error)
{
    const size_t row = s->rank * sizeof(double);
    struct row_totals *totals = &s->scalars->rows.totals, sum;
    double *lambda = memory_array(1, row, error);
    if (!lambda)
        return error->status;
    if (device_fetch(lambda, s->model.lambda, row, s->side, doing, error) != STATUS_OK)
        goto done;
    if (scale_columns(s, lambda, error) != STATUS_OK)
        goto done;
    if (put_lambda(s, lambda, error) != STATUS_OK)
        goto done;
    if (queue_pass(s, mode, true, error) != STATUS_OK)
        goto done;
    if (device_row_systems_totals(&s->rows.systems, mode, true, totals, NULL, 0, NULL, s->stream,
                                  error) != STATUS_OK)
        goto done;
    if (device_fetch(&sum, totals, sizeof sum, s->stream, doing, error) != STATUS_OK)
        goto done;
    const double scale = sqrt(s->sweep.orderings.norm_sq / sum.misfit);
    for (uint64_t r = 0; isfinite(scale) && r < s->rank; r++)
        lambda[r] *= scale;
    put_lambda(s, lambda, error);
    s->model.weights_fit = true;
done:
    memory_free(lambda);
    return error->status;
}

enum status device_row_update_solve(struct device_state *s, int mode, struct error *error)
{
    if (s->model.last_mode < 0 && !s->model.weights_fit && fit_weights(s, mode, error) != STATUS_OK)
        return error->status;
    return queue_pass(s, mode, false, error);
}

enum status device_row_update_sums(struct device_state *s, int mode, struct error *error)
{
    struct device_row_scalars *to = &s->scalars->rows;
    const double power = s->rows.ridge_scale == RIDGE_BALANCED ? 2.0 / s->order : 2;
    return device_row_systems_totals(&s->rows.systems, mode, false, &to->totals, lambda_of(s),
                                     power, &to->model, s->side, error);
}

/* What the ridge adds to the misfit. */
static double penalty(const struct device_state *s, int mode)
{
    const struct device_row_update *u = &s->rows;
    const struct device_row_scalars *sums = &s->result->rows;
    double ridge = 0;
    if (u->ridge_scale == RIDGE_COUNTED)
        return sums->totals.penalty;
    for (int n = 0; n < s->order; n++)
        ridge += s->rules.ridge[n];
    ridge = u->ridge_scale == RIDGE_BALANCED ? ridge * u->balance : s->rules.ridge[mode];
    return u->count.ridge * ridge * sums->model;
}

void device_row_update_squares(const struct device_state *s, int mode, struct fit_squares *squares)
{
    const struct device_scalars *r = s->result;
    const double weight = s->rows.count.weight, norm_sq = s->sweep.orderings.norm_sq;
    const double epsilon =
        backend_fit_epsilon(s->ranks.ranks->part.whole.dims[mode], s->sweep.factors.precision);
    squares->norm_sq = norm_sq;
    squares->residual_sq = r->rows.totals.misfit + weight * r->fit.model_sq;
    squares->noise_sq =
        FIT_ROUNDINGS * DBL_EPSILON * (r->rows.totals.size + weight * r->fit.model_size);
    squares->noise_sq += 2 * FIT_ROUNDINGS * epsilon * sqrt(fabs(squares->residual_sq) * norm_sq);
    squares->penalty = penalty(s, mode);
}

void device_state_weigh(void *state, const struct unlisted_count *count)
{
    struct device_state *s = state;
    s->rows.count = *count;
    device_state_drop_m(s);
}
