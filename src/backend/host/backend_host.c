/* The host backend: OpenMP for MTTKRP, OpenBLAS for R x R systems. */
#include "backend/host/host_state.h"

#include "backend/host/host_rates.h"
#include "backend/host/host_row_update.h"
#include "base/machine.h"
#include "base/memory.h"
#include "lapack/lapack_library.h"
#include "model/ktensor.h"
#include "ranks/rank_tensor.h"

/* Private copies of M for `hierarchical`. Their number is not that of the threads, so that neither
 * the plan nor a sum depends on the threads. */
#define COPIES 64

static enum status available(struct error *error)
{
    (void)error;
    return STATUS_OK;
}

/* Whether ALS has iterations in single precision. */
static bool in_single(const struct backend_options *options)
{
    return precision_first(options->problem.precision) == PRECISION_SINGLE;
}

static enum status make_request(struct plan_request *request, const struct backend_options *options,
                                struct error *error)
{
    const struct plan_tensor *x = &request->tensor;
    const bool by_rows = problem_by_rows(&options->problem), dealt = by_rows && x->is_part;
    (void)error;
    request->row_bytes = request->rank * precision_bytes(request->precision);
    request->slice_bytes = host_slices_bytes(x->shape.order, x->nnz, shape_longest(&x->shape));
    request->narrow = !by_rows;
    request->spends = options->spends && !dealt;
    request->nonzero_bytes = (dealt ? 2 : 1) * coo_bytes(x->shape.order, x->nnz);
    request->model_bytes = options->models * ktensor_bytes(&x->shape, request->rank) +
                           holdout_set_bytes(x->shape.order, x->holdout_entries);
    request->budget = machine_memory_budget(options->host_memory);
    request->copies = COPIES;
    request->waiting_rows = host_mttkrp_waiting_rows(x->nnz);
    request->sent_bytes = x->is_part && in_single(options) ? request->rank * sizeof(double) : 0;
    /* Private copies of M pay while merging them costs less than the nonzeros themselves. */
    request->short_mode = x->nnz / COPIES;
    return STATUS_OK;
}

static enum status create_factor(struct host_factor *f, const struct host_model *model, int n,
                                 struct error *error)
{
    const uint64_t row = model->rank * sizeof(double);
    const uint64_t entries = model->rank * precision_bytes(model->precision);
    f->entries = memory_array(model->shape.dims[n], entries, error);
    f->gram = memory_array(model->rank + 1, row, error);
    f->scale = memory_array(1, row, error);
    f->sum = memory_array(1, row, error);
    return error->status;
}

static void free_factor(struct host_factor *f)
{
    memory_free(f->entries, f->gram, f->scale, f->sum);
}

void host_state_close(void *state)
{
    struct host_state *h = state;
    if (!h)
        return;
    for (int n = 0; n < MAX_ORDER; n++) {
        free_factor(&h->model.factor[n]);
        free_factor(&h->momentum.previous[n]);
    }
    memory_free(h->model.lambda, h->momentum.lambda, h->terms.value);
    host_sweep_close(&h->sweep);
    memory_free(h->solve.v, h->solve.m, h->solve.sent, h->solve.row, h->solve.column);
    host_row_systems_free(&h->systems);
    memory_free(h);
}

static enum status open_host(void **state, const struct tensor_source *source,
                             const struct plan *plan, const struct backend_options *options,
                             struct progress *progress, struct error *error)
{
    const struct rank_rows *ranks = source->ranks;
    *state = NULL;
    struct host_state *h = lapack_library(error) ? memory_zeros(1, sizeof *h, error) : NULL;
    if (!h)
        return error->status;
    h->ranks = ranks;
    h->problem = source->problem;
    h->by_rows = problem_by_rows(&options->problem);
    h->rates = problem_has_rates(&options->problem);
    h->norm_sq = source->norm_sq;
    h->model = (struct host_model){.shape = ranks->part.here,
                                   .rank = options->problem.rank,
                                   .precision = precision_last(options->problem.precision)};

    const struct host_model *model = &h->model;
    const uint64_t row = model->rank * sizeof(double), longest = shape_longest(&model->shape);
    TRY_OR(failed, host_sweep_open(&h->sweep, source, plan, progress, error));
    h->built =
        (struct backend_built){.plan = *plan,
                               .nnz = ranks->dealt ? h->sweep.ordered[0].nnz : source->x->nnz,
                               .norm_sq = h->norm_sq,
                               .groups = h->sweep.sweep.groups,
                               .seconds = h->sweep.seconds};
    for (int n = 0; n < model->shape.order; n++) {
        h->built.kernel[n].chosen = true;
        TRY_OR(failed, create_factor(&h->model.factor[n], model, n, error));
    }
    h->model.lambda = memory_array(1, row, error);
    h->solve.reciprocal = 1;
    h->solve.v = memory_array(model->rank, row, error);
    h->solve.m = memory_array(longest, model->rank * precision_bytes(model->precision), error);
    h->solve.row = memory_array(1, row, error);
    h->solve.column = memory_array(1, row, error);
    if (ranks->all->size > 1 && in_single(options))
        h->solve.sent = memory_array(longest, row, error);
    TRY_OR(failed, error->status);
    if (h->by_rows)
        TRY_OR(failed, host_row_systems_create(&h->systems, model, error));
    for (int n = 0; plan->request.momentum && n < model->shape.order; n++)
        if (plan->request.previous[n])
            TRY_OR(failed, create_factor(&h->momentum.previous[n], model, n, error));
    if (plan->request.momentum)
        h->momentum.lambda = memory_array(1, row, error);
    TRY_OR(failed, error->status);
    *state = h;
    return STATUS_OK;
failed:
    host_state_close(h);
    return error->status;
}

void host_state_built(void *state, struct backend_built *built)
{
    *built = ((const struct host_state *)state)->built;
}

#define MEMBER(result, name, parameters) .name = host_state_##name,
static const struct backend_ops operations = {BACKEND_OPERATIONS(MEMBER)};

const struct backend_kind backend_host = {.name = "host",
                                          .available = available,
                                          .request = make_request,
                                          .open = open_host,
                                          .ops = &operations,
                                          .rates = host_rates};
