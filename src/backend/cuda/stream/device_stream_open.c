/* Opening and closing a stream: its orderings, slots and workspaces, and what stays on the device.
 */
#include "backend/cuda/stream/device_stream.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "formats/blco/decoded_layout.h"
#include "tensor/ordering.h"

enum status device_batch_sort_open(struct row_sort *s, uint64_t nnz, uint64_t *used,
                                   struct error *error)
{
    *s = (struct row_sort){0};
    if (nnz > UINT32_MAX)
        return error_set(error, STATUS_MEMORY, "batches of more than 2^32 nonzeros are not sorted");
    cudaError_t code = row_sort_temporary((uint32_t)nnz, &s->temporary_bytes);
    TRY(cuda_status(code, "sorting", error));
    *used += 2 * nnz * (sizeof *s->row[0] + sizeof *s->position[0]) + s->temporary_bytes;
    for (int i = 0; i < 2; i++) {
        TRY(device_array_into(&s->row[i], nnz, sizeof *s->row[i], error));
        TRY(device_array_into(&s->position[i], nnz, sizeof *s->position[i], error));
    }
    return device_array_into(&s->temporary, s->temporary_bytes, 1, error);
}

void device_batch_sort_close(struct row_sort *s)
{
    for (int i = 0; i < 2; i++) {
        device_free(s->row[i]);
        device_free(s->position[i]);
    }
    device_free(s->temporary);
    *s = (struct row_sort){0};
}

static const char doing[] = "streaming the tensor";

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

/* Workspaces, slots and the flag for damage. */
static enum status build_buffers(struct device_stream *s, struct error *error)
{
    uint64_t nnz = 0;
    bool sorts = false;
    for (int i = 0; i < s->orderings; i++)
        nnz = device_packed_tensor_nnz(&s->ordering[i], 0) > nnz
                  ? device_packed_tensor_nnz(&s->ordering[i], 0)
                  : nnz;
    for (int n = 0; n < s->order; n++)
        sorts |= s->sorted[n];
    for (int k = 0; k < PLAN_WORKSPACES; k++) {
        struct device_stream_workspace *w = &s->workspace[k];
        TRY(allocate(&w->value, nnz, sizeof(double), &s->used, error));
        for (int i = 0; i < s->layout.words; i++)
            TRY(allocate(&w->index[i], nnz, sizeof *w->index[i], &s->used, error));
        if (sorts)
            TRY(device_batch_sort_open(&w->sort, nnz, &s->used, error));
    }
    TRY(build_slots(s, largest_batch(s), error));
    TRY(allocate(&s->damaged, 1, sizeof *s->damaged, &s->used, error));
    TRY(cuda_status(cudaMemset(s->damaged, 0, sizeof *s->damaged), doing, error));
    return cuda_status(cudaStreamSynchronize(NULL), doing, error);
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
        int kind = s->conflict[n] == CONFLICT_ORDERED ? n : ORDERING_ALTO;
        for (int i = 0; i < s->orderings; i++)
            if (s->ordering[i].packed.kind == kind)
                s->serves[n] = i;
    }
}

enum status device_stream_open(struct device_stream *s, struct packed_tensor *packed, int count,
                               const struct device_stream_request *q, struct error *error)
{
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
    TRY_OR(done, build_buffers(s, error));
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

void device_stream_vacate(struct device_stream *s, int ordering)
{
    s->ahead = false; /* the batches in the slots are no longer the first to flow */
    device_packed_tensor_drop(&s->ordering[ordering]);
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
