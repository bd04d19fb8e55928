/* Boxes of cells that are ranges of the alto line: its uppermost bits are the same for all. */
#ifndef BLCO_ALTO_BOX_H
#define BLCO_ALTO_BOX_H

#include <stdbool.h>

#include "generate/alto_keys.h"

struct alto_box {
    int line_bits;       /* that are free                                          */
    coordinate_key line; /* the fixed ones, where the box begins                   */
    uint64_t begin[MAX_ORDER];
    int bits[MAX_ORDER]; /* of each mode, that are free */
};

/* All cells of the layout. */
struct alto_box alto_box_all(const struct alto_keys *line);

/* The one that begins at `key` and has so many free line bits. */
struct alto_box alto_box_at(const struct alto_keys *line, coordinate_key key, int line_bits);

/* The mode whose bit is the uppermost free one on the line; there must be one. */
int alto_box_next(const struct alto_keys *line, const struct alto_box *box);

/* The half of the box where the uppermost free bit is `bit`; it has no cells where it begins beyond
 * a mode's length. */
struct alto_box alto_box_half(const struct alto_keys *line, const struct alto_box *box, int bit);

static inline uint64_t alto_box_end(const struct key_layout *layout, const struct alto_box *box,
                                    int mode)
{
    uint64_t end = box->begin[mode] + (UINT64_C(1) << box->bits[mode]);
    return end < layout->shape.dims[mode] ? end : layout->shape.dims[mode];
}

static inline bool alto_box_is_empty(const struct key_layout *layout, const struct alto_box *box)
{
    for (int n = 0; n < layout->shape.order; n++)
        if (box->begin[n] >= layout->shape.dims[n])
            return true;
    return false;
}

/* How many cells are in it; KEYS_MANY where they are more. */
#define KEYS_MANY (UINT64_C(1) << 62)
uint64_t alto_box_cells(const struct key_layout *layout, const struct alto_box *box);

#endif
