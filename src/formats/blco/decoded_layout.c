#include "formats/blco/decoded_layout.h"

#include <string.h>

#include "formats/blco/blco_format.h"

bool decoded_layout_create(struct packed_layout *layout, const struct shape *shape)
{
    struct ordering o;
    memset(layout, 0, sizeof *layout);
    ordering_create(&o, ORDERING_ALTO, shape, ordering_line_bits(shape) > 64 ? 128 : 64);
    layout->order = shape->order;
    layout->words = o.words;
    layout->line_bits = o.line_bits;
    layout->stride = (uint32_t)blco_group_stride(o.line_bits);
    for (int n = 0; n < shape->order; n++) {
        layout->mode[n].length = (uint32_t)shape->dims[n];
        layout->mode[n].mask = (uint32_t)o.field[n].mask;
        layout->mode[n].word = (uint8_t)o.field[n].word;
        layout->mode[n].shift = (uint8_t)o.field[n].shift;
    }
    return o.cut == o.line_bits;
}

void decoded_layout_of_line(struct packed_layout *layout, const struct ordering *line,
                            const struct shape *shape)
{
    memset(layout, 0, sizeof *layout);
    layout->order = line->order;
    layout->words = 1;
    layout->line_bits = line->line_bits;
    layout->stride = (uint32_t)blco_group_stride(line->line_bits);
    for (int n = 0; n < line->order; n++) {
        layout->mode[n].length = (uint32_t)shape->dims[n];
        layout->mode[n].mask = (uint32_t)((UINT64_C(1) << line->mode_bits[n]) - 1);
        layout->mode[n].shift = line->mode_bits[n] ? (uint8_t)line->place[n][0] : 0;
    }
}

void decoded_layout_spread(struct packed_spread *spread, const struct packed_layout *layout,
                           int kind, const struct shape *shape)
{
    struct ordering o;
    memset(spread, 0, sizeof *spread);
    ordering_create(&o, kind, shape, 64);
    for (int n = 0; n < o.order; n++)
        for (int k = 0; k < o.mode_bits[n]; k++)
            for (int value = 0; value < 16; value++) /* of four bits of the line */
                if (value >> (o.place[n][k] % 4) & 1)
                    spread->nibble[o.place[n][k] / 4][value][layout->mode[n].word] |=
                        UINT64_C(1) << (layout->mode[n].shift + k);
}
