#include "bit_fields.h"

#include <string.h>

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

void fields_unpack(const uint32_t *word, uint32_t count, int bits, uint64_t *field)
{
    if (bits > 32) {
        for (uint32_t i = 0; i < count; i++)
            field[i] = bits_from(word, i * (uint32_t)bits, bits);
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
