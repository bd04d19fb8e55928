#include "backend/cuda/tensor/device_decoder.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "base/uint128.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/segment_pack.h"

_Static_assert(DEVICE_DECODER_NNZ >= BLCO_SEGMENT_NNZ, "a segment is decoded at a time");

static const char doing[] = "decoding the tensor on the GPU";

static enum status take(struct device_decoder *d, uint64_t room, struct error *error)
{
    const struct device_pool *pool = d->pool;
    if ((d->bytes = device_pool_take(pool, d->size > room ? d->size : room, 1, error)) &&
        (d->segment = device_pool_take(pool, d->segments, sizeof *d->segment, error)) &&
        (d->spread = device_pool_take(pool, 1, sizeof *d->spread, error)))
        d->damaged = device_pool_take(pool, 1, sizeof *d->damaged, error);
    return error->status;
}

static enum status fill(struct device_decoder *d, const struct packed_spread *spread,
                        struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    cudaError_t code = cudaMemcpyAsync(d->segment, d->host, d->segments * sizeof *d->host,
                                       cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(d->spread, spread, sizeof *spread, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(d->damaged, 0, sizeof *d->damaged, stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(stream); /* the caller's spread goes */
    return cuda_status(code, doing, error);
}

enum status device_decoder_open(struct device_decoder *d, const struct blco_file *file,
                                uint64_t *number, uint64_t segments,
                                const struct packed_layout *layout, uint64_t room,
                                const struct device_pool *pool, struct error *error)
{
    struct packed_spread spread;
    *d = (struct device_decoder){.file = file,
                                 .pool = pool,
                                 .layout = *layout,
                                 .number = number,
                                 .segments = segments,
                                 .at_once = DEVICE_DECODER_NNZ / file->header->segment_nnz,
                                 .host = memory_array(segments, sizeof *d->host, error)};
    for (uint64_t k = 0; d->host && k < segments; k++) {
        const struct blco_file_segment *s = &file->segment[number[k]];
        d->host[k] = (struct unpack_segment){d->size, s->ngroups};
        d->size += s->bytes;
    }
    decoded_layout_spread(&spread, layout, ORDERING_ALTO, &file->shape);
    return d->host && take(d, room, error) == STATUS_OK ? fill(d, &spread, error) : error->status;
}

/* The segments while they are sent. The staging cuts them into parts without regard to segments;
 * the thread that sends a part also checks segments, as large a share of them as the part is of
 * all. */
struct sending {
    const struct device_decoder *decoder;
    uint64_t units; /* of BLCO_SEGMENT_ALIGN bytes       */
    uint64_t *bad;  /* the first segment that is damaged */
};

/* Segments that are checked with the first `units`. */
static uint64_t segments_with(const struct sending *t, uint64_t units)
{
    return (uint64_t)((uint128)t->decoder->segments * units / t->units);
}

static const uint8_t *file_bytes(const struct device_decoder *d, uint64_t k)
{
    return (const uint8_t *)d->file->map.bytes + d->file->segment[d->number[k]].offset;
}

static bool segment_is_good(const struct device_decoder *d, uint64_t k)
{
    return blco_file_segment_is_good(d->file, d->number[k], file_bytes(d, k), d->layout.line_bits);
}

/* The decoder's segment with this byte. */
static uint64_t segment_at(const struct device_decoder *d, uint64_t byte)
{
    uint64_t low = 0, high = d->segments;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        *(d->host[middle].offset <= byte ? &low : &high) = middle;
    }
    return low;
}

/* Copies bytes [first, behind) of the segments, which follow each other. */
static void copy_bytes(const struct device_decoder *d, uint64_t first, uint64_t behind, char *to)
{
    for (uint64_t k = segment_at(d, first); first < behind; k++) {
        uint64_t within = first - d->host[k].offset;
        uint64_t end = k + 1 < d->segments ? d->host[k + 1].offset : d->size;
        uint64_t some = (end < behind ? end : behind) - first;
        memcpy(to, file_bytes(d, k) + within, some);
        to += some;
        first += some;
    }
}

/* device_staging_write: copies a part and checks its segments. Parts are handed out in order, and a
 * part that was handed out is checked whatever other threads find, so the first damaged segment
 * that is reported is always the same. */
static bool copy_checked(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct sending *t = from;
    uint64_t k = segments_with(t, first), end = segments_with(t, first + count);
    copy_bytes(t->decoder, first * BLCO_SEGMENT_ALIGN, (first + count) * BLCO_SEGMENT_ALIGN, to);
    while (k < end && segment_is_good(t->decoder, k))
        k++;
    if (k == end)
        return true;
#pragma omp critical(device_decoder_bad)
    *t->bad = k < *t->bad ? k : *t->bad;
    return false;
}

enum status device_decoder_send(struct device_decoder *d, struct device_staging *staging,
                                struct error *error)
{
    uint64_t bad = UINT64_MAX;
    struct sending t = {d, d->size / BLCO_SEGMENT_ALIGN, &bad};
    device_staging_send(staging, d->bytes, t.units, BLCO_SEGMENT_ALIGN, copy_checked, &t, error);
    if (error->status == STATUS_OK && bad < UINT64_MAX)
        blco_file_damaged(d->file, d->number[bad], error);
    return error->status;
}

/* Every segment of the file but the last is full. */
uint64_t device_decoder_nnz(const struct device_decoder *d, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return 0;
    uint64_t last = d->number[end - 1];
    return (end - 1 - begin) * d->file->header->segment_nnz +
           blco_file_nnz(d->file, last, last + 1);
}

enum status device_decoder_unpack(const struct device_decoder *d, uint64_t begin, uint64_t end,
                                  uint64_t *const *word, double *value, struct error *error)
{
    const struct unpack_args args = {.layout = d->layout,
                                     .spread = d->spread,
                                     .bytes = d->bytes,
                                     .segment = d->segment + begin,
                                     .segment_nnz = (uint32_t)d->file->header->segment_nnz,
                                     .nnz = device_decoder_nnz(d, begin, end),
                                     .index = {word[0], word[1]},
                                     .value = value,
                                     .damaged = d->damaged};
    return cuda_status(unpack_launch(&args, d->pool->stream), doing, error);
}

enum status device_decoder_finish(const struct device_decoder *d, struct error *error)
{
    int mode = 0;
    cudaStream_t stream = d->pool->stream;
    cudaError_t code =
        cudaMemcpyAsync(&mode, d->damaged, sizeof mode, cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(stream);
    if (code == cudaSuccess && mode)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: a coordinate beyond the length of mode %d", d->file->name,
                         mode);
    return cuda_status(code, doing, error);
}

void device_decoder_close(struct device_decoder *d)
{
    if (d->pool) {
        device_pool_give(d->pool, d->bytes);
        device_pool_give(d->pool, d->segment);
        device_pool_give(d->pool, d->spread);
        device_pool_give(d->pool, d->damaged);
    }
    memory_free(d->host);
    memory_free(d->number);
    *d = (struct device_decoder){0};
}
