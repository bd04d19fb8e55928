/* Coordinates encoded and decoded bit by bit, one nonzero at a time, as the comment at the top of
 * ordering.h says. */
#pragma once

#include <string.h>

#include "tensor/blco.h"

/* Writes the line of coordinates (order) to line[0..ceil(B/64)), least significant word first. */
static inline void encode_line(const struct ordering *o, const uint32_t *coordinate, uint64_t *line)
{
    memset(line, 0, (size_t)(o->line_bits + 63) / 64 * sizeof *line);
    for (int n = 0; n < o->order; n++) {
        for (int k = 0; k < o->mode_bits[n]; k++) {
            uint64_t bit = (coordinate[n] >> k) & 1;
            line[o->place[n][k] / 64] |= bit << (o->place[n][k] % 64);
        }
    }
}

static inline void decode_index(const struct ordering *o, const uint64_t *index,
                                const uint32_t *base, uint32_t *coordinate)
{
    for (int n = 0; n < o->order; n++) {
        const struct field *f = &o->field[n];
        coordinate[n] = base[n] | (uint32_t)((index[f->word] >> f->shift) & f->mask);
    }
}

/* Those of nonzero i, which lies in block number `block`. */
static inline void decode_nonzero(const struct blco *b, uint64_t block, uint64_t i,
                                  uint32_t *coordinate)
{
    uint64_t index[2] = {b->index[0][i], b->index[1] ? b->index[1][i] : 0};
    decode_index(&b->ordering, index, b->block[block].base, coordinate);
}
