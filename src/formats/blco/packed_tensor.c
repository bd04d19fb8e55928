#include "formats/blco/packed_tensor.h"

#include <omp.h>

#include <isa-l/crc64.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"
#include "tensor/blco.h"

#define NORM_PORTIONS 256 /* of the segments, each summed by one thread */

uint64_t packed_tensor_nnz(const struct packed_tensor *p, uint64_t begin, uint64_t end)
{
    uint64_t first = begin * p->segment_nnz, behind = end * p->segment_nnz;
    return (behind < p->nnz ? behind : p->nnz) - (first < p->nnz ? first : p->nnz);
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

static void builder_close(struct builder *b)
{
    for (int t = 0; b->piece && t < b->threads; t++)
        coo_free(&b->piece[t]);
    memory_free(b->piece);
    line_encoder_free(&b->encoder);
    blco_free(&b->sorted);
}

static enum status builder_open(struct builder *b, const struct coo *x, struct error *error)
{
    const struct blco_options options = {.kind = b->p->kind};
    uint64_t room = b->p->nnz < b->p->segment_nnz ? b->p->nnz : b->p->segment_nnz;
    b->p->segment = memory_array(b->p->nsegments, sizeof *b->p->segment, error);
    b->piece = memory_zeros((size_t)b->threads, sizeof *b->piece, error);
    for (int t = 0; t < b->threads && error->status == STATUS_OK; t++)
        coo_create(&b->piece[t], &x->shape, room, error);
    if (error->status != STATUS_OK || blco_build(&b->sorted, x, &options, error) != STATUS_OK)
        return error->status;
    return line_encoder_create(&b->encoder, &b->sorted.ordering, error);
}

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
            segment_pack_measure(&b->encoder, piece, 0, count, segment);
        }
    }
}

/* Gives each measured segment its offset and allocates p->bytes. */
static enum status place_segments(struct packed_tensor *p, struct error *error)
{
    for (uint64_t s = 0; s < p->nsegments; s++) {
        p->segment[s].offset = p->size;
        p->size += p->segment[s].bytes;
    }
    p->bytes = memory_pages(p->size, error);
    return error->status;
}

enum status packed_tensor_build(struct packed_tensor *p, const struct coo *x, int kind,
                                uint64_t segment_nnz, struct progress *progress,
                                struct error *error)
{
    struct builder b = {.p = p, .threads = omp_get_max_threads()};
    *p = (struct packed_tensor){.shape.order = x->shape.order,
                                .nnz = x->nnz,
                                .kind = kind,
                                .segment_nnz = segment_nnz ? segment_nnz : BLCO_SEGMENT_NNZ};
    memcpy(p->shape.dims, x->shape.dims, sizeof p->shape.dims);
    p->nsegments = (p->nnz + p->segment_nnz - 1) / p->segment_nnz;
    progress_update(progress, -1, "sorting");
    if (builder_open(&b, x, error) == STATUS_OK) {
        progress_update(progress, -1, "packing");
        pack_segments(&b);
        if (place_segments(p, error) == STATUS_OK)
            pack_segments(&b);
    }
    builder_close(&b);
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

/* Copies the segments and checks each while it is in cache. Returns the first damaged segment, or
 * nsegments. */
static uint64_t copy_segments(struct packed_tensor *p, const struct blco_file *f)
{
    uint64_t bad = p->nsegments;
    int line_bits = ordering_line_bits(&p->shape);
#pragma omp parallel for schedule(dynamic) reduction(min : bad)
    for (uint64_t s = 0; s < p->nsegments; s++) {
        struct blco_file_segment *segment = &p->segment[s];
        *segment = f->segment[s];
        segment->offset -= f->header->data_offset;
        uint8_t *bytes = p->bytes + segment->offset;
        memcpy(bytes, f->map.bytes + f->segment[s].offset, segment->bytes);
        if (!blco_file_segment_is_good(f, s, bytes, line_bits))
            bad = s < bad ? s : bad;
    }
    return bad;
}

struct packed_tensor packed_tensor_of_file(const struct blco_file *f)
{
    const struct blco_file_header *h = f->header;
    return (struct packed_tensor){.shape = f->shape,
                                  .nnz = h->nnz,
                                  .kind = ORDERING_ALTO,
                                  .segment_nnz = h->segment_nnz,
                                  .nsegments = h->nsegments,
                                  .segment = (struct blco_file_segment *)f->segment,
                                  .bytes = (uint8_t *)f->map.bytes,
                                  .size = h->data_bytes};
}

enum status packed_tensor_load(struct packed_tensor *p, const struct blco_file *f,
                               struct progress *progress, struct error *error)
{
    *p = packed_tensor_of_file(f);
    progress_update(progress, -1, "loading %s", f->name);
    p->segment = memory_array(p->nsegments, sizeof *p->segment, error);
    p->bytes = memory_pages(p->size, error);
    if (error->status == STATUS_OK) {
        uint64_t bad = copy_segments(p, f);
        if (bad < p->nsegments)
            blco_file_damaged(f, bad, error);
    }
    if (error->status != STATUS_OK)
        packed_tensor_free(p);
    return error->status;
}

static double segment_norm_sq(const struct packed_tensor *p, uint64_t s, int line_bits)
{
    const uint8_t *bytes = p->bytes + p->segment[s].offset;
    double sum = 0;
    for (uint32_t k = 0; k < p->segment[s].ngroups; k++) {
        struct packed_group g;
        double value[PACKED_GROUP_NNZ];
        segment_group_load(bytes, k, line_bits, &g, NULL);
        segment_group_values(bytes, &g, value);
#pragma omp simd reduction(+ : sum)
        for (uint32_t i = 0; i < g.count; i++)
            sum += value[i] * value[i];
    }
    return sum;
}

double packed_tensor_norm_sq(const struct packed_tensor *p)
{
    double partial[NORM_PORTIONS], sum = 0;
    uint64_t length = p->nsegments / NORM_PORTIONS + 1;
    int line_bits = ordering_line_bits(&p->shape);
#pragma omp parallel for schedule(static)
    for (uint64_t portion = 0; portion < NORM_PORTIONS; portion++) {
        uint64_t end = (portion + 1) * length;
        partial[portion] = 0;
        for (uint64_t s = portion * length; s < (end < p->nsegments ? end : p->nsegments); s++)
            partial[portion] += segment_norm_sq(p, s, line_bits);
    }
    for (int portion = 0; portion < NORM_PORTIONS; portion++)
        sum += partial[portion];
    return sum;
}
