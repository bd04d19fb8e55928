#include "backend/cuda/device_orderings.h"

#include <string.h>

#include "backend/cuda/comm/device_comm.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/tensor/device_coo.h"
#include "backend/cuda/tensor/device_fibers.h"
#include "backend/cuda/tensor/device_mode_groups.h"
#include "base/clock.h"
#include "base/memory.h"
#include "plan/tile_choice.h"
#include "ranks/nonzero_exchange.h"

/* Divides the rows of mode n, by which rows each rank has nonzeros in. */
static enum status divide_rows(const struct device_coo *d, struct rank_rows *r, int n,
                               struct device_staging *staging, struct error *error)
{
    uint64_t rows = r->range.here.dims[n];
    if (!rank_rows_compares(r, n))
        return rank_rows_divide_mode(r, n, NULL, error);
    unsigned char *touched = memory_zeros(rows, sizeof *touched, error);
    TRY(error->status);
    if (d->nnz > 0)
        TRY_OR(done, device_coo_touched(d, n, touched, rows, staging, error));
    rank_rows_divide_mode(r, n, touched, error);
done:
    memory_free(touched);
    return error->status;
}

/* Every rank calls this once, however often it opens a backend. No rank could try again after a
 * failure: the others would be elsewhere. */
static enum status divide(const struct device_coo *d, const struct tensor_source *source,
                          struct device_staging *staging, struct error *error)
{
    struct rank_rows *r = source->ranks;
    const uint64_t nnz = source->file->header->nnz;
    double sum[] = {(double)d->nnz, d->norm_sq};
    TRY(comm_allreduce_sum(r->all, sum, 2, error));
    r->norm_sq = sum[1];
    /* Segments are chosen by lines of the file's directory, which nothing has checked. Since each
     * rank checks the segments that it reads, a wrong line shows as a wrong number of nonzeros. */
    if ((uint64_t)sum[0] != nnz)
        return error_set(error, STATUS_INPUT, "%s: damaged: %.0f nonzeros, expected %ju",
                         source->file->name, sum[0], (uintmax_t)nnz);
    for (int n = 0; n < d->shape.order; n++)
        TRY(divide_rows(d, r, n, staging, error));
    return STATUS_OK;
}

/* Decodes the part of source->ranks from source->file, divides the rows among the ranks unless they
 * are divided already, and numbers the nonzeros by the rows that are here. *norm_sq = ||X||^2 of
 * all ranks. Otherwise as device_coo_decode. STATUS_INPUT, also where the parts of all ranks
 * together lack nonzeros; STATUS_MEMORY; and errors of other ranks. */
static enum status read_part(struct device_coo *d, const struct tensor_source *source,
                             double *norm_sq, struct device_staging *staging,
                             const struct device_pool *pool, struct error *error)
{
    struct rank_rows *r = source->ranks;
    TRY(device_coo_decode_part(d, source->file, &r->range, staging, pool, error));
    if (!r->divided && divide(d, source, staging, error) != STATUS_OK) {
        comm_abort(r->all, error);
        goto done;
    }
    *norm_sq = r->norm_sq;
    for (int n = 0; n < d->shape.order; n++) {
        const uint64_t rows = r->range.here.dims[n];
        if (!r->mode[n].row || d->nnz == 0)
            continue;
        uint32_t *place = memory_array(rows, sizeof *place, error);
        TRY_OR(done, error->status);
        rank_rows_places(r, n, place);
        device_coo_renumber(d, n, place, rows, staging, error);
        memory_free(place);
        TRY_OR(done, error->status);
    }
    const struct shape here = part_shape(&r->part);
    device_coo_linearise(d, &here, error);
done:
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}

/* The orderings that the modes must have from the first iteration on: the GPU builds them, and the
 * host where the GPU has too little room and the nonzeros are in host memory, or fit there. */
