/* A pass over batches of a streamed ordering: the ring of slots through which batches flow, and the
 * workspaces in which batches are decoded. */
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"
#include "backend/cuda/stream/device_stream.h"

/* All batches of an ordering. */
static struct device_stream_batches all_batches(const struct device_stream *s, int ordering)
{
    const struct device_packed_tensor *o = &s->ordering[ordering];
    return (struct device_stream_batches){
        .ordering = ordering, .count = o->nbatches, .resident = o->nresident};
}

static struct device_stream_batches batches_of(const struct device_stream *s,
                                               const struct device_stream_pass *pass)
{
    struct device_stream_batches all = all_batches(s, pass->ordering), some = all;
    if (!pass->batch)
        return all;
    some.number = pass->batch;
    some.count = pass->batches;
    for (some.resident = 0; some.resident < some.count; some.resident++)
        if (some.number[some.resident] >= all.resident)
            break;
    return some;
}

static uint64_t number_of(const struct device_stream_batches *batches, uint64_t i)
{
    return batches->number ? batches->number[i] : i;
}

/* Queues a copy into the next slot, once it is empty. */
static cudaError_t fill_slot(struct device_stream *s)
{
    struct device_stream_slot *slot = &s->slot[s->filled++ % PLAN_SLOTS];
    const struct device_packed_tensor *o = &s->ordering[s->flow.ordering];
    uint64_t b = number_of(&s->flow, s->flow.resident + s->next++);
    cudaError_t code = cudaStreamWaitEvent(s->copy, slot->emptied, 0);
    if (code != cudaSuccess)
        return code;
    code = cudaMemcpyAsync(slot->bytes, o->packed.bytes + device_packed_tensor_at(o, b),
                           device_packed_tensor_bytes(o, b), cudaMemcpyHostToDevice, s->copy);
    return code == cudaSuccess ? cudaEventRecord(slot->arrived, s->copy) : code;
}

/* Fills every empty slot: with the pass's next batches, and once all of these are queued, with the
 * first batches of the ordering that is likely to be next. */
static cudaError_t fill_slots(struct device_stream *s, const struct device_stream_pass *pass)
{
    cudaError_t code = cudaSuccess;
    while (s->filled - s->emptied < PLAN_SLOTS && code == cudaSuccess) {
        if (s->next < s->flow.count - s->flow.resident) {
            code = fill_slot(s);
        } else if (!s->ahead && pass->following != DEVICE_STREAM_NOTHING) {
            s->flow = all_batches(s, pass->following);
            s->next = 0;
            s->ahead = true;
        } else {
            break;
        }
    }
    return code;
}

/* Leaves the slots as they are where they hold the first batches of the pass; else they count as
 * empty and are to be filled with these batches. */
static void expect_batches(struct device_stream *s, const struct device_stream_batches *batches)
{
    if (!s->ahead || s->flow.ordering != batches->ordering || batches->number) {
        s->emptied = s->filled;
        s->flow = *batches;
        s->next = 0;
    }
    s->ahead = false;
}

/* Decodes batch b of an ordering from its bytes on the device. */
static cudaError_t decode(struct device_stream *s, const struct device_packed_tensor *o, uint64_t b,
                          const uint8_t *bytes, enum precision precision,
                          const struct device_stream_workspace *workspace)
{
    struct unpack_args args = {.layout = s->layout,
                               .spread = o->spread,
                               .bytes = bytes,
                               .offset = device_packed_tensor_at(o, b),
                               .segment = o->segment + b * o->segments,
                               .segment_nnz = (uint32_t)o->packed.segment_nnz,
                               .nnz = device_packed_tensor_nnz(o, b),
                               .index = {workspace->index[0], workspace->index[1]},
                               .value = workspace->value,
                               .precision = precision,
                               .damaged = s->damaged};
    return unpack_launch(&args, workspace->stream);
}

/* Decodes the next batch that flows, number b, from its slot, and fills the slot again. */
static cudaError_t decode_flowing(struct device_stream *s, const struct device_stream_pass *pass,
                                  uint64_t b, const struct device_stream_workspace *workspace)
{
    const struct device_packed_tensor *o = &s->ordering[pass->ordering];
    struct device_stream_slot *slot = &s->slot[s->emptied % PLAN_SLOTS];
    cudaError_t code = fill_slots(s, pass);
    if (code != cudaSuccess)
        return code;
    if ((code = cudaStreamWaitEvent(workspace->stream, slot->arrived, 0)) != cudaSuccess)
        return code;
    if ((code = decode(s, o, b, slot->bytes, pass->precision, workspace)) != cudaSuccess)
        return code;
    if ((code = cudaEventRecord(slot->emptied, workspace->stream)) != cudaSuccess)
        return code;
    s->emptied++;
    return fill_slots(s, pass);
}

cudaError_t device_stream_workspace_ready(const struct device_stream_workspace *workspace)
{
    return device_queue_follow(workspace->product, workspace->stream, workspace->ready);
}

/* Step t of a pass: batches that stay on the device come evenly between batches that flow. */
static cudaError_t run_batch(struct device_stream *s, const struct device_stream_pass *pass,
                             const struct device_stream_batches *batches, uint64_t t)
{
    const struct device_packed_tensor *o = &s->ordering[pass->ordering];
    const struct device_stream_workspace *workspace = &s->workspace[t % PLAN_WORKSPACES];
    uint64_t before = t * batches->resident / batches->count, b;
    cudaError_t code = cudaStreamWaitEvent(workspace->stream, workspace->done, 0);
    if (code != cudaSuccess)
        return code;
    if ((t + 1) * batches->resident / batches->count > before) {
        b = number_of(batches, before);
        const uint8_t *bytes =
            o->resident + device_packed_tensor_at(o, b) - device_packed_tensor_at(o, 0);
        code = decode(s, o, b, bytes, pass->precision, workspace);
    } else {
        b = number_of(batches, batches->resident + t - before);
        code = decode_flowing(s, pass, b, workspace);
    }
    if (code != cudaSuccess)
        return code;
    code = pass->consume(pass->context, o, b, workspace);
    return code == cudaSuccess ? cudaEventRecord(workspace->done, workspace->product) : code;
}

cudaError_t device_stream_pass(struct device_stream *s, const struct device_stream_pass *pass,
                               cudaStream_t stream)
{
    const struct device_stream_batches batches = batches_of(s, pass);
    expect_batches(s, &batches);
    cudaError_t code = cudaEventRecord(s->begun, stream);
    for (int k = 0; k < PLAN_WORKSPACES && code == cudaSuccess; k++)
        code = cudaStreamWaitEvent(s->workspace[k].product, s->begun, 0);
    for (uint64_t t = 0; t < batches.count && code == cudaSuccess; t++)
        code = run_batch(s, pass, &batches, t);
    for (int k = 0; k < PLAN_WORKSPACES && code == cudaSuccess; k++)
        code = cudaStreamWaitEvent(stream, s->workspace[k].done, 0);
    s->ahead = s->ahead && code == cudaSuccess;
    return code;
}
