#include "backend/cuda/runtime/device_staging.h"

#include <omp.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/page_touch.h"
#include "numerics/launchers.h"

/* An array is cut so that every thread has some parts, but not into parts so small that starting a
 * copy takes longer than the copy. */
#define SLOT_PARTS    4
#define SMALLEST_PART ((uint64_t)32 << 10) /* bytes */

/* From a buffer to the next. In huge pages, buffers that begin at multiples of a power of two meet
 * in the same sets of the caches: 12 GB then took a quarter longer to fetch. */
#define STRIDE (DEVICE_STAGING_BYTES + 4096)

/* The system pins huge pages that threads have touched in an eighth of the time that
 * cudaMallocHost takes, and two GPUs do not wait for each other meanwhile. */
static enum status take_buffers(struct device_staging *s, struct error *error)
{
    const size_t bytes = (size_t)s->slots * 2 * STRIDE;
    struct page_touch pages;
    s->buffers = memory_pages(bytes, error);
    TRY(error->status);
    page_touch_begin(&pages);
    page_touch_add(&pages, s->buffers, bytes);
    page_touch_now(&pages);
    s->pinned = !memory_hook_fails() &&
                cudaHostRegister(s->buffers, bytes, cudaHostRegisterDefault) == cudaSuccess;
    if (!s->pinned)
        (void)cudaGetLastError();
    return STATUS_OK;
}

enum status device_staging_open(struct device_staging *s, int device, cudaStream_t stream,
                                struct error *error)
{
    const int threads = omp_get_max_threads();
    *s = (struct device_staging){.device = device,
                                 .stream = stream,
                                 .slots = threads < DEVICE_STAGING_SLOTS ? threads
                                                                         : DEVICE_STAGING_SLOTS};
    TRY(take_buffers(s, error));
    for (int k = 0; k < s->slots; k++)
        for (int b = 0; b < 2; b++) {
            s->slot[k].buffer[b] = s->buffers + (size_t)(2 * k + b) * STRIDE;
            TRY(cuda_status(device_event_create(&s->slot[k].moved[b]),
                            "opening the staging buffers", error));
        }
    return STATUS_OK;
}

/* The state of a transfer, of all threads. */
struct transfer {
    int number; /* of the device */
    cudaStream_t stream;
    char *device;
    int threads;
    uint64_t count, part; /* elements, and those of a part              */
    size_t size;          /* bytes of an element                        */
    uint64_t next;        /* first element that no thread has taken yet */
    int code;             /* the first error                            */
};

static struct transfer begin_transfer(const struct device_staging *s,
                                      const struct device_elements *e)
{
    const uint64_t most = DEVICE_STAGING_BYTES / e->size, least = SMALLEST_PART / e->size + 1;
    const uint64_t threads = least_of(e->count / (least * SLOT_PARTS) + 1, (uint64_t)s->slots);
    const uint64_t even = e->count / (threads * SLOT_PARTS);
    return (struct transfer){.number = s->device,
                             .stream = s->stream,
                             .device = e->array,
                             .threads = (int)threads,
                             .count = e->count,
                             .part = least_of(even > least ? even : least, most),
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
#pragma omp parallel num_threads(t.threads)
    note_error(&t, send_parts(&t, &s->slot[omp_get_thread_num()], write, host));
    return cuda_status((cudaError_t)t.code, "copying to the GPU", error);
}

enum status device_staging_fetch(struct device_staging *s, const struct device_elements *from,
                                 device_staging_read *read, void *host, struct error *error)
{
    struct transfer t = begin_transfer(s, from);
#pragma omp parallel num_threads(t.threads)
    note_error(&t, fetch_parts(&t, &s->slot[omp_get_thread_num()], read, host));
    return cuda_status((cudaError_t)t.code, "copying from the GPU", error);
}

void device_staging_close(struct device_staging *s)
{
    if (s->buffers)
        (void)cudaStreamSynchronize(s->stream);
    for (int k = 0; k < s->slots; k++)
        for (int b = 0; b < 2; b++)
            device_event_destroy(s->slot[k].moved[b]);
    if (s->pinned)
        (void)cudaHostUnregister(s->buffers);
    memory_free(s->buffers);
    *s = (struct device_staging){0};
}
