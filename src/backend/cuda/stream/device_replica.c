#include "backend/cuda/stream/device_replica.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_rates.h"
#include "base/clock.h"
#include "tensor/ordering.h"

/* Seconds for a nonzero, beside its copy to the device: sort, copy back, page in host memory.
 * Measured with an H200 and 16 threads. */
#define HANDLING_SECONDS 0.75e-9

#define TRIAL_BYTES ((uint64_t)4 << 20) /* enough to measure how fast the bus is */

static const char doing[] = "building orderings";

static int find_alto(const struct device_stream *s)
{
    for (int i = 0; i < s->orderings; i++)
        if (s->ordering[i].packed.kind == ORDERING_ALTO)
            return i;
    return -1;
}

/* Estimates how long building all replicas takes, and how long the part of each replica that flows
 * takes to be copied afterwards. */
static enum status estimate(struct device_replicas *r, struct device_stream *s, struct error *error)
{
    double rate = 0;
    int original = find_alto(s), count = 0;
    const struct packed_tensor *alto = &s->ordering[original].packed;
    uint64_t room = device_stream_room(s), moved = 0, counting = 0;
    TRY(device_rates_upload(r->staging->device, TRIAL_BYTES, &rate, error));
    for (int n = 0; n < s->order; n++)
        count += !conflict_traits[s->conflict[n]].ordered;
    for (int n = 0; n < s->order; n++) {
        struct device_replica_request q = {.mode = n, .original = original, .device_bytes = room};
        struct device_replica_cost cost = {0};
        uint64_t stays = room / (uint64_t)count;
        if (conflict_traits[s->conflict[n]].ordered)
            continue;
        device_replica_build_cost(&cost, s, &q, error);
        if (error->status == STATUS_MEMORY) /* this mode will have no replica */
            *error = (struct error){0};
        TRY(error->status);
        moved += cost.to_device + cost.to_host;
        counting = cost.counting > counting ? cost.counting : counting;
        r->choice.build_seconds += (double)alto->nnz * HANDLING_SECONDS;
        r->choice.bus_seconds[n] = alto->size > stays ? (double)(alto->size - stays) / rate : 0;
    }
    r->choice.build_seconds += (double)(moved + counting) / rate;
    r->choice.order = s->order;
    r->estimated = true;
    return STATUS_OK;
}

enum status device_replicas_due(struct device_replicas *r, struct device_stream *s, int mode,
                                bool *due, struct error *error)
{
    bool again = r->asked[mode], complete = true;
    double seconds[MAX_ORDER] = {0};
    r->first = r->asked[r->first] ? r->first : mode;
    r->asked[mode] = true;
    *due = r->wanted && again && r->at_once;
    for (int n = 0; n < s->order; n++)
        complete &= r->asked[n];
    if (!r->wanted || r->at_once || !again || mode != r->first || !complete)
        return STATUS_OK;
    if (!r->estimated && estimate(r, s, error) == STATUS_MEMORY) {
        *error = (struct error){0}; /* no room to measure the bus, so none for replicas */
        r->wanted = false;
        return STATUS_OK;
    }
    TRY(error->status);
    for (int n = 0; n < s->order; n++)
        if (!conflict_traits[s->conflict[n]].ordered &&
            device_stream_seconds(s, n, &seconds[n], error) != STATUS_OK)
            return error->status;
    *due = replica_choice_sweep(&r->choice, seconds);
    return STATUS_OK;
}

bool device_replicas_decided(const struct device_replicas *r)
{
    return !r->wanted || r->choice.sweeps > 1;
}

/* Batches of the original that stay on the device are freed first where all nonzeros do not fit
 * beside them. STATUS_MEMORY: the mode gets no replica. */
static enum status build_one(struct device_replicas *r, struct device_stream *s, int original,
                             int mode, struct device_row_counts *counts, struct error *error)
{
    struct packed_tensor replica = {0};
    struct device_replica_request q = {.mode = mode,
                                       .original = original,
                                       .host_bytes = r->host_bytes,
                                       .piece_nnz = r->piece_nnz,
                                       .staging = r->staging,
                                       .counts = counts};
    double start = clock_now();
    const struct device_packed_tensor *o = &s->ordering[original];
    uint64_t bytes, room = device_stream_room(s);
    uint64_t taken = device_packed_tensor_at(o, o->nresident) - device_packed_tensor_at(o, 0);
    TRY(device_replica_build_bytes(s, &q, &bytes, error));
    if (taken > 0 && (room < taken || bytes > room - taken)) {
        s->ahead = false; /* batches in the slots are no longer the first to flow */
        device_packed_tensor_drop(&s->ordering[original]);
        taken = 0;
    }
    q.device_bytes = room - taken;
    TRY(device_replica_build(&replica, s, &q, error));
    uint64_t size = replica.size;
    TRY(device_stream_adopt(s, &replica, error));
    r->host_bytes -= size;
    r->seconds[mode] = clock_now() - start;
    return STATUS_OK;
}

enum status device_replicas_build(struct device_replicas *r, struct device_stream *s,
                                  struct error *error)
{
    struct device_row_counts counts = {0};
    int original = find_alto(s);
    r->wanted = false;
    if (original >= 0 && !s->ordering[original].checked) { /* no sweep has done that */
        const struct device_stream_pass pass = {
            .ordering = original, .following = original, .precision = s->precision};
        TRY(cuda_status(device_stream_pass(s, &pass, r->staging->stream), doing, error));
        TRY(device_stream_check(s, original, r->staging->stream, error));
    }
    TRY(cuda_status(cudaDeviceSynchronize(), doing, error));
    for (int n = 0; n < s->order && original >= 0; n++) {
        if (conflict_traits[s->conflict[n]].ordered)
            continue;
        build_one(r, s, original, n, &counts, error);
        if (error->status == STATUS_MEMORY) {
            r->failed[n] = true;
            *error = (struct error){0};
        }
        TRY_OR(done, error->status);
    }
    TRY_OR(done, cuda_status(cudaDeviceSynchronize(), doing, error));
    device_stream_rearrange(s, error);
done:
    device_row_counts_free(&counts);
    return error->status;
}

void device_replicas_describe(const struct device_replicas *r, int mode, char *text, size_t size)
{
    static const char reason[] = ", no room for its own ordering";
    if (r->failed[mode] && strlen(text) + sizeof reason <= size)
        strcat(text, reason);
}
