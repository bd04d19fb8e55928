/* Where cells stand on the alto line: their bits moved there and back, a byte at a time. */
#ifndef BLCO_ALTO_KEYS_H
#define BLCO_ALTO_KEYS_H

#include "generate/coordinate_keys.h"
#include "tensor/ordering.h"

struct cell_line {
    struct ordering alto;
    int mode_bytes[MAX_ORDER], line_bytes;
    cell_key place[MAX_ORDER][sizeof(uint32_t)][256]; /* what a byte of an index adds to the line */
    cell_key cell[sizeof(cell_key)][256];             /* what a byte of the line adds to the cell */
};

/* The layout's cells must have up to CELL_BITS bits. */
void cell_line_create(struct cell_line *line, const struct cell_layout *layout);

/* The bits of an index of a mode on the line. */
static inline cell_key cell_line_place(const struct cell_line *line, int mode, uint64_t index)
{
    cell_key key = 0;
    for (int b = 0; b < line->mode_bytes[mode]; b++)
        key |= line->place[mode][b][index >> 8 * b & 255];
    return key;
}

/* The cell at a place of the line. */
static inline cell_key cell_line_cell(const struct cell_line *line, cell_key key)
{
    cell_key cell = 0;
    for (int b = 0; b < line->line_bytes; b++)
        cell |= line->cell[b][(uint8_t)(key >> 8 * b)];
    return cell;
}

#endif
