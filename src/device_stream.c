#include "device_stream.h"

#include <stdio.h>
#include <string.h>

#include "cuda_error.h"
#include "device_memory.h"
#include "memory.h"
#include "ordering.h"
#include "stream_layout.h"

#define ORDERED_CHUNK 1024
#define PAGE          4096

static const char doing[] = "streaming the tensor";

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t chunk_size(const struct flowing *o)
{
    return o->packed.kind == ORDERING_ALTO ? MTTKRP_SORTED_CHUNK : ORDERED_CHUNK;
}

/* Where batch b's bytes begin, or all end, counted from packed.bytes. */
static uint64_t batch_at(const struct flowing *o, uint64_t b)
{
    uint64_t first = b * o->segments;
    if (first < o->packed.nsegments)
        return o->packed.segment[first].offset;
    const struct blco_file_segment *last = &o->packed.segment[o->packed.nsegments - 1];
    return last->offset + last->bytes;
}

static uint64_t batch_bytes(const struct flowing *o, uint64_t b)
{
    return batch_at(o, b + 1) - batch_at(o, b);
}

static uint64_t batch_nnz(const struct flowing *o, uint64_t b)
{
    uint64_t full = o->segments * o->packed.segment_nnz;
    return least(full, o->packed.nnz - b * full);
}

/* Of n nonzeros. */
static enum status build_chunks(struct chunk_table *table, uint64_t n, uint32_t size,
                                struct error *error)
{
    uint64_t count = (n + size - 1) / size;
    struct mttkrp_chunk *chunk = memory_array(count, sizeof *chunk, error);
    table->chunk = chunk ? device_array(count, sizeof *chunk, error) : NULL;
    if (table->chunk) {
        for (uint64_t c = 0; c < count; c++)
            chunk[c] = (struct mttkrp_chunk){.first = c * size,
                                             .count = (uint32_t)least(size, n - c * size)};
        table->count = count;
        cuda_status(cudaMemcpy(table->chunk, chunk, count * sizeof *chunk, cudaMemcpyHostToDevice),
                    doing, error);
    }
    memory_free(chunk);
    return error->status;
}

static enum status build_directory(struct flowing *o, struct error *error)
{
    uint64_t count = o->packed.nsegments;
    struct unpack_segment *segment = memory_zeros(count, sizeof *segment, error);
    o->segment = segment ? device_array(count, sizeof *segment, error) : NULL;
    if (o->segment) {
        for (uint64_t i = 0; i < count; i++) {
            segment[i].offset = o->packed.segment[i].offset;
            segment[i].nblocks = o->packed.segment[i].nblocks;
        }
        cuda_status(
            cudaMemcpy(o->segment, segment, count * sizeof *segment, cudaMemcpyHostToDevice), doing,
            error);
    }
    memory_free(segment);
    return error->status;
}

/* Batches of about `nnz` nonzeros. */
static enum status build_batches(struct flowing *o, uint64_t nnz, struct error *error)
{
    const struct packed *p = &o->packed;
    o->segments = nnz / p->segment_nnz;
    o->segments = o->segments ? least(o->segments, p->nsegments) : 1;
    o->nbatches = (p->nsegments + o->segments - 1) / o->segments;
    if (build_directory(o, error) == STATUS_OK &&
        build_chunks(&o->full, batch_nnz(o, 0), chunk_size(o), error) == STATUS_OK)
        build_chunks(&o->last, batch_nnz(o, o->nbatches - 1), chunk_size(o), error);
    return error->status;
}

/* An array of device memory into *array, a pointer; adds its size to *used. */
static enum status allocate(void *array, uint64_t count, uint64_t size, uint64_t *used,
                            struct error *error)
{
    void *pointer = device_array(count, size, error);
    memcpy(array, &pointer, sizeof pointer);
    *used += count * size;
    return pointer ? STATUS_OK : error->status;
}

