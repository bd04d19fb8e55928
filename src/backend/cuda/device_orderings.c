#include "backend/cuda/device_orderings.h"

#include <string.h>

#include "backend/cuda/device_part.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/tensor/device_coo.h"
#include "backend/cuda/tensor/device_mode_groups.h"
#include "base/clock.h"
#include "base/memory.h"

/* Memory for a build is asked for at once while it is this small, against what may be used too. */
#define RESERVE_MOST  (UINT64_C(1) << 30)
#define RESERVE_SHARE 16

static void free_tensors(struct device_orderings *o)
{
    (void)cudaDeviceSynchronize();
    device_tensor_free(&o->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        device_tensor_free(&o->ordered[n]);
        device_tensor_free(&o->tuple_tensor[n]);
        device_free(o->coordinate[n]);
        device_free(o->product[n]);
        device_free(o->partial[n]);
        o->coordinate[n] = NULL;
        o->product[n] = o->partial[n] = NULL;
    }
}

void device_orderings_free(struct device_orderings *o)
{
    free_tensors(o);
    device_stream_close(&o->stream);
    device_pool_close(&o->pool);
    device_trim();
    memset(o, 0, sizeof *o);
}

/* The sweep of the plan without groups of modes. */
static void decide_without_groups(struct device_orderings *o)
{
    struct mode_groups none;
    mode_groups_none(&none, o->shape.order);
    sweep_decide(&o->sweep, &o->plan, &none);
}

/* Waits for a stage and adds the seconds since *start, which becomes now. */
static enum status finish(cudaStream_t stream, double *start, double *seconds, struct error *error)
{
    enum status status =
        cuda_status(cudaStreamSynchronize(stream), "building the tensor on the GPU", error);
    *seconds += clock_lap(start);
    return status;
}

/* Makes building faster; goes without where there is no room for it. */
static enum status presort(struct device_coo *x, struct error *error)
{
    enum status status = device_coo_sort(x, error);
    if (status != STATUS_MEMORY)
        return status;
    *error = (struct error){0};
    return STATUS_OK;
}

/* The orderings to build: alto, then those of the modes wanted; that in which x is sorted comes
 * last and is x itself. Returns how many. */
static int list_orderings(int *kind, bool alto, const bool *wanted, const struct device_coo *x)
{
    int count = 0;
    if (alto)
        kind[count++] = ORDERING_ALTO;
    for (int n = 0; n < x->shape.order; n++)
        if (wanted[n] && n != x->ordering.kind)
            kind[count++] = n;
    if (wanted[x->ordering.kind])
        kind[count++] = x->ordering.kind;
    return count;
}

/* The orderings of a tensor: alto where it is not NULL, and one for each of the modes wanted. x is
 * used up. `times` says how long each step took. */
static enum status build_orderings(struct device_tensor *alto, struct device_tensor *ordered,
                                   const bool *wanted, struct device_coo *x,
                                   enum precision precision, struct backend_seconds *times,
                                   struct progress *progress, struct error *error)
{
    cudaStream_t stream = x->pool->stream;
    int kind[MAX_ORDER + 1], count = list_orderings(kind, alto, wanted, x);
    double start = clock_now();
    enum status status = count > 1 ? presort(x, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = finish(stream, &start, &times->presort, error);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        bool is_alto = kind[i] == ORDERING_ALTO;
        status = device_tensor_build(is_alto ? alto : &ordered[kind[i]], x, kind[i], precision,
                                     i == count - 1, error);
        if (status == STATUS_OK)
            status =
                finish(stream, &start, is_alto ? &times->alto : &times->replica[kind[i]], error);
        progress_update(progress, (double)(i + 1) / count, "ordering %d of %d", i + 1, count);
    }
    device_coo_free(x);
    return status;
}

/* The orderings of x, the tensor or its reduced one, that the sweep asks for. x is used up. */
static enum status build_decided(struct device_orderings *o, struct device_coo *x,
                                 struct progress *progress, struct error *error)
{
    memcpy(o->tuples, x->shape.dims, sizeof o->tuples);
    return build_orderings(o->sweep.alto ? &o->alto : NULL, o->ordered, o->sweep.ordered, x,
                           o->plan.request.precision, &o->seconds, progress, error);
}

/* Orderings of the tuples of one group, and room for its products. */
static enum status build_tuples(struct device_orderings *o, int group, struct device_coo *tuples,
                                struct error *error)
{
    const struct device_pool *pool = tuples->pool;
    uint64_t row_bytes = o->plan.request.row_bytes;
    struct backend_seconds unused = {0};
    bool wanted[MAX_ORDER] = {false};
    for (int k = 0; k < tuples->shape.order - 1; k++)
        wanted[k] = true;
    enum status status =
        build_orderings(NULL, &o->tuple_tensor[o->sweep.groups.first[group]], wanted, tuples,
                        o->plan.request.precision, &unused, NULL, error);
    if (status == STATUS_OK)
        o->product[group] = device_pool_keep(pool, o->tuples[group], row_bytes, error);
    if (o->product[group])
        o->partial[group] = device_pool_keep(pool, o->tuples[group], row_bytes, error);
    return error->status;
}

