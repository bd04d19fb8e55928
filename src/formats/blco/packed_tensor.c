#include "formats/blco/packed_tensor.h"

#include <omp.h>

#include <isa-l/crc64.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/segment_pack.h"
#include "numerics/known_value.h"
#include "tensor/blco.h"

#define NORM_CHUNKS 256 /* of the segments; each is one thread's work */

uint64_t packed_tensor_nnz(const struct packed_tensor *p, uint64_t begin, uint64_t end)
{
    uint64_t first = begin * p->segment_nnz, last = end * p->segment_nnz;
    return (last < p->nnz ? last : p->nnz) - (first < p->nnz ? first : p->nnz);
}

void packed_tensor_free(struct packed_tensor *p)
{
    memory_free(p->segment, p->bytes);
    *p = (struct packed_tensor){0};
}

/* Packs all segments, or only measures them if p->bytes is not yet allocated. A thread decodes the
 * nonzeros of a segment to its `piece`. */
static void pack_segments(struct packed_tensor *p, const struct blco *sorted,
                          const struct line_encoder *encoder, struct coo *piece, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (uint64_t s = 0; s < p->nsegments; s++) {
        struct coo *own = &piece[omp_get_thread_num()];
        struct blco_file_segment *segment = &p->segment[s];
        const uint64_t offset = segment->offset;
        const uint32_t count = (uint32_t)packed_tensor_nnz(p, s, s + 1);
        uint8_t *bytes = p->bytes ? p->bytes + offset : NULL;
        blco_decode(sorted, s * p->segment_nnz, count, own, 0);
        segment_pack(encoder, own, 0, count, bytes, segment);
        if (!bytes)
            continue;
        segment->offset = offset;
        segment->crc = crc64_ecma_refl(0, bytes, segment->bytes);
    }
}

