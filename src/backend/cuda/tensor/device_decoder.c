#include "backend/cuda/tensor/device_decoder.h"

#include <omp.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/segment_pack.h"

_Static_assert(DEVICE_DECODER_NNZ >= BLCO_SEGMENT_NNZ, "a segment is decoded at a time");

static const char doing[] = "decoding the tensor on the GPU";

static enum status take(struct device_decoder *d, uint64_t room, struct error *error)
{
    const struct device_pool *pool = d->pool;
    d->bytes = device_pool_take(pool, d->size > room ? d->size : room, 1, error);
    if (!d->bytes)
        return error->status;
    d->segment = device_pool_take(pool, d->segments, sizeof *d->segment, error);
    d->spread = device_pool_take(pool, 1, sizeof *d->spread, error);
    d->damaged = device_pool_take(pool, 1, sizeof *d->damaged, error);
    return error->status;
}

static enum status fill(struct device_decoder *d, const struct packed_spread *spread,
                        struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    const size_t bytes = d->segments * sizeof *d->host;
    cudaError_t code = cudaMemcpyAsync(d->segment, d->host, bytes, cudaMemcpyHostToDevice, stream);
    TRY(cuda_status(code, doing, error));
    code = cudaMemcpyAsync(d->spread, spread, sizeof *spread, cudaMemcpyHostToDevice, stream);
    TRY(cuda_status(code, doing, error));
    code = cudaMemsetAsync(d->damaged, 0, sizeof *d->damaged, stream);
    TRY(cuda_status(code, doing, error));
    return cuda_status(cudaStreamSynchronize(stream), doing, error); /* `spread` is the caller's */
}

enum status device_decoder_open(struct device_decoder *d, uint64_t room, struct error *error)
{
    struct packed_spread spread;
    d->at_once = DEVICE_DECODER_NNZ / d->file->header->segment_nnz;
    d->host = memory_array(d->segments, sizeof *d->host, error);
    if (!d->host)
        return error->status;
    for (uint64_t k = 0; k < d->segments; k++) {
        const struct blco_file_segment *s = &d->file->segment[d->number[k]];
        d->host[k] = (struct unpack_segment){d->size, s->ngroups};
        d->size += s->bytes;
    }
    decoded_layout_spread(&spread, &d->layout, ORDERING_ALTO, &d->file->shape);
    TRY(take(d, room, error));
    return fill(d, &spread, error);
}

/* The state of sending the segments. The staging cuts them into parts without regard to segments.
 */
struct sending {
    const struct device_decoder *decoder;
    uint8_t *room; /* (threads x the file's most_bytes): a segment of each thread; owned */
    uint64_t *bad; /* the first segment that is damaged                                  */
    struct error *worst;
};

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

/* device_staging_write: reads and checks the segments that have bytes in this part of the array,
 * and copies these bytes; a segment in two parts is read for both. Parts are handed out in order,
 * and each is checked whatever other threads find, so that always the same damaged segment, the
 * first, is reported. */
static bool copy_checked(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct sending *t = from;
    const struct device_decoder *d = t->decoder;
    uint64_t at = first * BLCO_SEGMENT_ALIGN, end = (first + count) * BLCO_SEGMENT_ALIGN;
    uint64_t k = segment_at(d, at);
    struct error own = {0};
    uint8_t *bytes = t->room + (uint64_t)omp_get_thread_num() * d->file->most_bytes;
    for (char *out = to; at < end; k++) {
        uint64_t within = at - d->host[k].offset;
        uint64_t next = k + 1 < d->segments ? d->host[k + 1].offset : d->size;
        uint64_t some = (next < end ? next : end) - at;
        if (blco_file_segment(d->file, d->number[k], d->layout.line_bits, bytes, &own) != STATUS_OK)
            break;
        memcpy(out, bytes + within, some);
        out += some;
        at += some;
    }
    if (own.status == STATUS_OK)
        return true;
#pragma omp critical(device_decoder_bad)
    if (k < *t->bad) {
        *t->bad = k;
        *t->worst = own;
    }
    return false;
}

enum status device_decoder_send(struct device_decoder *d, struct device_staging *staging,
                                struct error *error)
{
    uint64_t bad = UINT64_MAX;
    struct error worst = {0};
    uint8_t *room = memory_array((uint64_t)staging->most, d->file->most_bytes, error);
    const struct sending t = {d, room, &bad, &worst};
    const struct device_elements bytes = {d->bytes, d->size / BLCO_SEGMENT_ALIGN,
                                          BLCO_SEGMENT_ALIGN};
    if (!room)
        return error->status;
    TRY_OR(done, device_staging_send(staging, &bytes, copy_checked, &t, error));
    if (bad < UINT64_MAX)
        error_set(error, worst.status, "%s", worst.message);
done:
    memory_free(room);
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
    TRY(device_fetch(&mode, d->damaged, sizeof mode, d->pool->stream, doing, error));
    if (mode == 0)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: damaged: a coordinate beyond the length of mode %d",
                     d->file->name, mode);
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
