#include "generate/alto_box.h"

#include <string.h>

struct cell_box cell_box_all(const struct cell_line *line)
{
    struct cell_box box = {.line_bits = line->alto.line_bits};
    memcpy(box.bits, line->alto.mode_bits, sizeof box.bits);
    return box;
}

int cell_box_next(const struct cell_line *line, const struct cell_box *box)
{
    int mode = 0;
    while (box->bits[mode] == 0 ||
           line->alto.place[mode][box->bits[mode] - 1] != box->line_bits - 1)
        mode++;
    return mode;
}

struct cell_box cell_box_half(const struct cell_line *line, const struct cell_box *box, int bit)
{
    struct cell_box half = *box;
    int mode = cell_box_next(line, box);
    half.line_bits--;
    half.bits[mode]--;
    half.line |= (cell_key)(unsigned)bit << half.line_bits;
    half.begin[mode] |= (uint64_t)(unsigned)bit << half.bits[mode];
    return half;
}

struct cell_box cell_box_at(const struct cell_line *line, cell_key key, int line_bits)
{
    struct cell_box box = cell_box_all(line);
    while (box.line_bits > line_bits)
        box = cell_box_half(line, &box, (int)(key >> (box.line_bits - 1) & 1));
    return box;
}

uint64_t cell_box_cells(const struct cell_layout *layout, const struct cell_box *box)
{
    uint64_t cells = 1;
    for (int n = 0; n < layout->order; n++)
        if (__builtin_mul_overflow(cells, cell_box_end(layout, box, n) - box->begin[n], &cells) ||
            cells > CELLS_MANY)
            return CELLS_MANY;
    return cells;
}
