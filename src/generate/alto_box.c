#include "generate/alto_box.h"

#include <string.h>

struct alto_box alto_box_all(const struct alto_keys *line)
{
    struct alto_box box = {.line_bits = line->alto.line_bits};
    memcpy(box.bits, line->alto.mode_bits, sizeof box.bits);
    return box;
}

int alto_box_next(const struct alto_keys *line, const struct alto_box *box)
{
    int mode = 0;
    while (box->bits[mode] == 0 ||
           line->alto.place[mode][box->bits[mode] - 1] != box->line_bits - 1)
        mode++;
    return mode;
}

struct alto_box alto_box_half(const struct alto_keys *line, const struct alto_box *box, int bit)
{
    struct alto_box half = *box;
    int mode = alto_box_next(line, box);
    half.line_bits--;
    half.bits[mode]--;
    half.position |= (coordinate_key)(unsigned)bit << half.line_bits;
    half.begin[mode] |= (uint64_t)(unsigned)bit << half.bits[mode];
    return half;
}

struct alto_box alto_box_at(const struct alto_keys *line, coordinate_key position, int line_bits)
{
    struct alto_box box = alto_box_all(line);
    while (box.line_bits > line_bits)
        box = alto_box_half(line, &box, (int)(position >> (box.line_bits - 1) & 1));
    return box;
}

uint64_t alto_box_places(const struct key_layout *layout, const struct alto_box *box)
{
    uint64_t places = 1;
    for (int n = 0; n < layout->shape.order; n++)
        if (__builtin_mul_overflow(places, alto_box_end(layout, box, n) - box->begin[n], &places) ||
            places > KEYS_MANY)
            return KEYS_MANY;
    return places;
}
