#include "backend/cuda/stream/device_stream.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "formats/blco/decoded_layout.h"
#include "tensor/ordering.h"

static const char doing[] = "streaming the tensor";

enum status device_batch_sort_open(struct row_sort *s, uint64_t nnz, uint64_t *used,
                                   struct error *error)
{
    const int size = sizeof(uint32_t); /* of a row and of a position */
    *s = (struct row_sort){.pairs = {.count = nnz, .key_size = size, .value_size = size}};
    if (nnz > UINT32_MAX)
        return error_set(error, STATUS_MEMORY, "batches of more than 2^32 nonzeros are not sorted");
    cudaError_t code = arrays_sort(NULL, &s->temporary_bytes, &s->pairs, 0, ROW_SORT_BITS, NULL);
    TRY(cuda_status(code, "sorting", error));
    *used += 4 * nnz * sizeof(uint32_t) + s->temporary_bytes;
    for (int i = 0; i < 2; i++) {
        TRY(device_array_into(&s->pairs.key[i], nnz, sizeof(uint32_t), error));
        TRY(device_array_into(&s->pairs.value[i], nnz, sizeof(uint32_t), error));
    }
    return device_array_into(&s->temporary, s->temporary_bytes, 1, error);
}

void device_batch_sort_close(struct row_sort *s)
{
    for (int i = 0; i < 2; i++)
        device_free(s->pairs.key[i], s->pairs.value[i]);
    device_free(s->temporary);
    *s = (struct row_sort){0};
}

/* A device array into *array, a pointer; adds its bytes to *used. */
static enum status allocate(void *array, uint64_t count, uint64_t size, uint64_t *used,
                            struct error *error)
{
    *used += count * size;
    return device_array_into(array, count, size, error);
}

/* Bytes of the largest batch. */
static uint64_t largest_batch(const struct device_stream *s)
{
    uint64_t bytes = 0;
    for (int i = 0; i < s->orderings; i++)
        for (uint64_t b = 0; b < s->ordering[i].nbatches; b++) {
            uint64_t size = device_packed_tensor_bytes(&s->ordering[i], b);
            bytes = size > bytes ? size : bytes;
        }
    return bytes;
}

/* Replaces the slots by slots of so many bytes; on failure some may stay as they were. */
static enum status build_slots(struct device_stream *s, uint64_t bytes, struct error *error)
{
    s->ahead = false; /* the batches in them are lost */
    for (int k = 0; k < PLAN_SLOTS; k++) {
        uint8_t *old = s->slot[k].bytes;
        if (allocate(&s->slot[k].bytes, bytes, 1, &s->used, error) != STATUS_OK) {
            s->slot[k].bytes = old;
            return error->status;
        }
        device_free(old);
    }
    s->used -= PLAN_SLOTS * s->slot_bytes;
    s->slot_bytes = bytes;
    return STATUS_OK;
}

static enum status open_streams(struct device_stream *s, struct error *error)
{
    TRY(cuda_status(device_queue_create(&s->copy, QUEUE_NORMAL), doing, error));
    TRY(cuda_status(device_event_create(&s->begun), doing, error));
    for (int n = 0; n < s->order; n++) {
        TRY(cuda_status(device_event_create_timed(&s->started[n]), doing, error));
        TRY(cuda_status(device_event_create_timed(&s->ended[n]), doing, error));
    }
    for (int k = 0; k < PLAN_WORKSPACES; k++) {
        struct device_stream_workspace *w = &s->workspace[k];
        TRY(cuda_status(device_queue_create(&w->stream, QUEUE_FIRST), doing, error));
        TRY(cuda_status(device_queue_create(&w->product, QUEUE_LAST), doing, error));
        TRY(cuda_status(device_event_create(&w->ready), doing, error));
        TRY(cuda_status(device_event_create(&w->done), doing, error));
    }
    for (int k = 0; k < PLAN_SLOTS; k++) {
        TRY(cuda_status(device_event_create(&s->slot[k].arrived), doing, error));
        TRY(cuda_status(device_event_create(&s->slot[k].emptied), doing, error));
    }
    return STATUS_OK;
}

