/* The position of a place on the alto line, and the coordinate key of a position: bits are moved a
 * byte at a time. */
#ifndef BLCO_ALTO_KEYS_H
#define BLCO_ALTO_KEYS_H

#include "generate/coordinate_keys.h"
#include "tensor/ordering.h"

struct alto_keys {
    struct ordering alto;
    int mode_bytes[MAX_ORDER], line_bytes;
    /* The bits of the position that byte b of mode n's index sets: position[n][b][byte]. */
    coordinate_key position[MAX_ORDER][sizeof(uint32_t)][256];
    /* The bits of the coordinate key that byte b of the position sets: key[b][byte]. */
    coordinate_key key[sizeof(coordinate_key)][256];
};

/* The layout's keys must have at most KEY_BITS bits. */
void alto_keys_create(struct alto_keys *line, const struct key_layout *layout);

/* The bits of a position that an index of a mode sets. */
static inline coordinate_key alto_keys_position(const struct alto_keys *line, int mode,
                                                uint64_t index)
{
    coordinate_key position = 0;
    for (int b = 0; b < line->mode_bytes[mode]; b++)
        position |= line->position[mode][b][index >> 8 * b & 255];
    return position;
}

/* The coordinate key of the place that stands at a position. */
static inline coordinate_key alto_keys_key(const struct alto_keys *line, coordinate_key position)
{
    coordinate_key key = 0;
    for (int b = 0; b < line->line_bytes; b++)
        key |= line->key[b][(uint8_t)(position >> 8 * b)];
    return key;
}

#endif
