#include "formats/blco/packed_tensor.h"

#include <omp.h>

#include <isa-l/crc64.h>

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
    memory_free(p->segment);
    memory_free(p->bytes);
    *p = (struct packed_tensor){0};
}

struct builder {
    struct packed_tensor *p;
    struct blco sorted;
    struct line_encoder encoder;
    struct coo *piece; /* (threads) the nonzeros of one segment each; owned */
    int threads;
};

/* Packs all segments, or only measures them if p->bytes is not yet allocated. */
static void pack_segments(struct builder *b)
{
    struct packed_tensor *p = b->p;
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (uint64_t s = 0; s < p->nsegments; s++) {
        struct coo *piece = &b->piece[omp_get_thread_num()];
        struct blco_file_segment *segment = &p->segment[s];
        uint32_t count = (uint32_t)packed_tensor_nnz(p, s, s + 1);
        blco_decode(&b->sorted, s * p->segment_nnz, count, piece, 0);
        if (p->bytes) {
            uint64_t offset = segment->offset;
            segment_pack(&b->encoder, piece, 0, count, p->bytes + offset, segment);
            segment->offset = offset;
            segment->crc = crc64_ecma_refl(0, p->bytes + offset, segment->bytes);
        } else {
            segment_pack(&b->encoder, piece, 0, count, NULL, segment);
        }
    }
}

enum status packed_tensor_build(struct packed_tensor *p, const struct coo *x, int kind,
                                uint64_t segment_nnz, struct progress *progress,
                                struct error *error)
{
    struct builder b = {.p = p, .threads = omp_get_max_threads()};
    *p = (struct packed_tensor){.shape = x->shape,
                                .nnz = x->nnz,
                                .kind = kind,
                                .segment_nnz = segment_nnz ? segment_nnz : BLCO_SEGMENT_NNZ};
    p->nsegments = (p->nnz + p->segment_nnz - 1) / p->segment_nnz;
    progress_update(progress, -1, "sorting");
    const struct blco_options options = {.kind = b.p->kind};
    uint64_t room = b.p->nnz < b.p->segment_nnz ? b.p->nnz : b.p->segment_nnz;
    b.p->segment = memory_array(b.p->nsegments, sizeof *b.p->segment, error);
    b.piece = memory_zeros((size_t)b.threads, sizeof *b.piece, error);
    TRY_OR(done, error->status);
    for (int t = 0; t < b.threads; t++)
        TRY_OR(done, coo_create(&b.piece[t], &x->shape, room, error));
    TRY_OR(done, blco_build(&b.sorted, x, &options, error));
    TRY_OR(done, line_encoder_create(&b.encoder, &b.sorted.ordering, error));
    progress_update(progress, -1, "packing");
    pack_segments(&b);
    /* each measured segment gets its offset */
    for (uint64_t s = 0; s < p->nsegments; s++) {
        p->segment[s].offset = p->size;
        p->size += p->segment[s].bytes;
    }
    p->bytes = memory_pages(p->size, error);
    TRY_OR(done, error->status);
    pack_segments(&b);
done:
    for (int t = 0; b.piece && t < b.threads; t++)
        coo_free(&b.piece[t]);
    memory_free(b.piece);
    line_encoder_free(&b.encoder);
    blco_free(&b.sorted);
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

/* Reads the segments and checks each while it is in cache. The error is the first segment's. */
static void read_segments(struct packed_tensor *p, const struct blco_file *f, struct error *error)
{
    uint64_t bad = p->nsegments;
    int line_bits = ordering_line_bits(&p->shape);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t s = 0; s < p->nsegments; s++) {
        struct error own = {0};
        struct blco_file_segment *segment = &p->segment[s];
        *segment = f->segment[s];
        segment->offset -= f->header->data_offset;
        if (blco_file_segment(f, s, line_bits, p->bytes + segment->offset, &own) == STATUS_OK)
            continue;
#pragma omp critical(packed_tensor_error)
        if (s < bad) {
            bad = s;
            *error = own;
        }
    }
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
        if (infile_read(&f->in, p->bytes + s * stride, stride, f->segment[s].offset, &own) !=
            STATUS_OK)
#pragma omp critical(packed_tensor_error)
            *error = own;
    }
done:
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

enum status packed_tensor_load(struct packed_tensor *p, const struct blco_file *f,
                               struct progress *progress, struct error *error)
{
    *p = without_segments(f);
    progress_update(progress, -1, "loading %s", f->name);
    p->segment = memory_array(p->nsegments, sizeof *p->segment, error);
    p->bytes = memory_pages(p->size, error);
    TRY_OR(done, error->status);
    read_segments(p, f, error);
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

/* Segments in memory, or in a file, from which a thread reads one at a time. */
struct segments {
    const struct packed_tensor *p;
    const struct blco_file *f; /* NULL: in memory */
    uint8_t *room;             /* of blco_file_room */
    int line_bits;
};

/* ||X||^2 of segments [begin, end). */
static double chunk_norm_sq(const struct segments *from, uint64_t begin, uint64_t end,
                            struct error *error)
{
    const struct packed_tensor *p = from->p;
    double sum = 0;
    for (uint64_t s = begin; s < end; s++) {
        const uint8_t *bytes = p->bytes + p->segment[s].offset;
        if (from->f) {
            uint8_t *room = from->room + (uint64_t)omp_get_thread_num() * from->f->most_bytes;
            if (blco_file_segment(from->f, s, from->line_bits, room, error) != STATUS_OK)
                return 0;
            bytes = room;
        }
        sum += segment_norm_sq(bytes, p->segment[s].ngroups, from->line_bits);
    }
    return sum;
}

static double norm_sq(const struct segments *from, struct error *error)
{
    const struct packed_tensor *p = from->p;
    double partial[NORM_CHUNKS], sum = 0;
    uint64_t length = p->nsegments / NORM_CHUNKS + 1;
#pragma omp parallel for schedule(static)
    for (uint64_t chunk = 0; chunk < NORM_CHUNKS; chunk++) {
        struct error own = {0};
        uint64_t end = (chunk + 1) * length;
        partial[chunk] =
            chunk_norm_sq(from, chunk * length, end < p->nsegments ? end : p->nsegments, &own);
        if (own.status != STATUS_OK)
#pragma omp critical(packed_tensor_error)
            *error = own;
    }
    for (int chunk = 0; chunk < NORM_CHUNKS; chunk++)
        sum += partial[chunk];
    return sum;
}

double packed_tensor_norm_sq(const struct packed_tensor *p)
{
    struct error none = {0};
    const struct segments from = {.p = p, .line_bits = ordering_line_bits(&p->shape)};
    return norm_sq(&from, &none);
}

enum status packed_tensor_file_norm_sq(const struct blco_file *f, double *sum, struct error *error)
{
    struct packed_tensor p = without_segments(f);
    struct segments from = {.p = &p, .f = f, .line_bits = ordering_line_bits(&f->shape)};
    p.segment = (struct blco_file_segment *)f->segment; /* only read */
    from.room = blco_file_room(f, error);
    *sum = from.room ? norm_sq(&from, error) : 0;
    memory_free(from.room);
    return error->status;
}
