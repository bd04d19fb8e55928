/* Coordinates decoded one nonzero at a time, as the comment at the top of ordering.h says. */
#ifndef BLCO_DECODED_H
#define BLCO_DECODED_H

#include "tensor/blco.h"

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

#endif
