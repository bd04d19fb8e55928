#include "formats/blco/blco_sample.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"
#include "tensor/ordering.h"

/* The first group of segment s that is taken. Groups are counted over all segments, as if each had
 * as many as most have. */
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
 * `bytes`, where the decoder judges them. False where they cannot be read, or lie outside. */
static bool read_group(const struct blco_file *f, uint64_t s, uint64_t k, uint64_t stride,
                       int line_bits, uint8_t *bytes)
{
    const struct blco_file_segment *segment = &f->segment[s];
    struct packed_group g;
    struct error unread = {0};
    if ((k + 1) * stride > segment->bytes ||
        infile_read(&f->in, bytes + k * stride, stride, segment->offset + k * stride, &unread) !=
            STATUS_OK)
        return false;
    segment_group_load(bytes, (uint32_t)k, line_bits, &g, NULL);
    uint64_t words = blco_group_words(&g) * sizeof(uint32_t);
    return g.at <= segment->bytes && words <= segment->bytes - g.at &&
           infile_read(&f->in, bytes + g.at, words, segment->offset + g.at, &unread) == STATUS_OK;
}

/* Decodes the groups of segment s to x, each from a multiple of PACKED_GROUP_NNZ on; count[i] = the
 * nonzeros of the i-th group that is taken. False where a group is damaged. `bytes` has room for
 * the segment. */
static bool take_groups(const struct blco_file *f, const struct linear_decoder *d, uint64_t s,
                        uint64_t every, uint8_t *bytes, struct coo *x, uint64_t to, uint32_t *count)
{
    const struct blco_file_segment *segment = &f->segment[s];
    uint64_t first = first_group(f, s, every), stride = blco_group_stride(d->line_bits);
    bool good = true;
    for (uint64_t k = first; k < segment->ngroups && good; k += every, to++) {
        good = read_group(f, s, k, stride, d->line_bits, bytes);
        count[to] =
            good ? segment_unpack_group(d, bytes, segment, (uint32_t)k, x, to * PACKED_GROUP_NNZ)
                 : 0;
        good = count[to] > 0;
    }
    return good;
}

/* Closes the gaps behind groups that are not full. */
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

static enum status take_all(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                            uint64_t every, const uint64_t *place, uint32_t *count,
                            struct error *error)
{
    struct ordering alto;
    struct linear_decoder decoder;
    uint64_t bad = UINT64_MAX;
    uint8_t *room = blco_file_room(f, error);
    ordering_create(&alto, ORDERING_ALTO, &f->shape, 64);
    if (!room || linear_decoder_create(&decoder, &alto, error) != STATUS_OK)
        goto end;
#pragma omp parallel for schedule(dynamic, 16) reduction(min : bad)
    for (uint64_t s = begin; s < end; s++)
        if (!take_groups(f, &decoder, s, every,
                         room + (uint64_t)omp_get_thread_num() * f->most_bytes, x, place[s - begin],
                         count) &&
            s < bad)
            bad = s;
    linear_decoder_free(&decoder);
    if (bad < UINT64_MAX)
        blco_file_damaged(f, bad, error);
end:
    memory_free(room);
    return error->status;
}

enum status blco_sample(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                        uint64_t every, struct error *error)
{
    uint64_t *place = memory_array(end - begin, sizeof *place, error), groups = 0;
    *x = (struct coo){0};
    for (uint64_t s = begin; place && s < end; s++) {
        place[s - begin] = groups;
        groups += groups_taken(f, s, every);
    }
    uint32_t *count = place ? memory_array(groups, sizeof *count, error) : NULL;
    if (count && coo_create(x, &f->shape, groups * PACKED_GROUP_NNZ, error) == STATUS_OK) {
        if (take_all(x, f, begin, end, every, place, count, error) == STATUS_OK)
            close_gaps(x, count, groups);
        else
            coo_free(x);
    }
    memory_free(count);
    memory_free(place);
    return error->status;
}