static enum status build_replicas(struct device_orderings *o, const struct tensor_source *source,
                                  struct progress *progress, struct error *error)
{
    struct coo read = {0};
    int failed = 0;
    if (o->plan.replicas == 0)
        return STATUS_OK;
    TRY(device_replicas_build(&o->replicas, &o->stream, error));
    memcpy(o->seconds.replica, o->replicas.seconds, sizeof o->seconds.replica);
    for (int n = o->shape.order - 1; n >= 0; n--)
        failed = o->replicas.failed[n] ? n + 1 : failed;
    if (failed == 0)
        return STATUS_OK;
    if (source->file && !plan_can_unpack(&o->plan.request))
        return error_set(
            error, STATUS_MEMORY,
            "there is not enough memory, of the GPU or of the host, for an ordering of "
            "mode %d",
            failed);
    if (source->file)
        TRY(blco_file_read(source->file, &read, progress, error));
    const struct coo *x = source->file ? &read : source->x;
    double start = clock_now();
    for (int n = 0; n < o->shape.order; n++) {
        struct packed_tensor packed = {0};
        if (!o->replicas.failed[n])
            continue;
        TRY_OR(done, packed_tensor_build(&packed, x, n, o->stream.ordering[0].packed.segment_nnz,
                                         progress, error));
        TRY_OR(done, device_stream_adopt(&o->stream, &packed, error));
        o->replicas.failed[n] = false;
        o->seconds.replica[n] = clock_lap(&start);
    }
    device_stream_rearrange(&o->stream, error);
done:
    coo_free(&read);
    return error->status;
}

/* Opens o->stream as o->plan, which is streamed, says, and fills o->seconds. What fits stays on the
 * device. A file whose segments are larger than the plan's batches is unpacked. STATUS_MEMORY. */
static enum status open_streamed(struct device_orderings *o, const struct tensor_source *source,
                                 struct device_staging *staging, struct progress *progress,
                                 struct error *error)
{
    const struct plan *plan = &o->plan;
    enum conflict conflict[MAX_ORDER];
    const struct device_stream_request request = {.conflict = conflict,
                                                  .sorted = plan->sorted,
                                                  .batch_nnz = plan->batch_nnz,
                                                  .bytes = plan->flow_bytes + plan->resident_bytes,
                                                  .precision = plan->request.precision};
    struct packed_tensor alto = {0};
    struct coo read = {0};
    double start = clock_now();
    const bool unpacks = source->file && !plan_takes_packed(plan);
    if (unpacks)
        TRY(blco_file_read(source->file, &read, progress, error));
    if (source->file && !unpacks)
        packed_tensor_load(&alto, source->file, progress, error);
    else
        packed_tensor_build(&alto, unpacks ? &read : source->x, ORDERING_ALTO,
                            plan_segment_nnz(plan), progress, error);
    coo_free(&read);
    TRY(error->status);
    o->seconds.alto = clock_lap(&start);
    if (source->file)
        o->norm_sq = packed_tensor_norm_sq(&alto);
    /* Modes that are to be ordered are served by alto until they have their orderings. */
    for (int n = 0; n < o->shape.order; n++)
        conflict[n] = conflict_on_alto(plan->conflict[n]);
    TRY(device_stream_open(&o->stream, &alto, 1, &request, error));
    o->seconds.upload = clock_lap(&start);
    /* Replicas, which the device builds, stand in host memory beside alto. */
    const uint64_t packed = o->stream.ordering[0].packed.size, budget = plan->request.host_budget;
    o->replicas = (struct device_replicas){.wanted = plan->replicate,
                                           .at_once = plan->request.forced.replicas_at_once,
                                           .choice.iterations = plan->request.iterations,
                                           .host_bytes = budget > packed ? budget - packed : 0,
                                           .staging = staging};
    return build_replicas(o, source, progress, error);
}

/* Memory for a build is taken at once up to this size, and up to this part of the budget. */
#define RESERVE_MOST  (UINT64_C(1) << 30)
#define RESERVE_SHARE 16

#define DEALT_SHARE 4 /* of the budget: what the nonzeros of all ranks may take */

