#include "formats/blco/bit_fields.h"

#include <string.h>

#include "base/vector_clones.h"
#include "numerics/packed_group.h"

void fields_pack(const uint64_t *field, uint32_t count, int bits, uint32_t *word)
{
    struct field_writer w = {.word = word};
    if (bits > 32) {
        for (uint32_t i = 0; i < count; i++) {
            field_write(&w, (uint32_t)field[i], 32);
            field_write(&w, field[i] >> 32, bits - 32);
        }
    } else if (bits > 0) {
        for (uint32_t i = 0; i < count; i++)
            field_write(&w, field[i], bits);
    }
    field_flush(&w);
}

VECTOR_CLONES
void fields_unpack(const uint32_t *word, uint32_t count, int bits, uint64_t *field)
{
    if (bits > 32) {
        for (uint32_t i = 0; i < count; i++)
            field[i] = packed_field(word, i, bits);
        return;
    }
    if (bits == 0) {
        memset(field, 0, count * sizeof *field);
        return;
    }
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = i * (uint32_t)bits;
        uint64_t pair;
        memcpy(&pair, word + from / 32, sizeof pair);
        field[i] = pair >> from % 32 & mask;
    }
}

void bit_places_fill(struct bit_places *p)
{
    memset(p, 0, sizeof *p);
    for (unsigned byte = 0; byte < 256; byte++)
        for (uint16_t bit = 0; bit < 8; bit++)
            if (byte >> bit & 1)
                p->place[byte][p->count[byte]++] = bit;
}

VECTOR_CLONES
void bit_places_find(const struct bit_places *restrict p, const uint32_t *restrict word,
                     uint32_t words, uint16_t *restrict place)
{
    for (uint32_t at = 0; at < 32 * words; at += 8) {
        unsigned byte = word[at / 32] >> at % 32 & 255;
        for (int k = 0; k < 8; k++)
            place[k] = (uint16_t)(p->place[byte][k] + at);
        place += p->count[byte];
    }
}
