#include "backend/cuda/runtime/device_staging.h"

#include <omp.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"

/* A short array is cut so that every thread has some pieces, not so small that starting a copy
 * takes longer than the copy. */
#define LANE_PIECES    4
#define SMALLEST_PIECE ((uint64_t)32 << 10)

enum status device_staging_open(struct device_staging *s, cudaStream_t stream, struct error *error)
{
    memset(s, 0, sizeof *s);
    s->stream = stream;
    int threads = omp_get_max_threads();
    s->lanes = threads < DEVICE_STAGING_SLOTS ? threads : DEVICE_STAGING_SLOTS;
    s->pinned = device_pinned_array((uint64_t)s->lanes * 2, DEVICE_STAGING_BYTES, error);
    if (!s->pinned)
        return error->status;
    for (int b = 0; b < 2 * s->lanes; b++) {
        struct device_staging_slot *lane = &s->lane[b / 2];
        lane->buffer[b % 2] = s->pinned + (size_t)b * DEVICE_STAGING_BYTES;
        cudaError_t code = cudaEventCreateWithFlags(&lane->moved[b % 2], cudaEventDisableTiming);
        if (code != cudaSuccess)
            return cuda_status(code, "opening the staging buffers", error);
    }
    return STATUS_OK;
}

/* What the threads share while an array is moved. */
struct transfer {
    cudaStream_t stream;
    char *device;
    uint64_t count, piece; /* elements, and those of a piece             */
    size_t size;           /* bytes of an element                        */
    uint64_t next;         /* first element that no thread has taken yet */
    int code;              /* the first error                            */
};

/* Elements of a piece. */
static uint64_t piece_of(uint64_t count, size_t size, int lanes)
{
    uint64_t share = count / ((uint64_t)lanes * LANE_PIECES), most = DEVICE_STAGING_BYTES / size;
    uint64_t least = SMALLEST_PIECE / size + 1;
    uint64_t piece = share > least ? share : least;
    return piece < most ? piece : most;
}

static struct transfer transfer_of(const struct device_staging *s, const void *device,
                                   uint64_t count, size_t size)
{
    return (struct transfer){.stream = s->stream,
                             .device = (char *)device,
                             .count = count,
                             .piece = piece_of(count, size, s->lanes),
                             .size = size};
}

/* The next piece into *first and *elements; false where there is none, or a thread has failed. */
static bool take_piece(struct transfer *t, uint64_t *first, uint64_t *elements)
{
    if (__atomic_load_n(&t->code, __ATOMIC_RELAXED) != cudaSuccess)
        return false;
    *first = __atomic_fetch_add(&t->next, t->piece, __ATOMIC_RELAXED);
    if (*first >= t->count)
        return false;
    *elements = t->count - *first < t->piece ? t->count - *first : t->piece;
    return true;
}

static void note_error(struct transfer *t, cudaError_t code)
{
    int none = cudaSuccess;
    if (code != cudaSuccess)
        __atomic_compare_exchange_n(&t->code, &none, (int)code, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static cudaError_t move_piece(const struct transfer *t, struct device_staging_slot *lane, int b,
                              uint64_t first, uint64_t elements, enum cudaMemcpyKind kind)
{
    char *device = t->device + first * t->size;
    bool up = kind == cudaMemcpyHostToDevice;
    cudaError_t code = cudaMemcpyAsync(up ? device : lane->buffer[b], up ? lane->buffer[b] : device,
                                       elements * t->size, kind, t->stream);
    return code == cudaSuccess ? cudaEventRecord(lane->moved[b], t->stream) : code;
}

static cudaError_t send_pieces(struct transfer *t, struct device_staging_slot *lane,
                               device_staging_pack *pack, const void *source)
{
    cudaError_t code = cudaSuccess;
    uint64_t first, elements;
    for (int b = 0; code == cudaSuccess && take_piece(t, &first, &elements); b ^= 1) {
        code = cudaEventSynchronize(lane->moved[b]);
        if (code == cudaSuccess && !pack(source, first, elements, lane->buffer[b])) {
            __atomic_store_n(&t->next, t->count, __ATOMIC_RELAXED);
            break;
        }
        if (code == cudaSuccess)
            code = move_piece(t, lane, b, first, elements, cudaMemcpyHostToDevice);
    }
    return code;
}

/* One piece is on its way while the one before is unpacked. */
static cudaError_t fetch_pieces(struct transfer *t, struct device_staging_slot *lane,
                                device_staging_unpack *unpack, void *target)
{
    cudaError_t code = cudaSuccess;
    uint64_t first, elements, before = 0, waiting = 0;
    for (int b = 0; code == cudaSuccess; b ^= 1) {
        if (!take_piece(t, &first, &elements))
            elements = 0;
        if (elements > 0)
            code = move_piece(t, lane, b, first, elements, cudaMemcpyDeviceToHost);
        if (waiting > 0 && code == cudaSuccess)
            code = cudaEventSynchronize(lane->moved[b ^ 1]);
        if (waiting > 0 && code == cudaSuccess)
            unpack(target, before, waiting, lane->buffer[b ^ 1]);
        if (elements == 0)
            break;
        before = first;
        waiting = elements;
    }
    return code;
}

enum status device_staging_send(struct device_staging *s, void *to, uint64_t count, size_t size,
                                device_staging_pack *pack, const void *source, struct error *error)
{
    struct transfer t = transfer_of(s, to, count, size);
#pragma omp parallel num_threads(s->lanes)
    note_error(&t, send_pieces(&t, &s->lane[omp_get_thread_num()], pack, source));
    return cuda_status((cudaError_t)t.code, "copying to the GPU", error);
}

enum status device_staging_fetch(struct device_staging *s, const void *from, uint64_t count,
                                 size_t size, device_staging_unpack *unpack, void *target,
                                 struct error *error)
{
    struct transfer t = transfer_of(s, from, count, size);
#pragma omp parallel num_threads(s->lanes)
    note_error(&t, fetch_pieces(&t, &s->lane[omp_get_thread_num()], unpack, target));
    return cuda_status((cudaError_t)t.code, "copying from the GPU", error);
}

void device_staging_close(struct device_staging *s)
{
    if (s->pinned)
        (void)cudaStreamSynchronize(s->stream);
    for (int b = 0; b < 2 * DEVICE_STAGING_SLOTS; b++)
        if (s->lane[b / 2].moved[b % 2])
            (void)cudaEventDestroy(s->lane[b / 2].moved[b % 2]);
    device_pinned_free(s->pinned);
    memset(s, 0, sizeof *s);
}