static void free_tensors(struct device_orderings *o)
{
    (void)cudaDeviceSynchronize();
    device_tensor_free(&o->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        device_tensor_free(&o->ordered[n]);
        device_tensor_free(&o->tuple_tensor[n]);
        device_free(o->coordinate[n], o->product[n], o->partial[n]);
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

/* Plans the sweep without mode groups. */
static void decide_without_groups(struct device_orderings *o)
{
    struct mode_groups none;
    mode_groups_none(&none, o->shape.order);
    sweep_decide(&o->sweep, &o->plan, &none);
}

/* Waits for a step, and adds the seconds since *start, which becomes now. */
static enum status finish(cudaStream_t stream, double *start, double *seconds, struct error *error)
{
    enum status status =
        cuda_status(cudaStreamSynchronize(stream), "building the tensor on the GPU", error);
    *seconds += clock_lap(start);
    return status;
}

/* The orderings that are built from one tensor. */
struct wanted_orderings {
    struct device_tensor *alto;    /* NULL: not wanted                */
    struct device_tensor *ordered; /* (order): one for each mode      */
    const bool *mode;              /* (order): which modes want one   */
    const struct tile *tile;       /* (order): its tiles, or NULL                 */
    const int *lowest;             /* (order): its lowest mode, -1 for the longest; or NULL: -1 */
    enum precision precision;
    struct backend_seconds *seconds; /* of the steps */
};

/* Builds the wanted orderings from x, which is used up: alto, then those of modes; that in which x
 * is sorted comes last and is x itself. */
static enum status build_orderings(const struct wanted_orderings *w, struct device_coo *x,
                                   struct progress *progress, struct error *error)
{
    cudaStream_t stream = x->pool->stream;
    int kind[MAX_ORDER + 1], count = 0;
    double start = clock_now();
    if (w->alto)
        kind[count++] = ORDERING_ALTO;
    for (int n = 0; n < x->shape.order; n++)
        if (w->mode[n] && n != x->ordering.kind)
            kind[count++] = n;
    if (w->mode[x->ordering.kind])
        kind[count++] = x->ordering.kind;
    /* Sorting x first makes building faster; not done where there is no room for it. */
    if (count > 1 && device_coo_sort(x, error) == STATUS_MEMORY)
        *error = (struct error){0};
    TRY_OR(done, error->status);
    TRY_OR(done, finish(stream, &start, &w->seconds->presort, error));
    for (int i = 0; i < count; i++) {
        const bool is_alto = kind[i] == ORDERING_ALTO;
        struct device_tensor *built = is_alto ? w->alto : &w->ordered[kind[i]];
        double *seconds = is_alto ? &w->seconds->alto : &w->seconds->replica[kind[i]];
        const struct device_blco_options options = {
            .kind = kind[i],
            .precision = w->precision,
            .last = i == count - 1,
            .tile = w->tile && !is_alto && w->tile[kind[i]].modes > 0 ? &w->tile[kind[i]] : NULL,
            .lowest = w->lowest && !is_alto ? &w->lowest[kind[i]] : NULL};
        TRY_OR(done, device_tensor_build(built, x, &options, error));
        TRY_OR(done, finish(stream, &start, seconds, error));
        progress_update(progress, (double)(i + 1) / count, "ordering %d of %d", i + 1, count);
    }
done:
    device_coo_free(x);
    return error->status;
}

/* The orderings of x, the tensor or its reduced one: alto if the sweep asks for it, and those of
 * these modes. x is used up. */
static enum status build_modes(struct device_orderings *o, struct device_coo *x, const bool *mode,
                               struct progress *progress, struct error *error)
{
    struct tile tile[MAX_ORDER];
    int lowest[MAX_ORDER];
    const struct wanted_orderings wanted = {.alto = o->sweep.alto ? &o->alto : NULL,
                                            .ordered = o->ordered,
                                            .mode = mode,
                                            .tile = tile,
                                            .lowest = lowest,
                                            .precision = o->plan.request.precision,
                                            .seconds = &o->seconds};
    double fibers[MAX_ORDER], start = clock_now();
    struct cache_tile_request request;
    tile_choose_all(tile, &o->plan, &x->shape, x->nnz, mode);
    /* where the device has no room for counting, the longest modes are lowest, and no tiles are of
     * the L2 cache */
    for (int n = 0; n < x->shape.order; n++)
        lowest[n] = -1;
    const bool counts = fiber_choice_open(x->shape.order, mode, tile);
    if (counts)
        device_fibers_count(fibers, x, error);
    for (int n = 0; counts && error->status == STATUS_OK && n < x->shape.order; n++)
        lowest[n] = fiber_lowest(n, &tile[n], &x->shape, fibers);
    if (error->status == STATUS_OK || error->status == STATUS_MEMORY) {
        *error = (struct error){0};
        cache_tile_request(&request, &o->plan, &x->shape, x->nnz);
        device_cache_tiles_choose(tile, &request, mode, lowest, x, error);
    }
    if (error->status == STATUS_MEMORY)
        *error = (struct error){0};
    TRY(error->status);
    o->seconds.presort += clock_lap(&start);
    memcpy(o->tuples, x->shape.dims, sizeof o->tuples);
    return build_orderings(&wanted, x, progress, error);
}

/* Orderings of the tuples of one group, and room for its products. */
static enum status build_tuples(struct device_orderings *o, int group, struct device_coo *tuples,
                                struct error *error)
{
    const struct device_pool *pool = tuples->pool;
    uint64_t row_bytes = o->plan.request.row_bytes;
    struct backend_seconds unused = {0};
    bool modes[MAX_ORDER] = {false};
    const struct wanted_orderings wanted = {.ordered =
                                                &o->tuple_tensor[o->sweep.groups.first[group]],
                                            .mode = modes,
                                            .precision = o->plan.request.precision,
                                            .seconds = &unused};
    for (int k = 0; k < tuples->shape.order - 1; k++)
        modes[k] = true;
    TRY(build_orderings(&wanted, tuples, NULL, error));
    o->product[group] = device_pool_keep(pool, o->tuples[group], row_bytes, error);
    TRY(error->status);
    o->partial[group] = device_pool_keep(pool, o->tuples[group], row_bytes, error);
    return error->status;
}

/* The orderings with mode groups. x becomes the reduced tensor, and is used up. */
static enum status build_shared(struct device_orderings *o, struct device_coo *x,
                                struct progress *progress, struct error *error)
{
    const struct device_pool *pool = x->pool;
    const struct mode_groups *groups = &o->sweep.groups;
    struct device_grouped_tensor grouped;
    TRY_OR(done, device_mode_groups_apply(&grouped, groups, x, error));
    memcpy(o->coordinate, grouped.coordinate, sizeof o->coordinate);
    memset(grouped.coordinate, 0, sizeof grouped.coordinate);
    TRY_OR(done, build_modes(o, x, o->sweep.ordered, progress, error));
    for (int g = 0; g < groups->groups; g++)
        if (mode_groups_size(groups, g) > 1 &&
            build_tuples(o, g, &grouped.tuples[g], error) != STATUS_OK)
            goto done;
done:
    device_coo_free(x);
    device_mode_groups_free(&grouped, pool);
    return error->status;
}

/* Brings the nonzeros to the device, from arrays or packed. */
static enum status upload(struct device_orderings *o, struct device_coo *coo,
                          const struct tensor_source *source, struct device_staging *staging,
                          struct error *error)
{
    double start = clock_now();
    if (source->parts)
        read_part(coo, source, &o->norm_sq, staging, &o->pool, error);
    else if (source->file)
        device_coo_decode(coo, source->file, staging, &o->pool, error);
    else
        device_coo_upload(coo, source->x, staging, &o->pool, error);
    TRY(error->status);
    if (!source->parts && source->file)
        o->norm_sq = coo->norm_sq;
    o->shape = coo->shape;
    o->nnz = coo->nnz;
    return finish(staging->stream, &start, &o->seconds.upload, error);
}

/* Changes the plan to what takes less memory: no mode groups, fewer orderings, or streaming if that
 * is allowed. False where nothing takes less. */
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

/* Builds as o->plan and o->sweep say. The first attempt chooses mode groups where they pay. */
static enum status build_once(struct device_orderings *o, const struct tensor_source *source,
                              struct device_staging *staging, bool first, struct progress *progress,
                              struct error *error)
{
    struct device_coo coo = {0};
    if (upload(o, &coo, source, staging, error) != STATUS_OK || coo.nnz == 0)
        goto done;
    if (first && sweep_may_group(&o->plan)) {
        const struct plan_request *q = &o->plan.request;
        struct mode_groups groups;
        device_mode_groups_choose(&groups, &coo, q->row_bytes, q->cache_bytes, error);
        if (error->status == STATUS_OK)
            sweep_decide(&o->sweep, &o->plan, &groups);
        if (error->status == STATUS_MEMORY) /* no room for finding them */
            *error = (struct error){0};
        TRY_OR(done, error->status);
    }
    if (o->sweep.grouped)
        build_shared(o, &coo, progress, error);
    else
        build_modes(o, &coo, o->sweep.ordered, progress, error);
done:
    device_coo_free(&coo);
    return error->status;
}

/* The nonzeros *d of rank k's GPU become those of all. */
static enum status bcast_coo(const struct device_coo *d, struct device_comm *devices, int k,
                             struct error *error)
{
    const struct device_engine *engine = devices->engine;
    const cudaStream_t stream = d->pool->stream;
    void *state = devices->state;
    TRY(engine->bcast(state, d->value, d->nnz * sizeof *d->value, k, stream, error));
    if (d->line)
        return engine->bcast(state, d->line, d->nnz * sizeof *d->line, k, stream, error);
    for (int n = 0; n < d->shape.order; n++)
        TRY(engine->bcast(state, d->index[n], d->nnz * sizeof *d->index[n], k, stream, error));
    return STATUS_OK;
}

/* The nonzeros of all ranks, all (ranks), or *all = NULL where some GPU lacks the room. Threads of
 * one process read each other's; the GPUs of processes send theirs. The caller frees them, after
 * comm_allreduce_error: others read this rank's. */
static enum status upload_all(struct device_coo **all, struct device_orderings *o,
                              const struct tensor_source *source, struct device_staging *staging,
                              struct error *error)
{
    struct comm *c = source->ranks->all;
    struct device_comm *devices = c->shares_memory ? NULL : source->ranks->devices;
    const struct coo *x[MAX_RANKS] = {NULL};
    uint64_t nnz[MAX_RANKS], sum = 0;
    double start = clock_now();
    *all = NULL;
    if (!c->shares_memory && !devices)
        return STATUS_OK;
    TRY(comm_allgather(c, &source->x, sizeof source->x, x, error));
    TRY(comm_allgather(c, &source->x->nnz, sizeof *nnz, nnz, error));
    for (int k = 0; k < c->size; k++)
        sum += nnz[k];
    int lacks_room = coo_bytes(o->shape.order, sum) > o->plan.request.budget / DEALT_SHARE;
    TRY(comm_allreduce_max(c, &lacks_room, error));
    if (lacks_room)
        return STATUS_OK;
    *all = memory_zeros((size_t)c->size, sizeof **all, error);
    for (int k = 0; k < c->size && error->status == STATUS_OK; k++) {
        struct device_coo *to = &(*all)[k];
        const bool is_sent = devices && k != c->rank; /* by its GPU */
        device_coo_init(to, &source->x->shape, nnz[k], &o->pool);
        if (nnz[k] > 0 && is_sent)
            device_coo_take_arrays(to, error);
        else if (nnz[k] > 0)
            device_coo_upload(to, x[k], staging, &o->pool, error);
    }
    TRY(comm_allreduce_error(c, error));
    if (devices)
        TRY(device_comm_wait(devices, error));
    for (int k = 0; devices && k < c->size; k++)
        if (nnz[k] > 0)
            TRY(bcast_coo(&(*all)[k], devices, k, error));
    return finish(staging->stream, &start, &o->seconds.upload, error);
}

/* *coo = the nonzeros that this rank needs for mode n; `all` as above. */
static enum status take_dealt(struct device_coo *coo, struct device_orderings *o,
                              const struct device_coo *all, const struct tensor_source *source,
                              int n, struct device_staging *staging, struct error *error)
{
    struct coo taken;
    double start = clock_now();
    if (all) {
        const struct mode_rows *m = &source->ranks->mode[n];
        const struct part_dealt rows = {.order = o->shape.order,
                                        .mode = n,
                                        .stripe = (uint32_t)m->stripe,
                                        .common = (uint32_t)m->common,
                                        .ranks = source->ranks->all->size,
                                        .me = source->ranks->all->rank};
        return device_coo_deal(coo, all, &rows, error);
    }
    TRY(nonzero_exchange_mode(&taken, source->ranks, n, source->x, error));
    if (taken.nnz > 0 && device_coo_upload(coo, &taken, staging, &o->pool, error) == STATUS_OK)
        finish(staging->stream, &start, &o->seconds.upload, error);
    coo_free(&taken);
    return error->status;
}

/* The ordering of each mode where rows are dealt. After a failure no rank could try again: the
 * others would be elsewhere. */
static enum status build_dealt(struct device_orderings *o, const struct tensor_source *source,
                               struct device_staging *staging, struct progress *progress,
                               struct error *error)
{
    struct device_coo *all;
    upload_all(&all, o, source, staging, error);
    for (int n = 0; n < o->shape.order && error->status == STATUS_OK; n++) {
        struct device_coo coo = {0};
        bool only[MAX_ORDER] = {false};
        only[n] = true;
        take_dealt(&coo, o, all, source, n, staging, error);
        o->nnz = n == 0 ? coo.nnz : o->nnz;
        if (error->status == STATUS_OK && coo.nnz > 0)
            build_modes(o, &coo, only, progress, error);
        device_coo_free(&coo);
    }
    for (int k = 0; all && k < source->ranks->all->size; k++)
        device_coo_free(&all[k]);
    memory_free(all);
    return error->status;
}

enum status device_orderings_build(struct device_orderings *o, const struct tensor_source *source,
                                   const struct plan *plan, struct device_staging *staging,
                                   struct progress *progress, struct error *error)
{
    double start = clock_now();
    memset(o, 0, sizeof *o);
    o->shape = source->x->shape;
    o->nnz = source->x->nnz;
    o->norm_sq = source->norm_sq;
    o->plan = *plan;
    decide_without_groups(o);
    const bool dealt = source->ranks->dealt;
    if (o->nnz == 0 && !source->parts && !dealt) {
        o->plan.streamed = false;
        return STATUS_OK;
    }
    if (!plan->streamed) {
        /* what a build takes, roughly: the nonzeros as they came, room to sort, tables */
        const uint64_t orderings = (uint64_t)plan_orderings(plan) + 3;
        uint64_t bytes = 0;
        if (__builtin_mul_overflow(plan->tensor_bytes, orderings, &bytes) || bytes > RESERVE_MOST ||
            bytes > plan->request.budget / RESERVE_SHARE)
            bytes = 0;
        TRY_OR(done, device_pool_open(&o->pool, staging->device, staging->stream, bytes, error));
        if (dealt)
            TRY_OR(done, build_dealt(o, source, staging, progress, error));
        /* less where the device has less room than expected; nothing where o->plan then streams */
        for (bool first = true; !dealt && !o->plan.streamed; first = false) {
            if (build_once(o, source, staging, first, progress, error) != STATUS_MEMORY ||
                !retreat(o, !source->parts, staging->device))
                break;
            *error = (struct error){0};
        }
        TRY_OR(done, error->status);
        device_pool_trim(&o->pool);
    }
    if (o->plan.streamed)
        TRY_OR(done, open_streamed(o, source, staging, progress, error));
    if (plan->request.group)
        o->seconds.grouping = clock_now() - start - backend_build_seconds(&o->seconds);
done:
    if (error->status != STATUS_OK)
        device_orderings_free(o);
    return error->status;
}
