#include "backend/cuda/tensor/device_coo.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "base/uint128.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/packed_tensor.h"
#include "formats/blco/segment_pack.h"
#include "kernels/packed/unpack.h"

#define DECODED_NNZ (1 << 22) /* at a time: 16 bytes each wait to become coordinates */

_Static_assert(DECODED_NNZ >= BLCO_SEGMENT_NNZ, "a segment is decoded at a time, at least");

static const char doing[] = "decoding the tensor on the GPU";

/* The file while it is sent. The staging cuts it into parts without regard to segments; the thread
 * that sends a part also checks segments, as large a share of them as the part is of the file. */
struct sending {
    const struct blco_file *file;
    uint64_t units; /* of BLCO_SEGMENT_ALIGN bytes */
    int line_bits;
    uint64_t *bad; /* the first segment that is damaged */
};

/* Segments that are checked with the first `units`. */
static uint64_t segments_with(const struct sending *t, uint64_t units)
{
    return (uint64_t)((uint128)t->file->header->nsegments * units / t->units);
}

static bool segment_is_good(const struct sending *t, uint64_t s)
{
    const uint8_t *bytes = (const uint8_t *)t->file->map.bytes + t->file->segment[s].offset;
    return blco_file_segment_is_good(t->file, s, bytes, t->line_bits);
}

/* device_staging_write: copies a part and checks its segments. Parts are handed out in order, and a
 * part that was handed out is checked whatever other threads find, so the first damaged segment
 * that is reported is always the same. */
static bool copy_checked(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct sending *t = from;
    const uint8_t *data = (const uint8_t *)t->file->map.bytes + t->file->header->data_offset;
    uint64_t s = segments_with(t, first), end = segments_with(t, first + count);
    memcpy(to, data + first * BLCO_SEGMENT_ALIGN, count * BLCO_SEGMENT_ALIGN);
    while (s < end && segment_is_good(t, s))
        s++;
    if (s == end)
        return true;
#pragma omp critical(device_decode_bad)
    *t->bad = s < *t->bad ? s : *t->bad;
    return false;
}

static enum status send_segments(const struct blco_file *f, int line_bits, void *to,
                                 struct device_staging *staging, struct error *error)
{
    const struct blco_file_header *h = f->header;
    uint64_t bad = UINT64_MAX;
    struct sending t = {f, h->data_bytes / BLCO_SEGMENT_ALIGN, line_bits, &bad};
    device_staging_send(staging, to, t.units, BLCO_SEGMENT_ALIGN, copy_checked, &t, error);
    if (error->status == STATUS_OK && bad < UINT64_MAX)
        blco_file_damaged(f, bad, error);
    return error->status;
}

/* What decoding takes beside the nonzeros. */
struct decoder {
    struct packed_layout layout;
    uint64_t segments;              /* that are decoded at a time                          */
    struct unpack_segment *host;    /* (nsegments); owned                                  */
    struct unpack_segment *segment; /* (nsegments); device, owned                          */
    struct packed_spread *spread;   /* (1); device, owned                                  */
    int *damaged;                   /* (1); device, owned                                  */
    uint64_t *word[PACKED_WORDS];   /* (nonzeros decoded at a time) each, where lines have
                                     * more than 64 bits; device, owned                    */
    uint8_t *bytes;                 /* device, owned                                       */
};

static enum status decoder_take(struct decoder *w, const struct device_coo *d,
                                const struct blco_file *f, struct error *error)
{
    const struct blco_file_header *h = f->header;
    const struct device_pool *pool = d->pool;
    uint64_t lines = d->nnz * sizeof *d->line; /* the same size as the sort takes afterwards */
    uint64_t room = h->data_bytes > lines ? h->data_bytes : lines, count = h->nsegments;
    w->segments = DECODED_NNZ / h->segment_nnz;
    w->host = memory_array(count, sizeof *w->host, error);
    if (w->host && (w->bytes = device_pool_take(pool, room, 1, error)) &&
        (w->segment = device_pool_take(pool, count, sizeof *w->segment, error)) &&
        (w->spread = device_pool_take(pool, 1, sizeof *w->spread, error)))
        w->damaged = device_pool_take(pool, 1, sizeof *w->damaged, error);
    for (int i = 0; i < PACKED_WORDS && !d->line && error->status == STATUS_OK; i++)
        w->word[i] =
            device_pool_take(pool, blco_file_nnz(f, 0, w->segments), sizeof *w->word[i], error);
    return error->status;
}

