#include "backend/cuda/device_row_weights.h"

#include <math.h>

#include "backend/cuda/device_row_update.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"

static const char doing[] = "weighing the model on the GPU";

/* Zeros of rows [first, end) of factor matrix n. */
static enum status lift_rows(struct device_state *s, int n, uint64_t first, uint64_t end,
                             struct error *error)
{
    const struct row_lift_args args = {.a = device_state_row(s, s->sweep.factors.factor[n], first),
                                       .rows = end - first,
                                       .vectors = s->sweep.factors.vectors,
                                       .rank = (uint32_t)s->rank,
                                       .precision = s->sweep.factors.precision,
                                       .sum = s->rows.sum[n],
                                       .share = POISSON_LIFT /
                                                (double)s->ranks.ranks->part.whole.dims[n]};
    return cuda_status(row_lift_zeros(&args, s->stream), doing, error);
}

/* Zeros of factor matrix n, which no step of counts leaves, become a small part of the mean of
 * their column; between stripes may be rows that are none (row_deal.h), and stay zero. */
static enum status lift_zeros(struct device_state *s, int n, struct error *error)
{
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
    TRY(lift_rows(s, n, rows->first, rows->first + rows->count, error));
    TRY(device_ranks_gather(&s->ranks, n, &a, s->stream, error));
    device_sweep_changed(&s->sweep, n);
    return device_row_update_sum_columns(s, n, s->sweep.factors.factor[n], s->rows.sum[n], error);
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
        const struct dense_norms to = {s->solve.raw, s->rows.sum[n], s->model.norm[n],
                                       s->model.gram[n]};
        TRY_OR(done, cuda_status(cudaMemcpyAsync(s->solve.raw, s->model.gram[n], s->rank * row,
                                                 cudaMemcpyDeviceToDevice, s->side),
                                 doing, error));
        TRY_OR(done, device_dense_normalise(s->dense, &to, n + 1, &s->scalars->bad, error));
        TRY_OR(done, device_fetch(norm, s->model.norm[n], row, s->side, doing, error));
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

/* By what the weights of the model as it stands are to be multiplied. */
static enum status find_scale(struct device_state *s, int mode, double *scale, struct error *error)
{
    struct device_row_scalars sums;
    TRY(device_row_update_values(s, mode, error));
    TRY(device_ranks_before_wait(&s->ranks, s->stream, error));
    TRY(device_fetch(&sums, &s->scalars->rows, sizeof sums, s->stream, doing, error));
    *scale = s->rows.counts ? s->rows.null.total / (sums.model + sums.totals.model)
                            : sqrt(s->sweep.orderings.norm_sq / sums.totals.model);
    return STATUS_OK;
}

enum status device_row_weights_fit(struct device_state *s, int mode, struct error *error)
{
    const size_t row = s->rank * sizeof(double);
    if (s->model.last_mode >= 0 || s->model.weights_fit)
        return STATUS_OK;
    double scale, *lambda = memory_array(1, row, error);
    if (!lambda)
        return error->status;
    for (int n = 0; s->rows.counts && n < s->order; n++)
        if (!s->rules.fixed[n] && lift_zeros(s, n, error) != STATUS_OK)
            goto done;
    TRY_OR(done, device_ranks_before_wait(&s->ranks, s->stream, error));
    TRY_OR(done, cuda_status(cudaStreamSynchronize(s->stream), doing, error));
    TRY_OR(done, device_fetch(lambda, s->model.lambda, row, s->side, doing, error));
    TRY_OR(done, scale_columns(s, lambda, error));
    TRY_OR(done, put_lambda(s, lambda, error));
    TRY_OR(done, find_scale(s, mode, &scale, error));
    for (uint64_t r = 0; isfinite(scale) && r < s->rank; r++)
        lambda[r] *= scale;
    put_lambda(s, lambda, error);
    s->model.weights_fit = true;
done:
    memory_free(lambda);
    return error->status;
}
