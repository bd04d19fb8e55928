#include "formats/blco/blco_writer.h"

#include <omp.h>

#include <isa-l/crc64.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"

#define SEGMENTS_A_THREAD 4 /* that wait, so that all threads have work until the end */

enum status blco_writer_open(struct blco_writer *w, const char *path, const struct shape *shape,
                             uint64_t memory, struct error *error)
{
    *w = (struct blco_writer){
        .file = {.fd = -1}, .position = BLCO_PAGE, .threads = omp_get_max_threads()};
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, shape, 64);
    w->packed_room = packed_size_at_most(alto.line_bits, BLCO_SEGMENT_NNZ, BLCO_SEGMENT_NNZ);
    w->packed = memory_pages((size_t)w->threads * w->packed_room, error);
    TRY_OR(done, error->status);
    TRY_OR(done, line_encoder_create(&w->alto, &alto, error));
    const uint64_t segment = coo_bytes(shape->order, BLCO_SEGMENT_NNZ);
    const uint64_t most = (uint64_t)w->threads * SEGMENTS_A_THREAD, fit = memory / segment;
    const uint64_t segments = fit < 1 ? 1 : fit < most ? fit : most;
    TRY_OR(done, coo_create(&w->pending, shape, BLCO_SEGMENT_NNZ * segments, error));
    outfile_open(&w->file, path, error);
done:
    if (error->status != STATUS_OK)
        blco_writer_discard(w);
    return error->status;
}

void blco_writer_discard(struct blco_writer *w)
{
    memory_free(w->packed);
    line_encoder_free(&w->alto);
    memory_free(w->segment);
    coo_free(&w->pending);
    outfile_discard(&w->file);
    *w = (struct blco_writer){.file = {.fd = -1}};
}

/* Packs and writes the first nnz nonzeros of x; only the last segment of a file is not full.
 * The position of a segment is known when the segments before it are packed. */
static enum status write_segments(struct blco_writer *w, const struct coo *x, uint64_t nnz,
                                  struct error *error)
{
    uint64_t count = (nnz + BLCO_SEGMENT_NNZ - 1) / BLCO_SEGMENT_NNZ;
    const uint64_t needed = w->nsegments + count;
    if (needed > w->segment_room) {
        TRY(memory_resize(&w->segment, needed + needed / 2, sizeof *w->segment, error));
        w->segment_room = needed + needed / 2;
    }
    const struct coo_listed listed = coo_count_listed(&(struct coo){.nnz = nnz, .value = x->value});
#pragma omp parallel for ordered schedule(dynamic) num_threads(w->threads)
    for (uint64_t s = 0; s < count; s++) {
        uint8_t *bytes = w->packed + (uint64_t)omp_get_thread_num() * w->packed_room;
        struct blco_file_segment *segment = &w->segment[w->nsegments + s];
        struct error own = {0};
        uint64_t begin = s * BLCO_SEGMENT_NNZ, left = nnz - begin;
        uint32_t length = (uint32_t)(left < BLCO_SEGMENT_NNZ ? left : BLCO_SEGMENT_NNZ);
        segment_pack(&w->alto, x, begin, length, bytes, segment);
        segment->crc = crc64_ecma_refl(0, bytes, segment->bytes);
#pragma omp ordered
        {
            segment->offset = w->position;
            w->position += segment->bytes;
        }
        outfile_write_at(&w->file, bytes, segment->bytes, segment->offset, &own);
        error_take(error, &own);
    }
    TRY(error->status);
    w->nsegments += count;
    w->nnz += nnz;
    w->listed.unknown += listed.unknown;
    w->listed.zeros += listed.zeros;
    return STATUS_OK;
}

enum status blco_writer_append(struct blco_writer *w, const struct coo *x, const uint64_t *position,
                               uint64_t count, struct error *error)
{
    uint64_t from = 0;
    if (!position && w->filled == 0) { /* whole segments need not wait */
        from = count / BLCO_SEGMENT_NNZ * BLCO_SEGMENT_NNZ;
        if (from > 0)
            TRY(write_segments(w, x, from, error));
    }
    while (from < count) {
        uint64_t room = w->pending.nnz - w->filled, left = count - from;
        uint64_t taken = left < room ? left : room;
        struct coo *to = &w->pending;
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < taken; i++) {
            uint64_t at = position ? position[from + i] : from + i;
            coo_put(to, w->filled + i, x, at);
        }
        w->filled += taken;
        from += taken;
        if (w->filled < w->pending.nnz) /* the room is a number of whole segments */
            break;
        TRY(write_segments(w, &w->pending, w->filled, error));
        w->filled = 0;
    }
    return STATUS_OK;
}

enum status blco_writer_commit(struct blco_writer *w, uint64_t *bytes, struct error *error)
{
    TRY_OR(done, write_segments(w, &w->pending, w->filled, error));
    struct blco_file_header h = {.byte_order = BLCO_BYTE_ORDER,
                                 .version = BLCO_FORMAT_VERSION,
                                 .nnz = w->nnz,
                                 .segment_nnz = BLCO_SEGMENT_NNZ,
                                 .nsegments = w->nsegments,
                                 .data_offset = BLCO_PAGE,
                                 .order = (uint32_t)w->pending.shape.order,
                                 .unknown = w->listed.unknown,
                                 .zeros = w->listed.zeros,
                                 .dropped = w->listed.dropped};
    memcpy(h.magic, BLCO_MAGIC, BLCO_MAGIC_BYTES);
    memcpy(h.dims, w->pending.shape.dims, (size_t)w->pending.shape.order * sizeof *h.dims);
    /* zeros after the data up to the next page, then the directory */
    static const uint8_t zeros[BLCO_PAGE];
    const uint64_t end = w->position, size = w->nsegments * sizeof *w->segment;
    const uint64_t padding = blco_round_up(end, BLCO_PAGE) - end;
    h.data_bytes = end - BLCO_PAGE;
    h.directory_offset = end + padding;
    h.file_bytes = h.directory_offset + size;
    h.directory_crc =
        crc64_ecma_refl(crc64_ecma_refl(0, zeros, padding), (const uint8_t *)w->segment, size);
    TRY_OR(done, outfile_write_at(&w->file, zeros, padding, end, error));
    TRY_OR(done, outfile_write_at(&w->file, w->segment, size, h.directory_offset, error));
    uint8_t page[BLCO_PAGE] = {0};
    memcpy(page, &h, sizeof h);
    if (w->modes)
        memcpy(page + BLCO_NAMES_OFFSET, w->modes, sizeof *w->modes);
    h.header_crc = crc64_ecma_refl(0, page, sizeof page);
    memcpy(page, &h, sizeof h);
    TRY_OR(done, outfile_write_at(&w->file, page, sizeof page, 0, error));
    outfile_commit(&w->file, error);
    if (bytes)
        *bytes = h.file_bytes;
done:
    blco_writer_discard(w);
    return error->status;
}