/* Takes the arrays and fills the tables. */
static enum status decoder_open(struct decoder *w, const struct device_coo *d,
                                const struct blco_file *f, const struct packed_spread *spread,
                                struct error *error)
{
    uint64_t count = f->header->nsegments;
    cudaStream_t stream = d->pool->stream;
    if (decoder_take(w, d, f, error) != STATUS_OK)
        return error->status;
    for (uint64_t s = 0; s < count; s++)
        w->host[s] = (struct unpack_segment){f->segment[s].offset, f->segment[s].ngroups};
    cudaError_t code = cudaMemcpyAsync(w->segment, w->host, count * sizeof *w->host,
                                       cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(w->spread, spread, sizeof *spread, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(w->damaged, 0, sizeof *w->damaged, stream);
    return cuda_status(code, doing, error);
}

/* No copy from w->host may be queued. */
static void decoder_close(struct decoder *w, const struct device_pool *pool)
{
    device_pool_give(pool, w->bytes);
    device_pool_give(pool, w->segment);
    device_pool_give(pool, w->spread);
    device_pool_give(pool, w->damaged);
    for (int i = 0; i < PACKED_WORDS; i++)
        device_pool_give(pool, w->word[i]);
    memory_free(w->host);
}

/* Decodes w->segments segments, from number s on. */
static cudaError_t decode_segments(const struct device_coo *d, const struct blco_file *f,
                                   const struct decoder *w, uint64_t s)
{
    uint64_t first = blco_file_nnz(f, 0, s), nnz = blco_file_nnz(f, s, s + w->segments);
    struct unpack_args args = {.layout = w->layout,
                               .spread = w->spread,
                               .bytes = w->bytes,
                               .offset = f->header->data_offset,
                               .segment = w->segment + s,
                               .segment_nnz = (uint32_t)f->header->segment_nnz,
                               .nnz = nnz,
                               .index = {w->word[0], w->word[1]},
                               .value = d->value + first,
                               .damaged = w->damaged};
    struct unpack_coordinates_args split = {
        .layout = w->layout, .index = {w->word[0], w->word[1]}, .nnz = nnz};
    if (d->line) {
        args.index[0] = d->line + first;
        return unpack_launch(&args, d->pool->stream);
    }
    for (int n = 0; n < d->shape.order; n++)
        split.coordinate[n] = d->index[n] + first;
    cudaError_t code = unpack_launch(&args, d->pool->stream);
    return code == cudaSuccess ? unpack_coordinates_launch(&split, d->pool->stream) : code;
}

static enum status decode(const struct device_coo *d, const struct blco_file *f,
                          const struct decoder *w, struct error *error)
{
    cudaError_t code = cudaSuccess;
    for (uint64_t s = 0; s < f->header->nsegments && code == cudaSuccess; s += w->segments)
        code = decode_segments(d, f, w, s);
    return cuda_status(code, doing, error);
}

/* Waits for the decoding. STATUS_INPUT where it found a coordinate beyond its mode. */
static enum status finish(const struct device_coo *d, const struct blco_file *f,
                          const struct decoder *w, struct error *error)
{
    int mode = 0;
    cudaError_t code =
        cudaMemcpyAsync(&mode, w->damaged, sizeof mode, cudaMemcpyDeviceToHost, d->pool->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(d->pool->stream);
    if (code == cudaSuccess && mode)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: a coordinate beyond the length of mode %d", f->name, mode);
    return cuda_status(code, doing, error);
}

/* ||X||^2, on the host, from the file. */
static double norm_sq_of(const struct blco_file *f)
{
    const struct blco_file_header *h = f->header;
    struct packed_tensor p = {.shape = f->shape,
                              .nnz = h->nnz,
                              .kind = ORDERING_ALTO,
                              .segment_nnz = h->segment_nnz,
                              .nsegments = h->nsegments,
                              .segment = (struct blco_file_segment *)f->segment,
                              .bytes = (uint8_t *)f->map.bytes};
    return packed_tensor_norm_sq(&p);
}

/* Takes the arrays of nonzeros, and says how the file is decoded to them. */
static void prepare(struct device_coo *d, struct decoder *w, struct packed_spread *spread,
                    struct error *error)
{
    *w = (struct decoder){0};
    d->value = device_pool_take(d->pool, d->nnz, sizeof *d->value, error);
    if (d->ordering.line_bits <= 64) {
        decoded_layout_of_line(&w->layout, &d->ordering, &d->shape);
        if (d->value)
            d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
    } else {
        (void)decoded_layout_create(&w->layout, &d->shape);
        for (int n = 0; n < d->shape.order && error->status == STATUS_OK; n++)
            d->index[n] = device_pool_take(d->pool, d->nnz, sizeof *d->index[n], error);
    }
    decoded_layout_spread(spread, &w->layout, ORDERING_ALTO, &d->shape);
}

enum status device_coo_decode(struct device_coo *d, const struct blco_file *f, double *norm_sq,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    const struct blco_file_header *h = f->header;
    struct packed_spread spread;
    struct decoder w;
    device_coo_init(d, &f->shape, h->nnz, pool);
    prepare(d, &w, &spread, error);
    if (error->status == STATUS_OK)
        decoder_open(&w, d, f, &spread, error);
    if (error->status == STATUS_OK)
        send_segments(f, d->ordering.line_bits, w.bytes, staging, error);
    if (error->status == STATUS_OK)
        decode(d, f, &w, error);
    if (error->status == STATUS_OK) {
        *norm_sq = norm_sq_of(f); /* while the device decodes */
        finish(d, f, &w, error);
    }
    if (error->status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    decoder_close(&w, pool);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