/* The slots, and what a batch is decoded to. Adds what they take to *used. */
static enum status build_slots(struct device_stream *s, uint64_t *used, struct error *error)
{
    uint64_t nnz = 0, bytes = 0;
    for (int i = 0; i < s->orderings; i++) {
        const struct flowing *o = &s->flowing[i];
        nnz = batch_nnz(o, 0) > nnz ? batch_nnz(o, 0) : nnz;
        for (uint64_t b = 0; b < o->nbatches; b++)
            bytes = batch_bytes(o, b) > bytes ? batch_bytes(o, b) : bytes;
    }
    enum status status =
        allocate(&s->value, nnz, s->single ? sizeof(float) : sizeof(double), used, error);
    for (int w = 0; w < s->layout.words && status == STATUS_OK; w++)
        status = allocate(&s->index[w], nnz, sizeof *s->index[w], used, error);
    for (int q = 0; q < PLAN_QUEUES && status == STATUS_OK; q++)
        status = allocate(&s->slot[q].bytes, bytes, 1, used, error);
    if (status == STATUS_OK)
        status = allocate(&s->damaged, 1, sizeof *s->damaged, used, error);
    return status == STATUS_OK
               ? cuda_status(cudaMemset(s->damaged, 0, sizeof *s->damaged), doing, error)
               : status;
}

/* As many of the first batches as `bytes` hold go to the device to stay; none where it has less
 * room than was thought. */
static enum status build_resident(struct flowing *o, uint64_t bytes, struct error *error)
{
    uint64_t batches = 0, first = batch_at(o, 0);
    while (batches < o->nbatches && batch_at(o, batches + 1) - first <= bytes)
        batches++;
    bytes = batch_at(o, batches) - first;
    if (batches == 0)
        return STATUS_OK;
    o->resident = device_array(bytes, 1, error);
    if (!o->resident) {
        if (error->status == STATUS_MEMORY)
            *error = (struct error){0};
        return error->status;
    }
    o->nresident = batches;
    return cuda_status(
        cudaMemcpy(o->resident, o->packed.bytes + first, bytes, cudaMemcpyHostToDevice), doing,
        error);
}

/* Lets the copy engine read the host memory that flows by itself. Where that is refused, copies go
 * through the driver's own buffers: slower, but the same. */
static void pin(struct flowing *o)
{
    uint64_t begin = batch_at(o, o->nresident) / PAGE * PAGE, end = batch_at(o, o->nbatches);
    if (o->nresident == o->nbatches || memory_hook_fails())
        return;
    if (cudaHostRegister(o->packed.bytes + begin, end - begin, cudaHostRegisterDefault) ==
        cudaSuccess)
        o->pinned = o->packed.bytes + begin;
    else
        (void)cudaGetLastError();
}

static enum status build_queue(struct device_stream *s, struct error *error)
{
    cudaError_t code = cudaStreamCreateWithFlags(&s->copy, cudaStreamNonBlocking);
    for (int q = 0; q < PLAN_QUEUES; q++) {
        if (code == cudaSuccess)
            code = cudaEventCreateWithFlags(&s->slot[q].arrived, cudaEventDisableTiming);
        if (code == cudaSuccess)
            code = cudaEventCreateWithFlags(&s->slot[q].emptied, cudaEventDisableTiming);
    }
    return cuda_status(code, doing, error);
}

static enum status build(struct device_stream *s, uint64_t batch, uint64_t bytes,
                         struct error *error)
{
    uint64_t used = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < s->orderings && status == STATUS_OK; i++) {
        status = build_batches(&s->flowing[i], batch, error);
        used += s->flowing[i].packed.nsegments * sizeof(struct unpack_segment);
    }
    if (status == STATUS_OK)
        status = build_slots(s, &used, error);
    uint64_t share = bytes > used ? (bytes - used) / (uint64_t)s->orderings : 0;
    for (int i = 0; i < s->orderings && status == STATUS_OK; i++) {
        status = build_resident(&s->flowing[i], share, error);
        if (status == STATUS_OK)
            pin(&s->flowing[i]);
    }
    return status == STATUS_OK ? build_queue(s, error) : status;
}

enum status device_stream_open(struct device_stream *s, struct packed *packed, int count,
                               const enum conflict *conflict, uint64_t batch_nnz_wanted,
                               uint64_t bytes, int single, struct error *error)
{
    memset(s, 0, sizeof *s);
    s->order = packed[0].order;
    s->orderings = count;
    s->single = single;
    s->last_mode = -1;
    memcpy(s->conflict, conflict, (size_t)s->order * sizeof *conflict);
    for (int i = 0; i < count; i++) {
        s->flowing[i].packed = packed[i];
        for (int n = 0; n < s->order; n++)
            if (packed[i].kind == (conflict[n] == CONFLICT_ORDERED ? n : ORDERING_ALTO))
                s->serves[n] = i;
        packed[i] = (struct packed){0};
    }
    enum status status = STATUS_OK;
    if (!stream_layout_create(&s->layout, s->order, s->flowing[0].packed.dims))
        status = error_set(error, STATUS_MEMORY,
                           "the tensor is too large for the GPU, and its coordinates take too many "
                           "bits to flow through it");
    if (status == STATUS_OK)
        status = build(s, batch_nnz_wanted, bytes, error);
    if (status != STATUS_OK)
        device_stream_close(s);
    return status;
}

