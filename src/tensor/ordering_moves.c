#include "tensor/ordering_moves.h"

#include <string.h>

/* Adds the move of bit `bit` of word `from` to bit `to` of the word that is built. Bits of one word
 * that go the same distance have one move. Calls come in ascending order of `from`. */
static void add_move(struct bit_moves *m, int from, int bit, int to)
{
    int rotation = (to - bit) & 63, i = m->count;
    while (i > 0 && m->move[i - 1].from == from && m->move[i - 1].rotation != rotation)
        i--;
    if (i == 0 || m->move[i - 1].from != from) {
        i = ++m->count;
        m->move[i - 1] = (struct bit_move){0, rotation, from};
    }
    m->move[i - 1].mask |= UINT64_C(1) << to;
}

/* The place of bit k of mode n in the line or index, counted through all words; -1 where the index
 * lacks the bit. */
static int target_bit(const struct ordering *o, enum ordering_target layout, int n, int k)
{
    if (layout == ORDERING_LINE)
        return o->place[n][k];
    const struct field *f = &o->field[n];
    return (f->mask >> k) & 1 ? 64 * f->word + f->shift + k : -1;
}

void ordering_moves_create(struct bit_moves *m, const struct ordering *from,
                           const struct ordering *to, enum ordering_target layout, int word)
{
    m->count = 0;
    for (int n = 0; n < to->order; n++) {
        for (int k = 0; k < to->mode_bits[n]; k++) {
            int target = target_bit(to, layout, n, k);
            if (target < 0 || target / 64 != word)
                continue;
            if (from)
                add_move(m, 0, from->place[n][k], target % 64);
            else
                add_move(m, n, k, target % 64);
        }
    }
}

bool ordering_moves_identity(const struct bit_moves *m, int bits)
{
    uint64_t all = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    return m->count == 0 ? bits == 0
                         : m->count == 1 && m->move[0].rotation == 0 && m->move[0].mask == all;
}

/* A stable sort by the upper bits keeps the order along `from` of nonzeros that agree in the upper
 * bits. That is the order along `to` where the other bits stand in the same order on both lines. */
int ordering_sorted_bits(const struct ordering *from, const struct ordering *to)
{
    uint16_t from_place[MAX_LINE_BITS];
    for (int n = 0; n < to->order; n++)
        for (int k = 0; k < to->mode_bits[n]; k++)
            from_place[to->place[n][k]] = from->place[n][k];

    int bits = 0;
    while (bits < to->line_bits && (bits == 0 || from_place[bits] > from_place[bits - 1]))
        bits++;
    return bits;
}

void ordering_common(struct ordering *o, const struct shape *shape)
{
    int shortest = 0;
    for (int n = 1; n < shape->order; n++)
        if (shape->dims[n] < shape->dims[shortest])
            shortest = n;
    ordering_create(o, shortest, shape, 64);
}

void ordering_natural(struct ordering *o, const struct shape *shape)
{
    memset(o, 0, sizeof *o);
    o->order = shape->order;
    for (int n = shape->order - 1; n >= 0; n--) {
        o->mode_bits[n] = ordering_bits(shape->dims[n]);
        for (int k = 0; k < o->mode_bits[n]; k++)
            o->place[n][k] = (uint16_t)o->line_bits++;
    }
    o->cut = o->line_bits;
}

void ordering_base(const struct ordering *o, const uint64_t *line, uint32_t *base)
{
    for (int n = 0; n < o->order; n++) {
        base[n] = 0;
        for (int k = 0; k < o->mode_bits[n]; k++) {
            int place = o->place[n][k];
            if (place >= o->cut)
                base[n] |= (uint32_t)((line[place / 64] >> (place % 64)) & 1) << k;
        }
    }
}
