#include "tensor/row_range.h"

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

struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to)
{
    int place = o->line_bits - 1;
    while (place >= 0 && bit_of(from, place) == bit_of(to, place))
        place--;
    if (place < 0)
        return range_from(o, mode, from, 0);
    return row_range_both(range_from(o, mode, from, place), range_to(o, mode, to, place));
}