uint64_t device_stream_room(const struct device_stream *s)
{
    uint64_t used = s->used;
    for (int i = 0; i < s->orderings; i++)
        used += s->ordering[i].packed.nsegments * sizeof *s->ordering[i].segment;
    return s->bytes > used ? s->bytes - used : 0;
}

/* Lets as much of every ordering stay on the device as there is room for. */
static enum status keep_batches(struct device_stream *s, struct error *error)
{
    uint64_t room = device_stream_room(s) / (uint64_t)s->orderings;
    for (int i = 0; i < s->orderings; i++)
        device_packed_tensor_drop(&s->ordering[i]);
    for (int i = 0; i < s->orderings; i++)
        TRY(device_packed_tensor_keep(&s->ordering[i], room, error));
    return STATUS_OK;
}

/* Computes each mode from the ordering of its kind, or from alto. */
static void serve_modes(struct device_stream *s)
{
    for (int n = 0; n < s->order; n++) {
        int kind = conflict_traits[s->conflict[n]].ordered ? n : ORDERING_ALTO;
        for (int i = 0; i < s->orderings; i++)
            if (s->ordering[i].packed.kind == kind)
                s->serves[n] = i;
    }
}

enum status device_stream_open(struct device_stream *s, struct packed_tensor *packed, int count,
                               const struct device_stream_request *q, struct error *error)
{
    uint64_t nnz = 0; /* of the largest batch */
    bool sorts = false;
    memset(s, 0, sizeof *s);
    s->order = packed[0].shape.order;
    s->precision = q->precision;
    s->bytes = q->bytes;
    s->batch_nnz = q->batch_nnz;
    s->last_mode = -1;
    memcpy(s->conflict, q->conflict, (size_t)s->order * sizeof *q->conflict);
    memcpy(s->sorted, q->sorted, (size_t)s->order * sizeof *q->sorted);
    if (!decoded_layout_create(&s->layout, &packed[0].shape)) {
        error_set(error, STATUS_MEMORY,
                  "the tensor is too large for the GPU, and its coordinates take too many bits to "
                  "flow through it");
        goto done;
    }
    while (s->orderings < count) {
        const int i = s->orderings++;
        TRY_OR(done, device_packed_tensor_open(&s->ordering[i], &packed[i], &s->layout,
                                               s->batch_nnz, error));
    }
    serve_modes(s);
    for (int i = 0; i < s->orderings; i++) {
        const uint64_t most = device_packed_tensor_nnz(&s->ordering[i], 0);
        nnz = most > nnz ? most : nnz;
    }
    for (int n = 0; n < s->order; n++)
        sorts |= s->sorted[n];
    for (int k = 0; k < PLAN_WORKSPACES; k++) {
        struct device_stream_workspace *w = &s->workspace[k];
        TRY_OR(done, allocate(&w->value, nnz, sizeof(double), &s->used, error));
        for (int i = 0; i < s->layout.words; i++)
            TRY_OR(done, allocate(&w->index[i], nnz, sizeof *w->index[i], &s->used, error));
        if (sorts)
            TRY_OR(done, device_batch_sort_open(&w->sort, nnz, &s->used, error));
    }
    TRY_OR(done, build_slots(s, largest_batch(s), error));
    TRY_OR(done, allocate(&s->damaged, 1, sizeof *s->damaged, &s->used, error));
    TRY_OR(done, cuda_status(cudaMemset(s->damaged, 0, sizeof *s->damaged), doing, error));
    TRY_OR(done, cuda_status(cudaStreamSynchronize(NULL), doing, error));
    TRY_OR(done, keep_batches(s, error));
    open_streams(s, error);
done:
    for (int i = s->orderings; i < count; i++)
        packed_tensor_free(&packed[i]);
    if (error->status != STATUS_OK)
        device_stream_close(s);
    return error->status;
}

enum status device_stream_adopt(struct device_stream *s, struct packed_tensor *replica,
                                struct error *error)
{
    struct device_packed_tensor *o = &s->ordering[s->orderings++];
    int mode = replica->kind;
    TRY_OR(done, device_packed_tensor_open(o, replica, &s->layout, s->batch_nnz, error));
    if (largest_batch(s) > s->slot_bytes)
        TRY_OR(done, build_slots(s, largest_batch(s), error));
    o->checked = true;
    s->ahead = false;
    s->conflict[mode] = CONFLICT_ORDERED;
    s->sorted[mode] = false;
    serve_modes(s);
done:
    if (error->status != STATUS_OK) {
        device_packed_tensor_close(o);
        s->orderings--;
    }
    return error->status;
}

