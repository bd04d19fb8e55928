#include "backend/cuda/stream/device_stream.h"

#include <stdio.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "kernels/residual/residual.h"
#include "tensor/ordering.h"

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

static const char doing[] = "streaming the tensor";

struct mttkrp_field device_stream_field(const struct device_stream *s, int n)
{
    return (struct mttkrp_field){.word = s->layout.mode[n].word,
                                 .shift = s->layout.mode[n].shift,
                                 .mask = s->layout.mode[n].mask,
                                 .mode = n};
}

void device_stream_batch(const struct device_packed_tensor *o, uint64_t b,
                         const struct device_stream_workspace *workspace, struct mttkrp_args *args)
{
    const struct device_chunk_table *table = device_packed_tensor_chunks(o, b);
    args->index[0] = workspace->index[0];
    args->index[1] = workspace->index[1];
    args->value = workspace->value;
    args->chunk = table->chunk;
    args->chunks = table->count;
}

/* The arguments that are the same for all batches of a mode. */
static void set_args(const struct device_stream *s, int mode, const struct device_factors *f,
                     struct mttkrp_args *args)
{
    enum conflict conflict = s->conflict[mode];
    int g = 0;
    *args = (struct mttkrp_args){.index = {s->workspace[0].index[0], s->workspace[0].index[1]},
                                 .ordered = conflict == CONFLICT_ORDERED,
                                 .path = conflict == CONFLICT_ORDERED  ? MTTKRP_PLAIN
                                         : conflict == CONFLICT_ATOMIC ? MTTKRP_EACH
                                                                       : MTTKRP_SORTED};
    device_mttkrp_output(args, mode, conflict, f);
    for (int n = 0; n < s->order; n++) {
        const struct mttkrp_field field = device_stream_field(s, n);
        if (n == mode)
            args->output = field;
        else
            args->gather[g++] = (struct mttkrp_gather){field, f->factor[n]};
    }
}

/* What is the same for all batches of an MTTKRP. */
struct product {
    struct mttkrp_args args;
    bool sorted; /* each batch is sorted by output row first */
};

static cudaError_t run_mttkrp(void *context, const struct device_packed_tensor *o, uint64_t b,
                              const struct device_stream_workspace *workspace)
{
    struct product *product = context;
    struct mttkrp_args *args = &product->args;
    cudaError_t code = cudaSuccess;
    device_stream_batch(o, b, workspace, args);
    if (product->sorted)
        code = row_sort_launch(&workspace->sort, args, (uint32_t)device_packed_tensor_nnz(o, b),
                               workspace->stream);
    if (code != cudaSuccess)
        return code;
    if ((code = device_stream_workspace_ready(workspace)) != cudaSuccess)
        return code;
    return mttkrp_launch(args, workspace->product);
}

enum status device_stream_check(struct device_stream *s, int ordering, cudaStream_t stream,
                                struct error *error)
{
    struct device_packed_tensor *o = &s->ordering[ordering];
    int mode = 0;
    if (o->checked)
        return STATUS_OK;
    TRY(device_fetch(&mode, s->damaged, sizeof mode, stream, doing, error));
    if (mode)
        return error_set(error, STATUS_INPUT,
                         "the tensor is damaged: a coordinate beyond the length of mode %d", mode);
    o->checked = true;
    return STATUS_OK;
}

enum status device_stream_mttkrp(struct device_stream *s, int mode, const struct device_factors *f,
                                 cudaStream_t stream, struct error *error)
{
    static const char multiplying[] = "MTTKRP of a streamed tensor";
    struct product product = {.sorted = s->sorted[mode]};
    struct mttkrp_args *args = &product.args;
    /* likely: the next mode, as in a sweep, or the same one where it was asked for twice */
    const int next = mode == s->last_mode ? mode : (mode + 1) % s->order;
    const struct device_stream_pass pass = {.ordering = s->serves[mode],
                                            .following = s->serves[next],
                                            .precision = s->precision,
                                            .consume = run_mttkrp,
                                            .context = &product};
    s->last_mode = mode;
    set_args(s, mode, f, args);
    TRY(cuda_status(mttkrp_prepare(args), multiplying, error));
    TRY(cuda_status(cudaEventRecord(s->started[mode], stream), multiplying, error));
    TRY(cuda_status(device_mttkrp_zero(args, stream), multiplying, error));
    TRY(cuda_status(device_stream_pass(s, &pass, stream), multiplying, error));
    TRY(cuda_status(device_mttkrp_merge(args, stream), multiplying, error));
    TRY(cuda_status(cudaEventRecord(s->ended[mode], stream), multiplying, error));
    return device_stream_check(s, pass.ordering, stream, error);
}

enum status device_stream_seconds(const struct device_stream *s, int mode, double *seconds,
                                  struct error *error)
{
    return cuda_status(device_event_seconds(s->started[mode], s->ended[mode], seconds), doing,
                       error);
}

uint64_t device_stream_bytes(const struct device_stream *s, int mode)
{
    const struct device_packed_tensor *o = &s->ordering[s->serves[mode]];
    return device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, o->nresident);
}

void device_stream_describe(const struct device_stream *s, int mode, char *text, size_t size)
{
    const struct device_packed_tensor *o = &s->ordering[s->serves[mode]];
    double all = (double)(device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, 0));
    double resident = all - (double)device_stream_bytes(s, mode);
    snprintf(text, size, "%sstreamed x%u, %s%.0f %% resident",
             o->packed.kind == ORDERING_ALTO ? "" : "own ordering ",
             device_packed_tensor_chunk_size(o), s->sorted[mode] ? "sorted batches, " : "",
             100 * resident / all);
}

/* What is the same for all batches of a pass. */
struct misfit {
    const struct device_stream *stream;
    struct residual_args args;
    struct double_double *sum; /* each workspace has sums of its own: batches overlap */
};

static cudaError_t add_batch(void *context, const struct device_packed_tensor *o, uint64_t b,
                             const struct device_stream_workspace *workspace)
{
    struct misfit *m = context;
    const struct device_chunk_table *table = device_packed_tensor_chunks(o, b);
    m->args.index[0] = workspace->index[0];
    m->args.index[1] = workspace->index[1];
    m->args.value = workspace->value;
    m->args.chunk = table->chunk;
    m->args.chunks = table->count;
    cudaError_t code = device_stream_workspace_ready(workspace);
    return code == cudaSuccess
               ? residual_nonzeros(&m->args,
                                   m->sum + (workspace - m->stream->workspace) * RESIDUAL_BLOCKS,
                                   workspace->product)
               : code;
}

/* Adds the sums of residual_nonzeros for every batch to sum (PLAN_WORKSPACES x RESIDUAL_BLOCKS,
 * device). args has the weights, the rows of each mode's factor matrix, and the sizes; the other
 * members are set here. Asynchronous. From the ordering that the next iteration begins with. */
enum status device_stream_residual(struct device_stream *s, const struct residual_args *args,
                                   struct double_double *sum, cudaStream_t stream,
                                   struct error *error)
{
    struct misfit misfit = {.stream = s, .args = *args, .sum = sum};
    const struct device_stream_pass pass = {.ordering = s->serves[0],
                                            .following = s->serves[0],
                                            .precision = s->precision,
                                            .consume = add_batch,
                                            .context = &misfit};
    for (int n = 0; n < s->order; n++)
        misfit.args.mode[n].field = device_stream_field(s, n);
    return cuda_status(device_stream_pass(s, &pass, stream), "the residual of a streamed tensor",
                       error);
}
