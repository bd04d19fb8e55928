/* The host backend: OpenMP for MTTKRP, OpenBLAS for R x R systems. */
#include "backend/host/host_state.h"

#include "backend/host/host_rates.h"
#include "base/machine.h"
#include "base/memory.h"
#include "lapack/lapack_library.h"
#include "model/ktensor.h"

/* Private copies of M for `hierarchical`: not as many as there are threads, so that neither the
 * plan nor a sum depends on these. */
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

static enum status make_request(struct plan_request *request, const struct plan_tensor *tensor,
                                const struct backend_options *options, struct error *error)
{
    const enum precision last = precision_last(options->problem.precision);
    (void)error;
    *request = (struct plan_request){
        .tensor = *tensor,
        .rank = options->problem.rank,
        .precision = last,
        .conflict = options->conflict,
        .share = options->conflict == CONFLICT_AUTO && !options->no_sharing,
        .iterations = options->iterations,
        .row_bytes = options->problem.rank * precision_bytes(last),
        .slice_bytes =
            host_slices_bytes(tensor->shape.order, tensor->nnz, shape_longest(&tensor->shape)),
        .spends = options->spends,
        .nonzero_bytes = coo_bytes(tensor->shape.order, tensor->nnz),
        .model_bytes = options->models * ktensor_bytes(&tensor->shape, options->problem.rank),
        .budget = machine_memory_budget(options->host_memory),
        .copies = COPIES,
        .waiting_rows = host_row_lists_rows(tensor->nnz)};
    if (tensor->is_part && in_single(options))
        request->sent_bytes = options->problem.rank * sizeof(double);
    /* Private copies of M pay while merging them costs less than the nonzeros themselves. */
    request->short_mode = tensor->nnz / request->copies;
    return STATUS_OK;
}

static void close_host(void *state)
{
    struct host_state *h = state;
    if (!h)
        return;
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(h->factor[n]);
        memory_free(h->gram[n]);
        memory_free(h->scale[n]);
        memory_free(h->previous[n].factor);
        memory_free(h->previous[n].gram);
        memory_free(h->previous[n].scale);
    }
    memory_free(h->previous_lambda);
    host_sweep_close(&h->sweep);
    memory_free(h->v);
    memory_free(h->m);
    memory_free(h->sent);
    memory_free(h->lambda);
    memory_free(h->row);
    memory_free(h->column);
    memory_free(h);
}

static enum status allocate_previous(struct host_state *h, struct error *error)
{
    const uint64_t row = h->rank * sizeof(double);
    const uint64_t entries = h->rank * precision_bytes(h->sweep.precision);
    for (int n = 0; n < h->shape.order; n++) {
        struct host_previous *previous = &h->previous[n];
        if (!h->built.plan.request.previous[n])
            continue;
        previous->factor = memory_array(h->shape.dims[n], entries, error);
        previous->gram = memory_array(h->rank + 1, row, error);
        previous->scale = memory_array(1, row, error);
        if (error->status != STATUS_OK)
            return error->status;
    }
    h->previous_lambda = memory_array(1, row, error);
    return error->status;
}

static enum status allocate_matrices(struct host_state *h, const struct backend_options *options,
                                     struct error *error)
{
    const uint64_t row = h->rank * sizeof(double);
    const uint64_t entries = h->rank * precision_bytes(h->sweep.precision);
    for (int n = 0; n < h->shape.order; n++) {
        h->factor[n] = memory_array(h->shape.dims[n], entries, error);
        h->gram[n] = memory_array(h->rank + 1, row, error);
        h->scale[n] = memory_array(1, row, error);
        if (error->status != STATUS_OK)
            return error->status;
    }
    h->v = memory_array(h->rank, row, error);
    h->m = memory_array(h->longest, entries, error);
    if (h->ranks->all->size > 1 && in_single(options))
        h->sent = memory_array(h->longest, row, error);
    h->lambda = memory_array(1, row, error);
    h->row = memory_array(1, row, error);
    h->column = memory_array(1, row, error);
    return error->status;
}

static enum status open_host(void **state, const struct tensor_source *source,
                             const struct plan *plan, const struct backend_options *options,
                             struct progress *progress, struct error *error)
{
    const struct coo *x = source->x;
    *state = NULL;
    struct host_state *h = lapack_library(error) ? memory_zeros(1, sizeof *h, error) : NULL;
    if (!h)
        return error->status;
    h->ranks = source->ranks;
    h->shape = h->ranks->part.here;
    h->is_empty = x->nnz == 0;
    h->longest = shape_longest(&h->shape);
    h->built.plan = *plan;
    h->built.nnz = x->nnz;
    h->rank = options->problem.rank;
    h->rules = options->problem.rules;
    h->norm_sq = source->norm_sq;

    if (!h->is_empty &&
        host_sweep_open(&h->sweep, x, source->spent, plan, progress, error) != STATUS_OK)
        goto failed;
    h->sweep.precision = precision_last(options->problem.precision);
    if (allocate_matrices(h, options, error) != STATUS_OK)
        goto failed;
    if (plan->request.momentum && allocate_previous(h, error) != STATUS_OK)
        goto failed;
    *state = h;
    return STATUS_OK;
failed:
    close_host(h);
    return error->status;
}

static void tell_built(void *state, struct backend_built *built)
{
    const struct host_state *h = state;
    *built = h->built;
    if (h->is_empty)
        mode_groups_none(&built->groups, h->shape.order);
    else
        built->groups = h->sweep.sweep.groups;
    for (int n = 0; n < h->shape.order; n++)
        built->kernel[n].chosen = true;
    built->seconds = h->sweep.seconds;
}

static enum status measure_rates(const struct shape *shape, const struct backend_options *options,
                                 struct backend_rates *rates, struct error *error)
{
    return host_rates(shape, options->problem.rank, precision_first(options->problem.precision),
                      rates, error);
}

static const struct backend_ops operations = {.load = host_state_load,
                                              .save = host_state_save,
                                              .store = host_state_store,
                                              .columns = host_state_columns,
                                              .mttkrp = host_state_mttkrp,
                                              .update = host_state_update,
                                              .fit = host_state_fit,
                                              .residual = host_state_residual,
                                              .extrapolate = host_state_extrapolate,
                                              .swap = host_state_swap,
                                              .gram = host_state_gram,
                                              .weights = host_state_weights,
                                              .fetch = host_state_fetch,
                                              .rotate = host_state_rotate,
                                              .built = tell_built,
                                              .widen = host_state_widen,
                                              .close = close_host};

const struct backend_kind backend_host = {.name = "host",
                                          .available = available,
                                          .request = make_request,
                                          .open = open_host,
                                          .ops = &operations,
                                          .rates = measure_rates};