void device_stream_close(struct device_stream *s)
{
    if (s->copy)
        cudaDeviceSynchronize();
    for (int i = 0; i < s->orderings; i++) {
        struct flowing *o = &s->flowing[i];
        if (o->pinned)
            cudaHostUnregister(o->pinned);
        device_free(o->resident);
        device_free(o->segment);
        device_free(o->full.chunk);
        device_free(o->last.chunk);
        packed_free(&o->packed);
    }
    for (int q = 0; q < PLAN_QUEUES; q++) {
        device_free(s->slot[q].bytes);
        if (s->slot[q].arrived)
            cudaEventDestroy(s->slot[q].arrived);
        if (s->slot[q].emptied)
            cudaEventDestroy(s->slot[q].emptied);
    }
    for (int w = 0; w < PACKED_WORDS; w++)
        device_free(s->index[w]);
    device_free(s->value);
    device_free(s->damaged);
    if (s->copy)
        cudaStreamDestroy(s->copy);
    memset(s, 0, sizeof *s);
}

static uint64_t nflowing(const struct flowing *o)
{
    return o->nbatches - o->nresident;
}

/* The mode that follows: the next one, as in a sweep, or the same where that was asked for twice.
 */
static int expected_mode(const struct device_stream *s, int mode)
{
    return mode == s->last_mode ? mode : (mode + 1) % s->order;
}

/* Queues a copy into the next slot, once it is empty. */
static cudaError_t fill_slot(struct device_stream *s)
{
    struct stream_slot *slot = &s->slot[s->filled++ % PLAN_QUEUES];
    const struct flowing *o = &s->flowing[s->ordering];
    uint64_t b = o->nresident + s->next++;
    cudaError_t code = cudaStreamWaitEvent(s->copy, slot->emptied, 0);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(slot->bytes, o->packed.bytes + batch_at(o, b), batch_bytes(o, b),
                               cudaMemcpyHostToDevice, s->copy);
    return code == cudaSuccess ? cudaEventRecord(slot->arrived, s->copy) : code;
}

/* Gives every slot that is done with something to carry: the next batches of this call's ordering,
 * and when all of them are on their way, the first ones for the call that is likely to follow. */
static cudaError_t fill_slots(struct device_stream *s, int mode)
{
    cudaError_t code = cudaSuccess;
    while (s->filled - s->emptied < PLAN_QUEUES && code == cudaSuccess) {
        if (s->next < nflowing(&s->flowing[s->ordering])) {
            code = fill_slot(s);
        } else if (!s->ahead) {
            s->ordering = s->serves[expected_mode(s, mode)];
            s->next = 0;
            s->ahead = true;
        } else {
            break;
        }
    }
    return code;
}

/* The slots hold the first batches for `mode`, or are to be filled with them. */
static void expect_batches(struct device_stream *s, int mode)
{
    if (!s->ahead || s->ordering != s->serves[mode]) {
        s->emptied = s->filled;
        s->ordering = s->serves[mode];
        s->next = 0;
    }
    s->ahead = false;
}

/* Everything about a mode that is the same for all batches. */
static void set_args(const struct device_stream *s, int mode, const struct device_factors *f,
                     struct mttkrp_args *args)
{
    enum conflict conflict = s->conflict[mode];
    int g = 0;
    *args = (struct mttkrp_args){.index = {s->index[0], s->index[1]},
                                 .value = s->value,
                                 .owned = conflict == CONFLICT_ORDERED,
                                 .path = conflict == CONFLICT_ORDERED  ? MTTKRP_PLAIN
                                         : conflict == CONFLICT_ATOMIC ? MTTKRP_EACH
                                                                       : MTTKRP_SORTED};
    device_mttkrp_output(args, mode, conflict, f);
    for (int n = 0; n < s->order; n++) {
        struct mttkrp_field field = {.word = s->layout.mode[n].word,
                                     .shift = s->layout.mode[n].shift,
                                     .mask = s->layout.mode[n].mask,
                                     .mode = n};
        if (n == mode)
            args->output = field;
        else
            args->gather[g++] = (struct mttkrp_gather){field, f->factor[n]};
    }
}

