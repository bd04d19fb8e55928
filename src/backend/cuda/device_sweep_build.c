#include "backend/cuda/device_sweep_build.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_coo.h"
#include "backend/cuda/tensor/device_mode_groups.h"
#include "base/clock.h"
#include "base/memory.h"

/* Memory for a build is asked for at once while it is this small, against what may be used too. */
#define RESERVE_MOST  (UINT64_C(1) << 30)
#define RESERVE_SHARE 16

void device_sweep_free_tensors(struct device_sweep *s)
{
    (void)cudaDeviceSynchronize();
    s->build = (struct backend_build){.upload = s->build.upload};
    device_tensor_free(&s->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        device_tensor_free(&s->ordered[n]);
        device_tensor_free(&s->tuple_tensor[n]);
        device_free(s->coordinate[n]);
        device_free(s->product[n]);
        device_free(s->partial[n]);
        s->coordinate[n] = NULL;
        s->product[n] = s->partial[n] = NULL;
    }
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
                                   const bool *wanted, struct device_coo *x, int real_size,
                                   struct backend_build *times, struct progress *progress,
                                   struct error *error)
{
    cudaStream_t stream = x->pool->stream;
    int kind[MAX_ORDER + 1], count = list_orderings(kind, alto, wanted, x);
    double start = clock_now();
    enum status status = count > 1 ? presort(x, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = finish(stream, &start, &times->presort, error);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        bool is_alto = kind[i] == ORDERING_ALTO;
        status = device_tensor_build(is_alto ? alto : &ordered[kind[i]], x, kind[i], real_size,
                                     i == count - 1, error);
        if (status == STATUS_OK)
            status =
                finish(stream, &start, is_alto ? &times->alto : &times->replica[kind[i]], error);
        progress_update(progress, (double)(i + 1) / count, "ordering %d of %d", i + 1, count);
    }
    device_coo_free(x);
    return status;
}

static enum status build_plain(struct device_sweep *s, struct device_coo *x,
                               const struct plan *plan, struct progress *progress,
                               struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int n = 0; n < s->shape.order; n++)
        wanted[n] = plan->conflict[n] == CONFLICT_ORDERED;
    memcpy(s->tuples, s->shape.dims, sizeof s->tuples);
    return build_orderings(plan->alto ? &s->alto : NULL, s->ordered, wanted, x,
                           (int)plan->request.real_size, &s->build, progress, error);
}

/* Orderings of the tuples of one group, and room for its products. */
static enum status build_tuples(struct device_sweep *s, int group, struct device_coo *tuples,
                                int real_size, struct error *error)
{
    const struct device_pool *pool = tuples->pool;
    struct backend_build unused = {0};
    bool wanted[MAX_ORDER] = {false};
    for (int k = 0; k < tuples->shape.order - 1; k++)
        wanted[k] = true;
    enum status status = build_orderings(NULL, &s->tuple_tensor[s->mode_groups.first[group]],
                                         wanted, tuples, real_size, &unused, NULL, error);
    if (status == STATUS_OK)
        s->product[group] =
            device_pool_keep(pool, s->tuples[group], device_sweep_row_bytes(s), error);
    if (s->product[group])
        s->partial[group] =
            device_pool_keep(pool, s->tuples[group], device_sweep_row_bytes(s), error);
    return error->status;
}

/* x becomes the reduced tensor. */
static enum status build_shared(struct device_sweep *s, struct device_coo *x,
                                const struct plan *plan, struct progress *progress,
                                struct error *error)
{
    const struct device_pool *pool = x->pool;
    int size = (int)plan->request.real_size;
    struct device_grouped_tensor grouped;
    enum status status = device_mode_groups_apply(&grouped, &s->mode_groups, x, error);
    if (status != STATUS_OK) {
        device_coo_free(x);
        return status;
    }
    memcpy(s->coordinate, grouped.coordinate, sizeof s->coordinate);
    memset(grouped.coordinate, 0, sizeof grouped.coordinate);
    bool wanted[MAX_ORDER];
    for (int g = 0; g < s->mode_groups.groups; g++) {
        s->tuples[g] = x->shape.dims[g];
        wanted[g] = true;
    }
    status = build_orderings(NULL, s->ordered, wanted, x, size, &s->build, progress, error);
    for (int g = 0; g < s->mode_groups.groups && status == STATUS_OK; g++)
        if (mode_groups_size(&s->mode_groups, g) > 1)
            status = build_tuples(s, g, &grouped.tuples[g], size, error);
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
                        struct backend_build *times, struct progress *progress, struct error *error)
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
static void expect_replicas(struct device_sweep *s, const struct plan *plan,
                            struct device_staging *staging)
{
    uint64_t alto = s->stream.ordering[0].packed.size, budget = plan->request.host_budget;
    s->replicas = (struct device_replicas){.wanted = plan->replicate,
                                           .at_once = plan->request.replicas_at_once,
                                           .choice.iterations = plan->request.iterations,
                                           .host_bytes = budget > alto ? budget - alto : 0,
                                           .staging = staging};
}

/* Packed on the host; what fits stays on the device. Where a plan for the device's memory has
 * failed and this one needs more than the file has ready, its nonzeros are read after all. */