enum status device_stream_rearrange(struct device_stream *s, struct error *error)
{
    for (int i = s->orderings - 1; i >= 0; i--) {
        bool needed = false;
        for (int n = 0; n < s->order; n++)
            needed |= s->serves[n] == i;
        if (needed)
            continue;
        device_packed_tensor_close(&s->ordering[i]);
        s->ordering[i] = s->ordering[--s->orderings];
        s->ordering[s->orderings] = (struct device_packed_tensor){0};
        serve_modes(s);
    }
    s->ahead = false;
    return keep_batches(s, error);
}

void device_stream_close(struct device_stream *s)
{
    if (s->copy)
        cudaDeviceSynchronize();
    for (int i = 0; i < s->orderings; i++)
        device_packed_tensor_close(&s->ordering[i]);
    for (int k = 0; k < PLAN_SLOTS; k++) {
        device_free(s->slot[k].bytes);
        device_event_destroy(s->slot[k].arrived);
        device_event_destroy(s->slot[k].emptied);
    }
    for (int k = 0; k < PLAN_WORKSPACES; k++) {
        for (int w = 0; w < PACKED_WORDS; w++)
            device_free(s->workspace[k].index[w]);
        device_free(s->workspace[k].value);
        device_batch_sort_close(&s->workspace[k].sort);
        device_event_destroy(s->workspace[k].ready);
        device_event_destroy(s->workspace[k].done);
        device_queue_destroy(s->workspace[k].stream);
        device_queue_destroy(s->workspace[k].product);
    }
    device_free(s->damaged);
    device_event_destroy(s->begun);
    for (int n = 0; n < s->order; n++) {
        device_event_destroy(s->started[n]);
        device_event_destroy(s->ended[n]);
    }
    device_queue_destroy(s->copy);
    memset(s, 0, sizeof *s);
}

/* All batches of an ordering. */
static struct device_stream_batches all_batches(const struct device_stream *s, int ordering)
{
    const struct device_packed_tensor *o = &s->ordering[ordering];
    return (struct device_stream_batches){
        .ordering = ordering, .count = o->nbatches, .resident = o->nresident};
}

static uint64_t number_of(const struct device_stream_batches *batches, uint64_t i)
{
    return batches->number ? batches->number[i] : i;
}

/* Queues copies into every slot, once it is empty: of the pass's next batches, and once all of
 * these are queued, of the first batches of the ordering that is likely to be next. */
