#include "backend/cuda/runtime/device_staging.h"

#include <omp.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "numerics/launchers.h"

/* A short array is cut so that every thread has some parts, but not into parts so small that
 * starting a copy takes longer than the copy. */
#define SLOT_PARTS    4
#define SMALLEST_PART ((uint64_t)32 << 10) /* bytes */

/* Bytes of an array for each slot that is opened for it: one thread copies and converts so many in
 * less time than pinning another slot takes. */
#define SLOT_WORTH ((uint64_t)1 << 20)

static void close_slot(struct device_staging_slot *slot)
{
    for (int b = 0; b < 2; b++)
        device_event_destroy(slot->moved[b]);
    device_pinned_free(slot->buffer[0]);
    *slot = (struct device_staging_slot){0};
}

static enum status open_slot(struct device_staging *s, struct error *error)
{
    struct device_staging_slot slot = {0};
    slot.buffer[0] = device_pinned_array(2, DEVICE_STAGING_BYTES, error);
    TRY(error->status);
    slot.buffer[1] = slot.buffer[0] + DEVICE_STAGING_BYTES;
    for (int b = 0; b < 2; b++)
        TRY_OR(failed, cuda_status(device_event_create(&slot.moved[b]),
                                   "opening the staging buffers", error));
    s->slot[s->slots++] = slot;
    return STATUS_OK;
failed:
    close_slot(&slot);
    return error->status;
}

enum status device_staging_open(struct device_staging *s, int device, cudaStream_t stream,
                                struct error *error)
{
    memset(s, 0, sizeof *s);
    s->device = device;
    s->stream = stream;
    int threads = omp_get_max_threads();
    s->most = threads < DEVICE_STAGING_SLOTS ? threads : DEVICE_STAGING_SLOTS;
    return open_slot(s, error);
}

/* The state of a transfer, of all threads. */
struct transfer {
    int number; /* of the device */
    cudaStream_t stream;
    char *device;
    uint64_t count, part; /* elements, and those of a part              */
    size_t size;          /* bytes of an element                        */
    uint64_t next;        /* first element that no thread has taken yet */
    int code;             /* the first error                            */
};

static struct transfer begin_transfer(struct device_staging *s, const struct device_elements *e)
{
    const uint64_t most = DEVICE_STAGING_BYTES / e->size, least = SMALLEST_PART / e->size + 1;
    struct error ignored = {0};
    /* as many slots as pay for the array, or as there is memory for */
    while (s->slots < s->most && e->count * e->size / SLOT_WORTH >= (uint64_t)s->slots)
        if (open_slot(s, &ignored) != STATUS_OK)
            s->most = s->slots;
    const uint64_t even = e->count / ((uint64_t)s->slots * SLOT_PARTS);
    const uint64_t part = even > least ? even : least;
    return (struct transfer){.number = s->device,
                             .stream = s->stream,
                             .device = e->array,
                             .count = e->count,
                             .part = part < most ? part : most,
                             .size = e->size};
}

/* The next part into *first and *elements; false where there is none, or a thread has failed. */
static bool take_part(struct transfer *t, uint64_t *first, uint64_t *elements)
{
    if (__atomic_load_n(&t->code, __ATOMIC_RELAXED) != cudaSuccess)
        return false;
    *first = __atomic_fetch_add(&t->next, t->part, __ATOMIC_RELAXED);
    if (*first >= t->count)
        return false;
    *elements = t->count - *first < t->part ? t->count - *first : t->part;
    return true;
}

static void note_error(struct transfer *t, cudaError_t code)
{
    int none = cudaSuccess;
    if (code != cudaSuccess)
        __atomic_compare_exchange_n(&t->code, &none, (int)code, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static cudaError_t move_part(const struct transfer *t, struct device_staging_slot *slot, int b,
                             uint64_t first, uint64_t elements, enum cudaMemcpyKind kind)
{
    char *device = t->device + first * t->size;
    bool up = kind == cudaMemcpyHostToDevice;
    CUDA_TRY(cudaMemcpyAsync(up ? device : slot->buffer[b], up ? slot->buffer[b] : device,
                             elements * t->size, kind, t->stream));
    return cudaEventRecord(slot->moved[b], t->stream);
}

static cudaError_t send_parts(struct transfer *t, struct device_staging_slot *slot,
                              device_staging_write *write, const void *host)
{
    uint64_t first, elements;
    CUDA_TRY(cudaSetDevice(t->number));
    for (int b = 0; take_part(t, &first, &elements); b ^= 1) {
        CUDA_TRY(cudaEventSynchronize(slot->moved[b]));
        if (!write)
            memcpy(slot->buffer[b], (const char *)host + first * t->size, elements * t->size);
        else if (!write(host, first, elements, slot->buffer[b])) {
            __atomic_store_n(&t->next, t->count, __ATOMIC_RELAXED);
            return cudaSuccess;
        }
        CUDA_TRY(move_part(t, slot, b, first, elements, cudaMemcpyHostToDevice));
    }
    return cudaSuccess;
}

/* One part is copied while the previous part is read. */
static cudaError_t fetch_parts(struct transfer *t, struct device_staging_slot *slot,
                               device_staging_read *read, void *host)
{
    uint64_t first, elements, before = 0, waiting = 0;
    CUDA_TRY(cudaSetDevice(t->number));
    for (int b = 0;; b ^= 1) {
        if (!take_part(t, &first, &elements))
            elements = 0;
        if (elements > 0)
            CUDA_TRY(move_part(t, slot, b, first, elements, cudaMemcpyDeviceToHost));
        if (waiting > 0) {
            CUDA_TRY(cudaEventSynchronize(slot->moved[b ^ 1]));
            if (read)
                read(host, before, waiting, slot->buffer[b ^ 1]);
            else
                memcpy((char *)host + before * t->size, slot->buffer[b ^ 1], waiting * t->size);
        }
        if (elements == 0)
            return cudaSuccess;
        before = first;
        waiting = elements;
    }
}

enum status device_staging_send(struct device_staging *s, const struct device_elements *to,
                                device_staging_write *write, const void *host, struct error *error)
{
    struct transfer t = begin_transfer(s, to);
#pragma omp parallel num_threads(s->slots)
    note_error(&t, send_parts(&t, &s->slot[omp_get_thread_num()], write, host));
    return cuda_status((cudaError_t)t.code, "copying to the GPU", error);
}

enum status device_staging_fetch(struct device_staging *s, const struct device_elements *from,
                                 device_staging_read *read, void *host, struct error *error)
{
    struct transfer t = begin_transfer(s, from);
#pragma omp parallel num_threads(s->slots)
    note_error(&t, fetch_parts(&t, &s->slot[omp_get_thread_num()], read, host));
    return cuda_status((cudaError_t)t.code, "copying from the GPU", error);
}

void device_staging_close(struct device_staging *s)
{
    if (s->slots > 0)
        (void)cudaStreamSynchronize(s->stream);
    for (int k = 0; k < s->slots; k++)
        close_slot(&s->slot[k]);
    memset(s, 0, sizeof *s);
}
