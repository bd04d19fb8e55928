#include "formats/blco/blco_sample.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"
#include "tensor/ordering.h"

/* The groups of a file that are decoded. */
struct sampling {
    const struct blco_file *file;
    uint64_t begin, end, every; /* every `every`-th group of segments [begin, end)          */
    uint64_t *place;            /* (end - begin) of a segment's first group among those taken */
    uint64_t groups;            /* that are taken                                           */
    uint32_t *count;            /* (groups) nonzeros of each                                */
    uint8_t *room;              /* blco_file_room; owned, as the arrays                     */
    struct linear_decoder decoder;
    struct coo *x;
};

/* The first group of segment s that is taken. Groups are counted over all segments, as if all
 * segments were full. */
static uint64_t first_group(const struct blco_file *f, uint64_t s, uint64_t every)
{
    uint64_t groups = (f->header->segment_nnz + PACKED_GROUP_NNZ - 1) / PACKED_GROUP_NNZ;
    uint64_t before = s % every * (groups % every) % every;
    return (every - before) % every;
}

/* How many groups of segment s are taken. */
static uint64_t groups_taken(const struct blco_file *f, uint64_t s, uint64_t every)
{
    uint64_t first = first_group(f, s, every), all = f->segment[s].ngroups;
    return first < all ? (all - first + every - 1) / every : 0;
}

/* Reads entry k of the segment's table of groups, and the words of that group, to their places in
 * `bytes`; the decoder checks them. False where they cannot be read, or lie outside. */
static bool read_group(const struct blco_file *f, uint64_t s, uint64_t k, int line_bits,
                       uint8_t *bytes)
{
    const struct blco_file_segment *segment = &f->segment[s];
    const uint64_t stride = blco_group_stride(line_bits), entry = k * stride;
    struct packed_group g;
    struct error unread = {0};
    if (entry + stride > segment->bytes)
        return false;
    if (infile_read(&f->in, bytes + entry, stride, segment->offset + entry, &unread) != STATUS_OK)
        return false;
    segment_group_load(bytes, (uint32_t)k, line_bits, &g, NULL);
    uint64_t words = blco_group_words(&g) * sizeof(uint32_t);
    if (g.at > segment->bytes || words > segment->bytes - g.at)
        return false;
    return infile_read(&f->in, bytes + g.at, words, segment->offset + g.at, &unread) == STATUS_OK;
}

/* Decodes the groups of segment s to x, each from a multiple of PACKED_GROUP_NNZ on. False where a
 * group is damaged. */
static bool take_groups(const struct sampling *w, uint64_t s)
{
    const struct blco_file *f = w->file;
    const struct blco_file_segment *segment = &f->segment[s];
    uint8_t *bytes = w->room + (uint64_t)omp_get_thread_num() * f->most_bytes;
    uint64_t to = w->place[s - w->begin];
    for (uint64_t k = first_group(f, s, w->every); k < segment->ngroups; k += w->every, to++) {
        if (!read_group(f, s, k, w->decoder.line_bits, bytes))
            return false;
        w->count[to] = segment_unpack_group(&w->decoder, bytes, segment, (uint32_t)k, w->x,
                                            to * PACKED_GROUP_NNZ);
        if (w->count[to] == 0)
            return false;
    }
    return true;
}

/* Closes the gaps after groups that are not full. */
static void close_gaps(struct coo *x, const uint32_t *count, uint64_t groups)
{
    uint64_t to = 0;
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t from = g * PACKED_GROUP_NNZ;
        for (int n = 0; n < x->shape.order && to < from; n++)
            memmove(x->index[n] + to, x->index[n] + from, count[g] * sizeof *x->index[n]);
        if (to < from)
            memmove(x->value + to, x->value + from, count[g] * sizeof *x->value);
        to += count[g];
    }
    x->nnz = to;
}

static enum status take_all(const struct sampling *w, struct error *error)
{
    uint64_t bad = UINT64_MAX;
#pragma omp parallel for schedule(dynamic, 16) reduction(min : bad)
    for (uint64_t s = w->begin; s < w->end; s++)
        if (!take_groups(w, s) && s < bad)
            bad = s;
    return bad < UINT64_MAX ? blco_file_damaged(w->file, bad, error) : STATUS_OK;
}

static enum status sampling_open(struct sampling *w, struct error *error)
{
    const struct blco_file *f = w->file;
    struct ordering alto;
    w->place = memory_array(w->end - w->begin, sizeof *w->place, error);
    if (!w->place)
        return error->status;
    for (uint64_t s = w->begin; s < w->end; s++) {
        w->place[s - w->begin] = w->groups;
        w->groups += groups_taken(f, s, w->every);
    }
    w->count = memory_array(w->groups, sizeof *w->count, error);
    w->room = blco_file_room(f, error);
    TRY(error->status);
    ordering_create(&alto, ORDERING_ALTO, &f->shape, 64);
    TRY(linear_decoder_create(&w->decoder, &alto, error));
    return coo_create(w->x, &f->shape, w->groups * PACKED_GROUP_NNZ, error);
}

enum status blco_sample(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                        uint64_t every, struct error *error)
{
    struct sampling w = {.file = f, .begin = begin, .end = end, .every = every, .x = x};
    *x = (struct coo){0};
    TRY_OR(done, sampling_open(&w, error));
    TRY_OR(done, take_all(&w, error));
    close_gaps(x, w.count, w.groups);
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    linear_decoder_free(&w.decoder);
    memory_free(w.room);
    memory_free(w.count);
    memory_free(w.place);
    return error->status;
}