static cudaError_t fill_slots(struct device_stream *s, const struct device_stream_pass *pass)
{
    while (s->filled - s->emptied < PLAN_SLOTS) {
        if (s->next < s->flow.count - s->flow.resident) {
            struct device_stream_slot *slot = &s->slot[s->filled++ % PLAN_SLOTS];
            const struct device_packed_tensor *o = &s->ordering[s->flow.ordering];
            const uint64_t b = number_of(&s->flow, s->flow.resident + s->next++);
            CUDA_TRY(cudaStreamWaitEvent(s->copy, slot->emptied, 0));
            CUDA_TRY(cudaMemcpyAsync(slot->bytes, o->packed.bytes + device_packed_tensor_at(o, b),
                                     device_packed_tensor_bytes(o, b), cudaMemcpyHostToDevice,
                                     s->copy));
            CUDA_TRY(cudaEventRecord(slot->arrived, s->copy));
        } else if (!s->ahead && pass->following != DEVICE_STREAM_NOTHING) {
            s->flow = all_batches(s, pass->following);
            s->next = 0;
            s->ahead = true;
        } else {
            break;
        }
    }
    return cudaSuccess;
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

cudaError_t device_stream_workspace_ready(const struct device_stream_workspace *workspace)
{
    return device_queue_follow(workspace->product, workspace->stream, workspace->ready);
}

/* Step t of a pass: batches that stay on the device come evenly between batches that flow, which
 * are decoded from their slots; these are filled again. */
static cudaError_t run_batch(struct device_stream *s, const struct device_stream_pass *pass,
                             const struct device_stream_batches *batches, uint64_t t)
{
    const struct device_packed_tensor *o = &s->ordering[pass->ordering];
    const struct device_stream_workspace *workspace = &s->workspace[t % PLAN_WORKSPACES];
    uint64_t before = t * batches->resident / batches->count, b;
    CUDA_TRY(cudaStreamWaitEvent(workspace->stream, workspace->done, 0));
    if ((t + 1) * batches->resident / batches->count > before) {
        b = number_of(batches, before);
        const uint8_t *bytes =
            o->resident + device_packed_tensor_at(o, b) - device_packed_tensor_at(o, 0);
        CUDA_TRY(decode(s, o, b, bytes, pass->precision, workspace));
    } else {
        struct device_stream_slot *slot = &s->slot[s->emptied % PLAN_SLOTS];
        b = number_of(batches, batches->resident + t - before);
        CUDA_TRY(fill_slots(s, pass));
        CUDA_TRY(cudaStreamWaitEvent(workspace->stream, slot->arrived, 0));
        CUDA_TRY(decode(s, o, b, slot->bytes, pass->precision, workspace));
        CUDA_TRY(cudaEventRecord(slot->emptied, workspace->stream));
        s->emptied++;
        CUDA_TRY(fill_slots(s, pass));
    }
    CUDA_TRY(pass->consume ? pass->consume(pass->context, o, b, workspace)
                           : device_stream_workspace_ready(workspace));
    return cudaEventRecord(workspace->done, workspace->product);
}

cudaError_t device_stream_pass(struct device_stream *s, const struct device_stream_pass *pass,
                               cudaStream_t stream)
{
    const uint64_t resident = s->ordering[pass->ordering].nresident;
    struct device_stream_batches batches = all_batches(s, pass->ordering);
    if (pass->batch) {
        batches.number = pass->batch;
        batches.count = pass->batches;
        for (batches.resident = 0; batches.resident < batches.count; batches.resident++)
            if (batches.number[batches.resident] >= resident)
                break;
    }
    /* slots that hold the first batches of the pass stay as they are; others count as empty */
    if (!s->ahead || s->flow.ordering != batches.ordering || batches.number) {
        s->emptied = s->filled;
        s->flow = batches;
        s->next = 0;
    }
    s->ahead = false;
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
                                 .ordered = conflict_traits[conflict].ordered};
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
    const struct device_stream *stream;
    struct mttkrp_args args;
    bool sorted; /* each batch is sorted by output row first */
};

static cudaError_t run_mttkrp(void *context, const struct device_packed_tensor *o, uint64_t b,
                              const struct device_stream_workspace *workspace)
{
    struct product *product = context;
    struct mttkrp_args *args = &product->args;
    device_stream_batch(o, b, workspace, args);
    if (product->sorted)
        CUDA_TRY(row_sort_launch(&workspace->sort, args, (uint32_t)device_packed_tensor_nnz(o, b),
                                 workspace->stream));
    CUDA_TRY(device_stream_workspace_ready(workspace));
    if (product->stream->terms) {
        struct residual_args terms = *product->stream->terms;
        device_stream_batch(o, b, workspace, &terms.mttkrp);
        CUDA_TRY(residual_terms(&terms, workspace->value, workspace->product));
    }
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
    struct product product = {.stream = s, .sorted = s->sorted[mode]};
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
    TRY(cuda_status(mttkrp_zero(args, stream), multiplying, error));
    TRY(cuda_status(device_stream_pass(s, &pass, stream), multiplying, error));
    TRY(cuda_status(mttkrp_merge_copies(args, stream), multiplying, error));
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
    device_stream_batch(o, b, workspace, &m->args.mttkrp);
    CUDA_TRY(device_stream_workspace_ready(workspace));
    if (m->args.components)
        return residual_components(&m->args, workspace->product);
    return residual_nonzeros(&m->args,
                             m->sum + (workspace - m->stream->workspace) * RESIDUAL_BLOCKS,
                             workspace->product);
}

/* From the ordering that the next iteration begins with. */
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
    return cuda_status(device_stream_pass(s, &pass, stream), "the residual of a streamed tensor",
                       error);
}
