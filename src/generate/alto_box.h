/* Boxes of places that are ranges of the alto line: the positions of a box agree in their uppermost
 * bits. */
#ifndef BLCO_ALTO_BOX_H
#define BLCO_ALTO_BOX_H

#include <stdbool.h>

#include "generate/alto_keys.h"

struct alto_box {
    int line_bits;             /* free bits of the position                        */
    coordinate_key position;   /* of the first place: the fixed bits, the others 0 */
    uint64_t begin[MAX_ORDER]; /* each mode's first index                          */
    int bits[MAX_ORDER];       /* free bits of each mode's index                   */
};

/* All places of the tensor. */
struct alto_box alto_box_all(const struct alto_keys *line);

/* The box that begins at `position` and has so many free line bits. */
struct alto_box alto_box_at(const struct alto_keys *line, coordinate_key position, int line_bits);

/* The mode of the uppermost free bit of the position; the box must have a free bit. */
int alto_box_next(const struct alto_keys *line, const struct alto_box *box);

/* The half of the box where the uppermost free bit is `bit`. The half is empty if it begins beyond
 * a mode's length. */
struct alto_box alto_box_half(const struct alto_keys *line, const struct alto_box *box, int bit);

/* One more than the last index of a mode, which is below the mode's length. */
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

/* The number of places in the box, at most KEYS_MANY. */
#define KEYS_MANY (UINT64_C(1) << 62)
uint64_t alto_box_places(const struct key_layout *layout, const struct alto_box *box);

#endif
