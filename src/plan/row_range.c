#include "plan/row_range.h"

#include <string.h>

#include "formats/blco/segment_pack.h"

static int bit_of(const uint64_t *line, int place)
{
    return line[place / 64] >> place % 64 & 1;
}

static bool is_of_mode(const struct ordering *o, int mode, int place)
{
    for (int k = 0; k < o->mode_bits[mode]; k++)
        if (o->place[mode][k] == place)
            return true;
    return false;
}

static uint32_t coordinate_of(const struct ordering *o, int mode, const uint64_t *line)
{
    uint32_t coordinate = 0;
    for (int k = 0; k < o->mode_bits[mode]; k++)
        coordinate |= (uint32_t)bit_of(line, o->place[mode][k]) << k;
    return coordinate;
}

/* The bits of a coordinate that stand at `place` of the line or below. */
static uint32_t bits_up_to(const struct ordering *o, int mode, int place)
{
    uint32_t bits = 0;
    for (int k = 0; k < o->mode_bits[mode]; k++)
        bits |= o->place[mode][k] <= place ? UINT32_C(1) << k : 0;
    return bits;
}

/* The rows of this line and of all larger lines that share its bits from place `above` on. A larger
 * line has a one at some place where this line has a zero, and any bits below that place. */
static struct row_range range_from(const struct ordering *o, int mode, const uint64_t *line,
                                   int above)
{
    uint32_t own = coordinate_of(o, mode, line);
    struct row_range r = {own, own};
    int place = above - 1;
    while (place >= 0 && bit_of(line, place))
        place--;
    r.last |= bits_up_to(o, mode, place); /* a one at the highest zero leaves most bits free */
    while (place >= 0 && (bit_of(line, place) || is_of_mode(o, mode, place)))
        place--;
    r.first &= ~bits_up_to(o, mode, place); /* a one at another mode's place, zeros below */
    return r;
}

/* The rows of this line and of all smaller lines: range_from with zeros and ones exchanged. */
static struct row_range range_to(const struct ordering *o, int mode, const uint64_t *line,
                                 int above)
{
    uint64_t opposite[MAX_LINE_WORDS];
    for (int w = 0; w < (o->line_bits + 63) / 64; w++)
        opposite[w] = ~line[w];
    struct row_range r = range_from(o, mode, opposite, above);
    uint32_t all = bits_up_to(o, mode, o->line_bits);
    return (struct row_range){.first = all ^ r.last, .last = all ^ r.first};
}

static struct row_range both(struct row_range a, struct row_range b)
{
    return (struct row_range){.first = a.first < b.first ? a.first : b.first,
                              .last = a.last > b.last ? a.last : b.last};
}

struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to)
{
    int place = o->line_bits - 1;
    while (place >= 0 && bit_of(from, place) == bit_of(to, place))
        place--;
    if (place < 0)
        return range_from(o, mode, from, 0);
    return both(range_from(o, mode, from, place), range_to(o, mode, to, place));
}

/* The rows on the lines from the first group of segment s to the first group of the next segment.
 * The entry of a group has its first line without the low bits, which may be any. */
static struct row_range range_of_segment(const struct ordering *o, const struct packed_tensor *p,
                                         int mode, uint64_t s)
{
    uint64_t from[MAX_LINE_WORDS], to[MAX_LINE_WORDS];
    struct packed_group g;
    segment_group_load(p->bytes + p->segment[s].offset, 0, o->line_bits, &g, from);
    memset(to, 0xff, sizeof to);
    if (s + 1 < p->nsegments) {
        segment_group_load(p->bytes + p->segment[s + 1].offset, 0, o->line_bits, &g, to);
        for (int place = 0; place < g.low_bits && place < o->line_bits; place++)
            to[place / 64] |= UINT64_C(1) << place % 64;
    }
    return row_range_of_lines(o, mode, from, to);
}

void row_range_of_batches(struct row_range *range, const struct packed_tensor *p, int mode,
                          uint64_t segments)
{
    struct ordering o;
    ordering_create(&o, p->kind, &p->shape, 64);
    uint64_t batches = (p->nsegments + segments - 1) / segments;
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < batches; b++) {
        uint64_t begin = b * segments, end = begin + segments;
        range[b] = range_of_segment(&o, p, mode, begin);
        for (uint64_t s = begin + 1; s < end && s < p->nsegments; s++)
            range[b] = both(range[b], range_of_segment(&o, p, mode, s));
        if (range[b].last >= p->shape.dims[mode])
            range[b].last = (uint32_t)(p->shape.dims[mode] - 1);
    }
}