/* x becomes the reduced tensor, and is used up. */
static enum status build_shared(struct device_orderings *o, struct device_coo *x,
                                struct progress *progress, struct error *error)
{
    const struct device_pool *pool = x->pool;
    const struct mode_groups *groups = &o->sweep.groups;
    struct device_grouped_tensor grouped;
    enum status status = device_mode_groups_apply(&grouped, groups, x, error);
    if (status != STATUS_OK) {
        device_coo_free(x);
        return status;
    }
    memcpy(o->coordinate, grouped.coordinate, sizeof o->coordinate);
    memset(grouped.coordinate, 0, sizeof grouped.coordinate);
    status = build_decided(o, x, progress, error);
    for (int g = 0; g < groups->groups && status == STATUS_OK; g++)
        if (mode_groups_size(groups, g) > 1)
            status = build_tuples(o, g, &grouped.tuples[g], error);
    device_mode_groups_free(&grouped, pool);
    return status;
}

/* Alto as the file has it, or packed. */
static enum status pack_alto(struct packed_tensor *p, const struct tensor_source *source,
                             const struct plan *plan, struct progress *progress,
                             struct error *error)
{
    return source->file ? packed_tensor_load(p, source->file, progress, error)
                        : packed_tensor_build(p, source->x, ORDERING_ALTO, plan_segment_nnz(plan),
                                              progress, error);
}

/* The orderings that a streamed plan asks for; *count of them are to be freed. */
static enum status pack(struct packed_tensor *packed, int *count,
                        const struct tensor_source *source, const struct plan *plan,
                        struct backend_seconds *times, struct progress *progress,
                        struct error *error)
{
    double start = clock_now();
    enum status status = STATUS_OK;
    if (plan->alto) {
        status = pack_alto(&packed[(*count)++], source, plan, progress, error);
        times->alto = clock_lap(&start);
    }
    for (int n = 0; n < source->x->shape.order && status == STATUS_OK; n++)
        if (plan->conflict[n] == CONFLICT_ORDERED) {
            status = packed_tensor_build(&packed[(*count)++], source->x, n, plan_segment_nnz(plan),
                                         progress, error);
            times->replica[n] = clock_lap(&start);
        }
    return status;
}

/* Orderings that the device builds later, in host memory beside alto. */
static void expect_replicas(struct device_orderings *o, struct device_staging *staging)
{
    const struct plan_request *r = &o->plan.request;
    uint64_t alto = o->stream.ordering[0].packed.size, budget = r->host_budget;
    o->replicas = (struct device_replicas){.wanted = o->plan.replicate,
                                           .at_once = r->forced.replicas_at_once,
                                           .choice.iterations = r->iterations,
                                           .host_bytes = budget > alto ? budget - alto : 0,
                                           .staging = staging};
}

/* Packed on the host; what fits stays on the device. Where a plan for the device's memory has
 * failed and this one needs more than the file has ready, its nonzeros are read after all. */
static enum status build_streamed(struct device_orderings *o, const struct tensor_source *source,
                                  struct device_staging *staging, struct progress *progress,
                                  struct error *error)
{
    const struct plan *plan = &o->plan;
    struct tensor_source from = *source;
    struct packed_tensor packed[MAX_ORDER + 1];
    struct coo read = {0};
    int count = 0;
    if (source->file && !plan_takes_packed(plan)) {
        if (blco_file_read(source->file, &read, progress, error) != STATUS_OK)
            return error->status;
        from = (struct tensor_source){.x = &read};
    }
    enum status status = pack(packed, &count, &from, plan, &o->seconds, progress, error);
    coo_free(&read);
    double start = clock_now();
    if (status == STATUS_OK && source->file)
        o->norm_sq = packed_tensor_norm_sq(&packed[0]);
    const struct device_stream_request request = {.conflict = plan->conflict,
                                                  .sorted = plan->sorted,
                                                  .batch_nnz = plan->batch_nnz,
                                                  .bytes = plan->flow_bytes + plan->resident_bytes,
                                                  .precision = plan->request.precision};
    if (status == STATUS_OK)
        status = device_stream_open(&o->stream, packed, count, &request, error);
    else
        while (count > 0)
            packed_tensor_free(&packed[--count]);
    o->seconds.upload = clock_lap(&start);
    if (status == STATUS_OK)
        expect_replicas(o, staging);
    return status;
}

