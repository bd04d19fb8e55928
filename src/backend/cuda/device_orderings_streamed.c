#include "backend/cuda/device_orderings.h"

#include <string.h>

#include "base/clock.h"

/* Alto, loaded from the file or packed. */
static enum status pack_alto(struct packed_tensor *p, const struct tensor_source *source,
                             const struct plan *plan, struct progress *progress,
                             struct error *error)
{
    return source->file ? packed_tensor_load(p, source->file, progress, error)
                        : packed_tensor_build(p, source->x, ORDERING_ALTO, plan_segment_nnz(plan),
                                              progress, error);
}

/* Prepares for replicas, which the device builds in host memory beside alto. */
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

/* Packs the orderings of modes for which the GPU had no room, from the coordinates x. */
static enum status pack_replicas(struct device_orderings *o, const struct coo *x,
                                 struct progress *progress, struct error *error)
{
    struct device_stream *stream = &o->stream;
    const uint64_t segment_nnz = stream->ordering[0].packed.segment_nnz;
    double start = clock_now();
    for (int n = 0; n < x->shape.order; n++) {
        struct packed_tensor packed = {0};
        if (!o->replicas.failed[n])
            continue;
        TRY(packed_tensor_build(&packed, x, n, segment_nnz, progress, error));
        TRY(device_stream_adopt(stream, &packed, error));
        o->replicas.failed[n] = false;
        o->seconds.replica[n] = clock_lap(&start);
    }
    return device_stream_rearrange(stream, error);
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
    pack_replicas(o, source->file ? &read : source->x, progress, error);
    coo_free(&read);
    return error->status;
}

/* Opens the stream from alto. Modes that are to be ordered are served by it until they have their
 * orderings. */
static enum status open_stream(struct device_orderings *o, struct packed_tensor *alto,
                               struct error *error)
{
    const struct plan *plan = &o->plan;
    enum conflict conflict[MAX_ORDER];
    const struct device_stream_request request = {.conflict = conflict,
                                                  .sorted = plan->sorted,
                                                  .batch_nnz = plan->batch_nnz,
                                                  .bytes = plan->flow_bytes + plan->resident_bytes,
                                                  .precision = plan->request.precision};
    for (int n = 0; n < o->shape.order; n++)
        conflict[n] = plan->conflict[n] == CONFLICT_ORDERED ? CONFLICT_REGISTER : plan->conflict[n];
    return device_stream_open(&o->stream, alto, 1, &request, error);
}

enum status device_orderings_stream(struct device_orderings *o, const struct tensor_source *source,
                                    struct device_staging *staging, struct progress *progress,
                                    struct error *error)
{
    struct tensor_source from = *source;
    struct packed_tensor alto = {0};
    struct coo read = {0};
    double start = clock_now();
    if (source->file && !plan_takes_packed(&o->plan)) {
        TRY(blco_file_read(source->file, &read, progress, error));
        from = (struct tensor_source){.x = &read};
    }
    pack_alto(&alto, &from, &o->plan, progress, error);
    coo_free(&read);
    TRY(error->status);
    o->seconds.alto = clock_lap(&start);
    if (source->file)
        o->norm_sq = packed_tensor_norm_sq(&alto);
    TRY(open_stream(o, &alto, error));
    o->seconds.upload = clock_lap(&start);
    expect_replicas(o, staging);
    return build_replicas(o, source, progress, error);
}