enum status packed_tensor_build(struct packed_tensor *p, const struct coo *x, int kind,
                                uint64_t segment_nnz, struct progress *progress,
                                struct error *error)
{
    const int threads = omp_get_max_threads();
    const struct blco_options options = {.kind = kind};
    struct blco sorted = {0};
    struct line_encoder encoder = {0};
    *p = (struct packed_tensor){.shape = x->shape,
                                .nnz = x->nnz,
                                .kind = kind,
                                .segment_nnz = segment_nnz ? segment_nnz : BLCO_SEGMENT_NNZ};
    p->nsegments = (p->nnz + p->segment_nnz - 1) / p->segment_nnz;
    progress_update(progress, -1, "sorting");
    p->segment = memory_zeros(p->nsegments, sizeof *p->segment, error);
    struct coo *piece = memory_zeros((size_t)threads, sizeof *piece, error); /* of each thread */
    TRY_OR(done, error->status);
    for (int t = 0; t < threads; t++)
        TRY_OR(done, coo_create(&piece[t], &x->shape, least_of(p->nnz, p->segment_nnz), error));
    TRY_OR(done, blco_build(&sorted, x, &options, error));
    TRY_OR(done, line_encoder_create(&encoder, &sorted.ordering, error));
    progress_update(progress, -1, "packing");
    pack_segments(p, &sorted, &encoder, piece, threads);
    /* each measured segment gets its offset */
    for (uint64_t s = 0; s < p->nsegments; s++) {
        p->segment[s].offset = p->size;
        p->size += p->segment[s].bytes;
    }
    p->bytes = memory_pages(p->size, error);
    TRY_OR(done, error->status);
    pack_segments(p, &sorted, &encoder, piece, threads);
done:
    for (int t = 0; piece && t < threads; t++)
        coo_free(&piece[t]);
    memory_free(piece);
    line_encoder_free(&encoder);
    blco_free(&sorted);
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

/* A tensor of the file's shape without the arrays of segments. */
static struct packed_tensor without_segments(const struct blco_file *f)
{
    const struct blco_file_header *h = f->header;
    return (struct packed_tensor){.shape = f->shape,
                                  .nnz = h->nnz,
                                  .kind = ORDERING_ALTO,
                                  .segment_nnz = h->segment_nnz,
                                  .nsegments = h->nsegments,
                                  .size = h->data_bytes};
}

enum status packed_tensor_load_lines(struct packed_tensor *p, const struct blco_file *f,
                                     struct error *error)
{
    const uint64_t stride = blco_group_stride(ordering_line_bits(&f->shape));
    *p = without_segments(f);
    p->size = p->nsegments * stride;
    p->segment = memory_array(p->nsegments, sizeof *p->segment, error);
    p->bytes = memory_array(p->nsegments, stride, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t s = 0; s < p->nsegments; s++) {
        struct error own = {0};
        p->segment[s] = (struct blco_file_segment){.offset = s * stride};
        infile_read(&f->in, p->bytes + s * stride, stride, f->segment[s].offset, &own);
        error_take(error, &own);
    }
done:
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

enum status packed_tensor_load(struct packed_tensor *p, const struct blco_file *f,
                               struct progress *progress, struct error *error)
{
    const int line_bits = ordering_line_bits(&f->shape);
    *p = without_segments(f);
    uint64_t bad = UINT64_MAX; /* the first damaged one; the error is about it */
    progress_update(progress, -1, "loading %s", f->name);
    p->segment = memory_array(p->nsegments, sizeof *p->segment, error);
    p->bytes = memory_pages(p->size, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t s = 0; s < p->nsegments; s++) { /* checks each while it is in cache */
        struct error own = {0};
        struct blco_file_segment *segment = &p->segment[s];
        *segment = f->segment[s];
        segment->offset -= f->header->data_offset;
        blco_file_segment(f, s, line_bits, p->bytes + segment->offset, &own);
        error_take_first(error, &bad, s, &own);
    }
done:
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

static double segment_norm_sq(const uint8_t *bytes, uint32_t groups, int line_bits)
{
    double sum = 0;
    for (uint32_t k = 0; k < groups; k++) {
        struct packed_group g;
        double value[PACKED_GROUP_NNZ];
        segment_group_load(bytes, k, line_bits, &g, NULL);
        segment_group_values(bytes, &g, value);
#pragma omp simd reduction(+ : sum)
        for (uint32_t i = 0; i < g.count; i++) {
            double known = known_value(value[i]);
            sum += known * known;
        }
    }
    return sum;
}

/* *sum = ||X||^2. The segments stand in p->bytes or, where `f` is not NULL, are read from it, each
 * to `room` of blco_file_room. */
static enum status norm_sq(const struct packed_tensor *p, const struct blco_file *f, uint8_t *room,
                           double *sum, struct error *error)
{
    const int line_bits = ordering_line_bits(&p->shape);
    const uint64_t length = p->nsegments / NORM_CHUNKS + 1;
    double partial[NORM_CHUNKS] = {0};
#pragma omp parallel for schedule(static)
    for (uint64_t chunk = 0; chunk < NORM_CHUNKS; chunk++) {
        struct error own = {0};
        const uint64_t end = least_of((chunk + 1) * length, p->nsegments);
        for (uint64_t s = chunk * length; s < end && own.status == STATUS_OK; s++) {
            const uint8_t *bytes = f ? room + (uint64_t)omp_get_thread_num() * f->most_bytes
                                     : p->bytes + p->segment[s].offset;
            if (!f || blco_file_segment(f, s, line_bits, (uint8_t *)bytes, &own) == STATUS_OK)
                partial[chunk] += segment_norm_sq(bytes, p->segment[s].ngroups, line_bits);
        }
        error_take(error, &own);
    }
    *sum = 0;
    for (int chunk = 0; chunk < NORM_CHUNKS; chunk++)
        *sum += partial[chunk];
    return error->status;
}

double packed_tensor_norm_sq(const struct packed_tensor *p)
{
    struct error none = {0};
    double sum;
    norm_sq(p, NULL, NULL, &sum, &none);
    return sum;
}

enum status packed_tensor_file_norm_sq(const struct blco_file *f, double *sum, struct error *error)
{
    struct packed_tensor p = without_segments(f);
    uint8_t *room = blco_file_room(f, error);
    p.segment = (struct blco_file_segment *)f->segment; /* only read */
    *sum = 0;
    if (room)
        norm_sq(&p, f, room, sum, error);
    memory_free(room);
    return error->status;
}
