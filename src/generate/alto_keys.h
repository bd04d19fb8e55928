/* Where cells stand on the alto line: their bits moved there and back, a byte at a time. */
#ifndef BLCO_ALTO_KEYS_H
#define BLCO_ALTO_KEYS_H

#include "generate/coordinate_keys.h"
#include "tensor/ordering.h"

struct alto_keys {
    struct ordering alto;
    int mode_bytes[MAX_ORDER], line_bytes;
    coordinate_key place[MAX_ORDER][sizeof(uint32_t)]
                        [256];                        /* what a byte of an index adds to the line */
    coordinate_key cell[sizeof(coordinate_key)][256]; /* what a byte of the line adds to the cell */
};

/* The layout's cells must have up to KEY_BITS bits. */
void alto_keys_create(struct alto_keys *line, const struct key_layout *layout);

/* The bits of an index of a mode on the line. */
static inline coordinate_key alto_keys_place(const struct alto_keys *line, int mode, uint64_t index)
{
    coordinate_key key = 0;
    for (int b = 0; b < line->mode_bytes[mode]; b++)
        key |= line->place[mode][b][index >> 8 * b & 255];
    return key;
}

/* The cell at a place of the line. */
static inline coordinate_key alto_keys_key(const struct alto_keys *line, coordinate_key key)
{
    coordinate_key cell = 0;
    for (int b = 0; b < line->line_bytes; b++)
        cell |= line->cell[b][(uint8_t)(key >> 8 * b)];
    return cell;
}

#endif
