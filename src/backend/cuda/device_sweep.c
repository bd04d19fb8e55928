#include "backend/cuda/device_sweep.h"

#include <string.h>

#include "backend/cuda/device_sweep_build.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/clock.h"

uint64_t device_sweep_row_bytes(const struct device_sweep *s)
{
    return (uint64_t)s->factors.vectors * VECTOR_BYTES;
}

bool device_sweep_is_shared(const struct device_sweep *s)
{
    return s->mode_groups.groups < s->shape.order;
}

static enum status open_mttkrps(struct device_sweep *s, const struct plan *plan,
                                cudaStream_t stream, struct error *error)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < s->mode_groups.groups && !s->streamed && status == STATUS_OK; g++) {
        enum conflict conflict = device_sweep_is_shared(s) ? CONFLICT_ORDERED : plan->conflict[g];
        const struct device_tensor *tensor =
            conflict == CONFLICT_ORDERED ? &s->ordered[g] : &s->alto;
        status = device_mttkrp_open(&s->outer[g], tensor, g, conflict, stream, error);
        int first = s->mode_groups.first[g], size = mode_groups_size(&s->mode_groups, g);
        for (int k = 0; k < size && size > 1 && status == STATUS_OK; k++)
            status = device_mttkrp_open(&s->inner[first + k], &s->tuple_tensor[first + k], k,
                                        CONFLICT_ORDERED, stream, error);
    }
    return status;
}

static uint64_t longest_table(const struct device_sweep *s)
{
    uint64_t longest = 0;
    for (int n = 0; n < s->shape.order; n++) {
        uint64_t outer = s->outer[n].tensor ? device_mttkrp_table_rows(&s->outer[n]) : 0;
        uint64_t inner = s->inner[n].tensor ? device_mttkrp_table_rows(&s->inner[n]) : 0;
        longest = outer > longest ? outer : longest;
        longest = inner > longest ? inner : longest;
    }
    return longest;
}

static enum status allocate_factors(struct device_sweep *s, const struct plan *plan,
                                    struct error *error)
{
    struct device_factors *f = &s->factors;
    uint64_t longest = 0;
    f->shape.order = s->shape.order;
    f->single = plan->request.real_size == sizeof(float);
    f->copies = (uint32_t)plan->request.copies;
    memcpy(f->shape.dims, s->shape.dims, sizeof f->shape.dims);
    for (int n = 0; n < s->shape.order && error->status == STATUS_OK; n++) {
        uint64_t copies = plan->conflict[n] == CONFLICT_HIERARCHICAL ? f->copies : 1;
        longest = copies * f->shape.dims[n] > longest ? copies * f->shape.dims[n] : longest;
        f->factor[n] = device_array(f->shape.dims[n], device_sweep_row_bytes(s), error);
    }
    f->table_rows = longest_table(s);
    if (error->status == STATUS_OK)
        f->m = device_array(longest, device_sweep_row_bytes(s), error);
    if (error->status == STATUS_OK)
        f->table = device_array(f->table_rows, device_sweep_row_bytes(s), error);
    return error->status;
}

enum status device_sweep_open(struct device_sweep *s, const struct tensor_source *source,
                              struct plan *plan, uint32_t vectors, struct device_staging *staging,
                              struct progress *progress, struct error *error)
{
    const struct coo *x = source->x;
    memset(s, 0, sizeof *s);
    s->shape.order = x->shape.order;
    s->norm_sq = source->norm_sq;
    memcpy(s->shape.dims, x->shape.dims, sizeof s->shape.dims);
    s->factors.vectors = vectors;
    mode_groups_none(&s->mode_groups, s->shape.order);
    double start = clock_now();
    enum status status = device_sweep_build(s, source, plan, staging, progress, error);
    if (plan->request.share)
        s->build.mode_groups = clock_now() - start - backend_build_seconds(&s->build);
    if (status == STATUS_OK)
        status = open_mttkrps(s, plan, staging->stream, error);
    if (status == STATUS_OK)
        status = allocate_factors(s, plan, error);
    if (status != STATUS_OK)
        device_sweep_close(s);
    else
        plan->mode_groups = s->mode_groups;
    return status;
}

void device_sweep_close(struct device_sweep *s)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_mttkrp_close(&s->outer[n]);
        device_mttkrp_close(&s->inner[n]);
        device_free(s->factors.factor[n]);
    }
    device_sweep_free_tensors(s);
    device_stream_close(&s->stream);
    device_free(s->factors.m);
    device_free(s->factors.table);
    device_pool_close(&s->pool);
    device_trim();
    memset(s, 0, sizeof *s);
}