static enum status build_streamed(struct device_sweep *s, const struct tensor_source *source,
                                  const struct plan *plan, struct device_staging *staging,
                                  struct progress *progress, struct error *error)
{
    struct tensor_source from = *source;
    struct packed_tensor packed[MAX_ORDER + 1];
    struct coo read = {0};
    int count = 0;
    if (source->file && !plan_takes_packed(plan, source->file->header->segment_nnz)) {
        if (blco_file_read(source->file, &read, progress, error) != STATUS_OK)
            return error->status;
        from = (struct tensor_source){.x = &read};
    }
    enum status status = pack(packed, &count, &from, plan, &s->build, progress, error);
    coo_free(&read);
    double start = clock_now();
    if (status == STATUS_OK && source->file)
        s->norm_sq = packed_tensor_norm_sq(&packed[0]);
    if (status == STATUS_OK)
        status = device_stream_open(&s->stream, packed, count, plan->conflict, plan->sorted,
                                    plan->batch_nnz, plan->flow_bytes + plan->resident_bytes,
                                    plan->request.real_size == sizeof(float), error);
    else
        while (count > 0)
            packed_tensor_free(&packed[--count]);
    s->build.upload = clock_lap(&start);
    s->streamed = status == STATUS_OK;
    if (s->streamed)
        expect_replicas(s, plan, staging);
    return status;
}

/* Less than *plan, where the device turned out to have less room than that; in the end, with the
 * tensor on the host. False where there is nothing less. */
static bool plan_less(struct plan *plan)
{
    struct plan_request request = plan->request;
    struct plan smaller;
    size_t available, all;
    request.budget = plan->total_bytes - 1;
    plan_make(&smaller, &request);
    if (smaller.streamed && cudaMemGetInfo(&available, &all) == cudaSuccess &&
        available - available / 16 < request.budget) {
        request.budget = available - available / 16;
        plan_make(&smaller, &request);
    }
    if (smaller.fits)
        *plan = smaller;
    return smaller.fits;
}

/* The nonzeros to the device, from the arrays or packed. */
static enum status upload(struct device_sweep *s, struct device_coo *coo,
                          const struct tensor_source *source, struct device_staging *staging,
                          const struct device_pool *pool, struct error *error)
{
    double start = clock_now();
    enum status status =
        source->file ? device_coo_decode(coo, source->file, &s->norm_sq, staging, pool, error)
                     : device_coo_upload(coo, source->x, staging, pool, error);
    return status == STATUS_OK ? finish(staging->stream, &start, &s->build.upload, error) : status;
}

/* Groups of modes, where the plan has room for every mode's ordering, which is more than they take;
 * none where the device has no room for finding them. */
static enum status choose_groups(struct device_sweep *s, const struct device_coo *x,
                                 const struct plan *plan, struct error *error)
{
    int device, cache = 0;
    if (!plan->request.share || plan->replicas < s->shape.order || plan->alto)
        return STATUS_OK;
    enum status status = cuda_status(cudaGetDevice(&device), "the device", error);
    if (status == STATUS_OK)
        status = cuda_status(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device),
                             "the device", error);
    if (status == STATUS_OK)
        status = device_mode_groups_choose(&s->mode_groups, x, device_sweep_row_bytes(s),
                                           (uint64_t)cache, error);
    if (status != STATUS_MEMORY)
        return status;
    *error = (struct error){0};
    return STATUS_OK;
}

/* What a build takes, roughly: the nonzeros as they came, room to sort, tables. */
static uint64_t bytes_to_reserve(const struct plan *plan)
{
    uint64_t bytes = 0, orderings = (uint64_t)plan->replicas + plan->alto + 3;
    bool overflow = __builtin_mul_overflow(plan->tensor_bytes, orderings, &bytes);
    bool few = bytes <= RESERVE_MOST && bytes <= plan->request.budget / RESERVE_SHARE;
    return few && !overflow ? bytes : 0;
}

/* To what takes less memory: no groups, fewer orderings, or the tensor on the host. False where
 * there is nothing less. */
static bool retreat(struct device_sweep *s, struct plan *plan)
{
    device_sweep_free_tensors(s);
    if (device_sweep_is_shared(s)) {
        mode_groups_none(&s->mode_groups, s->shape.order);
        return true;
    }
    return plan_less(plan);
}

/* With shared partial products where they pay; less, as *plan says then, where the device has less
 * room than the plan thought. */
static enum status build_in_memory(struct device_sweep *s, const struct tensor_source *source,
                                   struct plan *plan, struct device_staging *staging,
                                   const struct device_pool *pool, struct progress *progress,
                                   struct error *error)
{
    struct device_coo coo = {0};
    enum status status;
    for (bool first = true;; first = false) {
        status = upload(s, &coo, source, staging, pool, error);
        if (status == STATUS_OK && first)
            status = choose_groups(s, &coo, plan, error);
        if (status == STATUS_OK)
            status = (device_sweep_is_shared(s) ? build_shared : build_plain)(s, &coo, plan,
                                                                              progress, error);
        if (status != STATUS_MEMORY || !retreat(s, plan))
            break;
        *error = (struct error){0};
        status = STATUS_OK;
        if (plan->streamed)
            break;
    }
    device_coo_free(&coo);
    return status;
}

enum status device_sweep_build(struct device_sweep *s, const struct tensor_source *source,
                               struct plan *plan, struct device_staging *staging,
                               struct progress *progress, struct error *error)
{
    enum status status = STATUS_OK;
    if (!plan->streamed) {
        status = device_pool_open(&s->pool, staging->device, staging->stream,
                                  bytes_to_reserve(plan), error);
        if (status == STATUS_OK)
            status = build_in_memory(s, source, plan, staging, &s->pool, progress, error);
        device_pool_trim(&s->pool);
    }
    if (status == STATUS_OK && plan->streamed)
        status = build_streamed(s, source, plan, staging, progress, error);
    return status;
}
