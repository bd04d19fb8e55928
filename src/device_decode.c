#include "device_decode.h"

#include <string.h>

#include <isa-l/crc64.h>

#include "blco_pack.h"
#include "cuda_error.h"
#include "memory.h"
#include "packed.h"
#include "stream_layout.h"
#include "unpack.h"

static const char doing[] = "decoding the tensor on the GPU";

/* The file on its way. It is cut without regard to segments; with each piece go as many of them to
 * be checked as it is a part of the file. */
struct sending {
    const struct blco_file *file;
    uint64_t units; /* of BLCO_SEGMENT_ALIGN bytes */
    int line_bits;
    uint64_t *bad; /* the first segment that is damaged */
};

__extension__ typedef unsigned __int128 wide;

/* Segments that go with the first `units`. */
static uint64_t segments_with(const struct sending *t, uint64_t units)
{
    return (uint64_t)((wide)t->file->header->nsegments * units / t->units);
}

static bool segment_is_good(const struct sending *t, uint64_t s)
{
    const struct blco_file_segment *segment = &t->file->segment[s];
    const uint8_t *bytes = (const uint8_t *)t->file->map.bytes + segment->offset;
    return crc64_ecma_refl(0, bytes, segment->bytes) == segment->crc &&
           blco_is_sound(bytes, segment, t->line_bits, (uint32_t)blco_file_nnz(t->file, s, s + 1));
}

/* As device_staging.h says. Pieces are handed out in their order, and one that has been is gone
 * through whatever others find, so that the least segment is always the same. */
static bool copy_checked(const void *source, uint64_t first, uint64_t count, void *to)
{
    const struct sending *t = source;
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
                                 struct staging *staging, struct error *error)
{
    const struct blco_file_header *h = f->header;
    uint64_t bad = UINT64_MAX;
    struct sending t = {f, h->data_bytes / BLCO_SEGMENT_ALIGN, line_bits, &bad};
    staging_send(staging, to, t.units, BLCO_SEGMENT_ALIGN, copy_checked, &t, error);
    if (error->status == STATUS_OK && bad < UINT64_MAX)
        error_set(
            error, STATUS_INPUT,
            "%s: damaged: nonzeros from number %ju on are not as its tables and checksums say",
            f->name, (uintmax_t)(bad * h->segment_nnz + 1));
    return error->status;
}

/* What decoding takes beside the nonzeros. */
struct workspace {
    struct unpack_segment *host;    /* (nsegments); owned         */
    struct unpack_segment *segment; /* (nsegments); device, owned */
    struct packed_spread *spread;   /* (1); device, owned         */
    int *damaged;                   /* (1); device, owned         */
    uint8_t *bytes;                 /* device, owned              */
};

static enum status workspace_open(struct workspace *w, const struct device_coo *d,
                                  const struct blco_file *f, const struct packed_spread *spread,
                                  struct error *error)
{
    const struct blco_file_header *h = f->header;
    const struct device_pool *pool = d->pool;
    uint64_t lines = d->nnz * sizeof *d->packed; /* as the sort takes afterwards */
    uint64_t room = h->data_bytes > lines ? h->data_bytes : lines, count = h->nsegments;
    *w = (struct workspace){0};
    w->host = memory_array(count, sizeof *w->host, error);
    if (w->host && (w->bytes = device_pool_take(pool, room, 1, error)) &&
        (w->segment = device_pool_take(pool, count, sizeof *w->segment, error)) &&
        (w->spread = device_pool_take(pool, 1, sizeof *w->spread, error)))
        w->damaged = device_pool_take(pool, 1, sizeof *w->damaged, error);
    if (error->status != STATUS_OK)
        return error->status;
    for (uint64_t s = 0; s < count; s++)
        w->host[s] = (struct unpack_segment){f->segment[s].offset, f->segment[s].ngroups};
    cudaError_t code = cudaMemcpyAsync(w->segment, w->host, count * sizeof *w->host,
                                       cudaMemcpyHostToDevice, pool->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(w->spread, spread, sizeof *spread, cudaMemcpyHostToDevice,
                               pool->stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(w->damaged, 0, sizeof *w->damaged, pool->stream);
    return cuda_status(code, doing, error);
}

/* The host's array is no longer read. */
static void workspace_close(struct workspace *w, const struct device_pool *pool)
{
    device_pool_give(pool, w->bytes);
    device_pool_give(pool, w->segment);
    device_pool_give(pool, w->spread);
    device_pool_give(pool, w->damaged);
    memory_free(w->host);
}

static cudaError_t decode(const struct device_coo *d, const struct blco_file *f,
                          const struct packed_layout *layout, const struct workspace *w)
{
    const struct unpack_args args = {.layout = *layout,
                                     .spread = w->spread,
                                     .bytes = w->bytes,
                                     .offset = f->header->data_offset,
                                     .segment = w->segment,
                                     .segment_nnz = (uint32_t)f->header->segment_nnz,
                                     .nnz = d->nnz,
                                     .index = {d->packed},
                                     .value = d->value,
                                     .damaged = w->damaged};
    return unpack_launch(&args, d->pool->stream);
}

/* Waits, and says what was found. */
static enum status finish(const struct device_coo *d, const struct blco_file *f,
                          const struct workspace *w, struct error *error)
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

/* ||X||^2, from the file. */
static double norm_sq_of(const struct blco_file *f)
{
    const struct blco_file_header *h = f->header;
    struct packed p = {.order = (int)h->order,
                       .nnz = h->nnz,
                       .kind = ORDERING_ALTO,
                       .segment_nnz = h->segment_nnz,
                       .nsegments = h->nsegments,
                       .segment = (struct blco_file_segment *)f->segment,
                       .bytes = (uint8_t *)f->map.bytes};
    memcpy(p.dims, h->dims, (size_t)h->order * sizeof *h->dims);
    return packed_norm_sq(&p);
}

enum status device_coo_decode(struct device_coo *d, const struct blco_file *f, double *norm_sq,
                              struct staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    const struct blco_file_header *h = f->header;
    struct packed_layout layout;
    struct packed_spread spread;
    struct workspace w;
    device_coo_init(d, (int)h->order, h->dims, h->nnz, pool);
    stream_layout_of_line(&layout, &d->line, d->dims);
    stream_layout_spread(&spread, &layout, ORDERING_ALTO, d->dims);
    d->value = device_pool_take(pool, d->nnz, sizeof *d->value, error);
    if (d->value)
        d->packed = device_pool_take(pool, d->nnz, sizeof *d->packed, error);
    enum status status = workspace_open(&w, d, f, &spread, error);
    if (status == STATUS_OK)
        status = send_segments(f, d->line.line_bits, w.bytes, staging, error);
    if (status == STATUS_OK)
        status = cuda_status(decode(d, f, &layout, &w), doing, error);
    if (status == STATUS_OK) {
        *norm_sq = norm_sq_of(f); /* meanwhile */
        status = finish(d, f, &w, error);
    }
    if (status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    workspace_close(&w, pool);
    if (status != STATUS_OK)
        device_coo_free(d);
    return status;
}