/* The nonzeros to the device, from the arrays or packed. */
static enum status upload(struct device_orderings *o, struct device_coo *coo,
                          const struct tensor_source *source, struct device_staging *staging,
                          struct error *error)
{
    double start = clock_now();
    if (source->parts)
        device_part_read(coo, source, &o->norm_sq, staging, &o->pool, error);
    else if (source->file)
        device_coo_decode(coo, source->file, staging, &o->pool, error);
    else
        device_coo_upload(coo, source->x, staging, &o->pool, error);
    if (error->status != STATUS_OK)
        return error->status;
    if (!source->parts && source->file)
        o->norm_sq = coo->norm_sq;
    o->shape = coo->shape;
    o->nnz = coo->nnz;
    return finish(staging->stream, &start, &o->seconds.upload, error);
}

/* Decides for groups of modes where they pay; for none where the device has no room for finding
 * them. */
static enum status choose_groups(struct device_orderings *o, const struct device_coo *x, int device,
                                 struct error *error)
{
    int cache = 0;
    struct mode_groups groups;
    if (!sweep_may_group(&o->plan))
        return STATUS_OK;
    enum status status = device_attribute(device, cudaDevAttrL2CacheSize, &cache, error);
    if (status == STATUS_OK)
        status = device_mode_groups_choose(&groups, x, o->plan.request.row_bytes, (uint64_t)cache,
                                           error);
    if (status == STATUS_OK)
        sweep_decide(&o->sweep, &o->plan, &groups);
    if (status != STATUS_MEMORY)
        return status;
    *error = (struct error){0};
    return STATUS_OK;
}

/* What a build takes, roughly: the nonzeros as they came, room to sort, tables. */
static uint64_t bytes_to_reserve(const struct plan *plan)
{
    uint64_t bytes = 0, orderings = (uint64_t)plan_orderings(plan) + 3;
    bool overflow = __builtin_mul_overflow(plan->tensor_bytes, orderings, &bytes);
    bool few = bytes <= RESERVE_MOST && bytes <= plan->request.budget / RESERVE_SHARE;
    return few && !overflow ? bytes : 0;
}

/* To what takes less memory: no groups, fewer orderings, or the tensor on the host if it may be
 * streamed. False where there is nothing less. */
static bool retreat(struct device_orderings *o, bool may_stream, int device)
{
    struct plan smaller;
    struct error ignored = {0};
    uint64_t available = UINT64_MAX, all;
    bool shared = o->sweep.grouped;
    free_tensors(o);
    o->seconds = (struct backend_seconds){.upload = o->seconds.upload};
    if (!shared) {
        if (device_memory_free(device, &available, &all, &ignored) == STATUS_OK)
            available -= available / 16;
        if (!plan_make_smaller(&smaller, &o->plan, available) || (smaller.streamed && !may_stream))
            return false;
        o->plan = smaller;
    }
    decide_without_groups(o);
    return true;
}

/* With shared partial products where they pay; less, as o->plan says then, where the device has
 * less room than the plan thought. */
static enum status build_in_memory(struct device_orderings *o, const struct tensor_source *source,
                                   struct device_staging *staging, struct progress *progress,
                                   struct error *error)
{
    struct device_coo coo = {0};
    enum status status;
    for (bool first = true;; first = false) {
        status = upload(o, &coo, source, staging, error);
        if (status == STATUS_OK && coo.nnz == 0)
            break;
        if (status == STATUS_OK && first)
            status = choose_groups(o, &coo, staging->device, error);
        if (status == STATUS_OK)
            status = (o->sweep.grouped ? build_shared : build_decided)(o, &coo, progress, error);
        if (status != STATUS_MEMORY || !retreat(o, !source->parts, staging->device))
            break;
        *error = (struct error){0};
        status = STATUS_OK;
        if (o->plan.streamed)
            break;
    }
    device_coo_free(&coo);
    return status;
}

enum status device_orderings_build(struct device_orderings *o, const struct tensor_source *source,
                                   const struct plan *plan, struct device_staging *staging,
                                   struct progress *progress, struct error *error)
{
    double start = clock_now();
    enum status status = STATUS_OK;
    memset(o, 0, sizeof *o);
    o->shape = source->x->shape;
    o->nnz = source->x->nnz;
    o->norm_sq = source->norm_sq;
    o->plan = *plan;
    decide_without_groups(o);
    if (o->nnz == 0 && !source->parts) {
        o->plan.streamed = false;
        return STATUS_OK;
    }
    if (!plan->streamed) {
        status = device_pool_open(&o->pool, staging->device, staging->stream,
                                  bytes_to_reserve(plan), error);
        if (status == STATUS_OK)
            status = build_in_memory(o, source, staging, progress, error);
        device_pool_trim(&o->pool);
    }
    if (status == STATUS_OK && o->plan.streamed)
        status = build_streamed(o, source, staging, progress, error);
    if (plan->request.group)
        o->seconds.grouping = clock_now() - start - backend_build_seconds(&o->seconds);
    if (status != STATUS_OK)
        device_orderings_free(o);
    return status;
}