/* Batch b of an ordering, whose bytes are there. */
static cudaError_t decode(struct device_stream *s, const struct flowing *o, uint64_t b,
                          const uint8_t *bytes, cudaStream_t stream)
{
    struct unpack_args args = {.layout = s->layout,
                               .bytes = bytes,
                               .offset = batch_at(o, b),
                               .segment = o->segment + b * o->segments,
                               .segment_nnz = (uint32_t)o->packed.segment_nnz,
                               .nnz = batch_nnz(o, b),
                               .index = {s->index[0], s->index[1]},
                               .value = s->value,
                               .single = s->single,
                               .damaged = s->damaged};
    return unpack_launch(&args, stream);
}

/* The next batch that flows, number b, from its slot, which takes another one from then on. */
static cudaError_t decode_flowing(struct device_stream *s, int mode, uint64_t b,
                                  cudaStream_t stream)
{
    cudaError_t code = fill_slots(s, mode);
    struct stream_slot *slot = &s->slot[s->emptied % PLAN_QUEUES];
    if (code == cudaSuccess)
        code = cudaStreamWaitEvent(stream, slot->arrived, 0);
    if (code == cudaSuccess)
        code = decode(s, &s->flowing[s->serves[mode]], b, slot->bytes, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(slot->emptied, stream);
    s->emptied++;
    return code == cudaSuccess ? fill_slots(s, mode) : code;
}

/* Batches that are there come evenly between those that flow. */
static cudaError_t run_batches(struct device_stream *s, int mode, struct mttkrp_args *args,
                               cudaStream_t stream)
{
    const struct flowing *o = &s->flowing[s->serves[mode]];
    cudaError_t code = cudaSuccess;
    for (uint64_t t = 0; t < o->nbatches && code == cudaSuccess; t++) {
        uint64_t before = t * o->nresident / o->nbatches, b = before;
        if ((t + 1) * o->nresident / o->nbatches > before) {
            code = decode(s, o, b, o->resident + batch_at(o, b) - batch_at(o, 0), stream);
        } else {
            b = o->nresident + t - before;
            code = decode_flowing(s, mode, b, stream);
        }
        const struct chunk_table *table = b + 1 < o->nbatches ? &o->full : &o->last;
        args->chunk = table->chunk;
        args->chunks = table->count;
        if (code == cudaSuccess)
            code = mttkrp_launch(args, stream);
    }
    return code;
}

/* All batches of an ordering have been decoded once. */
static enum status check(struct device_stream *s, struct flowing *o, cudaStream_t stream,
                         struct error *error)
{
    int mode = 0;
    cudaError_t code =
        cudaMemcpyAsync(&mode, s->damaged, sizeof mode, cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(stream);
    if (mode)
        return error_set(error, STATUS_INPUT,
                         "the tensor is damaged: a coordinate beyond the length of mode %d", mode);
    o->checked = code == cudaSuccess;
    return cuda_status(code, doing, error);
}

enum status device_stream_mttkrp(struct device_stream *s, int mode, const struct device_factors *f,
                                 cudaStream_t stream, struct error *error)
{
    struct flowing *o = &s->flowing[s->serves[mode]];
    struct mttkrp_args args;
    set_args(s, mode, f, &args);
    expect_batches(s, mode);
    cudaError_t code = mttkrp_prepare(&args);
    if (code == cudaSuccess)
        code = device_mttkrp_zero(&args, stream);
    if (code == cudaSuccess)
        code = run_batches(s, mode, &args, stream);
    if (code == cudaSuccess)
        code = device_mttkrp_merge(&args, stream);
    s->last_mode = mode;
    s->ahead = s->ahead && code == cudaSuccess;
    enum status status = cuda_status(code, "MTTKRP of a streamed tensor", error);
    return status == STATUS_OK && !o->checked ? check(s, o, stream, error) : status;
}

uint64_t device_stream_bytes(const struct device_stream *s, int mode)
{
    const struct flowing *o = &s->flowing[s->serves[mode]];
    return batch_at(o, o->nbatches) - batch_at(o, o->nresident);
}

void device_stream_describe(const struct device_stream *s, int mode, char *text, size_t size)
{
    const struct flowing *o = &s->flowing[s->serves[mode]];
    double all = (double)(batch_at(o, o->nbatches) - batch_at(o, 0));
    double resident = all - (double)device_stream_bytes(s, mode);
    snprintf(text, size, "streamed x%u, %.0f %% resident", chunk_size(o), 100 * resident / all);
}