bool device_sweep_describe(const struct device_sweep *s, int mode, char *text, size_t size)
{
    if (s->streamed) {
        device_stream_describe(&s->stream, mode, text, size);
        device_replicas_describe(&s->replicas, mode, text, size);
        return device_replicas_settled(&s->replicas);
    }
    int group = mode_groups_of(&s->mode_groups, mode);
    const struct device_mttkrp *outer = &s->outer[group], *inner = &s->inner[mode];
    bool settled = device_mttkrp_settled(outer);
    device_mttkrp_describe(outer, outer->best, text, size);
    if (mode_groups_size(&s->mode_groups, group) > 1 && strlen(text) + 4 < size) {
        strcat(text, " + ");
        size_t used = strlen(text);
        device_mttkrp_describe(inner, inner->best, text + used, size - used);
        settled = settled && device_mttkrp_settled(inner);
    }
    return settled;
}

uint64_t device_sweep_bus_bytes(const struct device_sweep *s, int mode)
{
    return s->streamed ? device_stream_bytes(&s->stream, mode) : 0;
}

void device_sweep_changed(struct device_sweep *s, int mode)
{
    partial_cache_changed(&s->tables, &s->mode_groups, mode);
}

/* The products of a group's factors, a row per tuple. */
static enum status make_products(struct device_sweep *s, int group, cudaStream_t stream,
                                 struct error *error)
{
    int first = s->mode_groups.first[group], size = mode_groups_size(&s->mode_groups, group);
    struct mttkrp_tuples tuples = {.modes = size, .count = s->tuples[group]};
    for (int k = 0; k < size; k++) {
        tuples.coordinate[k] = s->coordinate[first + k];
        tuples.rows[k] = s->factors.factor[first + k];
    }
    return cuda_status(mttkrp_tuple_products(s->product[group], &tuples, s->factors.vectors,
                                             s->factors.single, stream),
                       "products of factors", error);
}

/* MTTKRP of the reduced tensor: M where the group is one mode, otherwise its partial products. */
static enum status run_outer(struct device_sweep *s, int group, cudaStream_t stream,
                             struct error *error)
{
    struct device_factors f = s->factors;
    f.shape.order = s->mode_groups.groups;
    for (int g = 0; g < s->mode_groups.groups; g++) {
        f.shape.dims[g] = s->tuples[g];
        f.factor[g] = s->product[g] ? s->product[g] : s->factors.factor[s->mode_groups.first[g]];
    }
    if (s->partial[group])
        f.m = s->partial[group];
    return device_mttkrp_run(&s->outer[group], &f, stream, error);
}

/* MTTKRP of the group's tuples, with the partial products as one more factor. */
static enum status run_inner(struct device_sweep *s, int group, int mode, cudaStream_t stream,
                             struct error *error)
{
    int first = s->mode_groups.first[group], size = mode_groups_size(&s->mode_groups, group);
    struct device_factors f = s->factors;
    f.shape.order = size + 1;
    for (int k = 0; k < size; k++) {
        f.shape.dims[k] = s->shape.dims[first + k];
        f.factor[k] = s->factors.factor[first + k];
    }
    f.shape.dims[size] = s->tuples[group];
    f.factor[size] = s->partial[group];
    return device_mttkrp_run(&s->inner[mode], &f, stream, error);
}

/* From alto, until orderings of the modes' own pay. */
static enum status run_streamed(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error)
{
    bool due;
    enum status status = device_replicas_due(&s->replicas, &s->stream, mode, &due, error);
    if (status == STATUS_OK && due) {
        status = device_replicas_build(&s->replicas, &s->stream, error);
        memcpy(s->build.replica, s->replicas.seconds, sizeof s->build.replica);
    }
    return status == STATUS_OK ? device_stream_mttkrp(&s->stream, mode, &s->factors, stream, error)
                               : status;
}

enum status device_sweep_mttkrp(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error)
{
    if (s->streamed)
        return run_streamed(s, mode, stream, error);
    struct partial_steps steps = partial_cache_steps(&s->tables, &s->mode_groups, mode);
    enum status status = STATUS_OK;
    for (int g = 0; g < s->mode_groups.groups && status == STATUS_OK; g++)
        if (steps.products[g])
            status = make_products(s, g, stream, error);
    if (status == STATUS_OK && steps.outer)
        status = run_outer(s, steps.group, stream, error);
    if (status == STATUS_OK && steps.inner)
        status = run_inner(s, steps.group, mode, stream, error);
    if (status != STATUS_OK)
        s->tables = (struct partial_cache){0};
    return status;
}
