#include "generate/alto_keys.h"

#include <string.h>

void alto_keys_create(struct alto_keys *line, const struct key_layout *layout)
{
    memset(line, 0, sizeof *line);
    ordering_create(&line->alto, ORDERING_ALTO, &layout->shape, 64);
    line->line_bytes = (layout->bits + 7) / 8;
    for (int n = 0; n < layout->shape.order; n++) {
        int bits = line->alto.mode_bits[n];
        line->mode_bytes[n] = (bits + 7) / 8;
        for (int k = 0; k < bits; k++) {
            int at = line->alto.place[n][k];
            for (unsigned value = 0; value < 256; value++) {
                line->position[n][k / 8][value] |= (coordinate_key)(value >> k % 8 & 1) << at;
                line->key[at / 8][value] |= (coordinate_key)(value >> at % 8 & 1)
                                            << (layout->shift[n] + k);
            }
        }
    }
}
