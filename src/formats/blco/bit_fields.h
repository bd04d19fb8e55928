/* Fields of a few bits, one directly behind the other in 32-bit words, the lowest bit first. */
#ifndef BLCO_BIT_FIELDS_H
#define BLCO_BIT_FIELDS_H

#include <stdint.h>

#include "base/uint128.h"

/* The bits that a number needs. */
static inline int bit_length(uint128 number)
{
    uint64_t high = (uint64_t)(number >> 64), low = (uint64_t)number;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Where fields are written. */
struct field_writer {
    uint32_t *word;
    uint64_t bits; /* that wait, to be the lowest of *word */
    int count;     /* of these, 0 to 31                    */
};

/* The lowest `bits` (1 to 32) bits of a field that has no others. */
static inline void field_write(struct field_writer *w, uint64_t field, int bits)
{
    w->bits |= field << w->count;
    *w->word = (uint32_t)w->bits;
    w->count += bits;
    w->word += w->count >> 5;
    w->bits >>= w->count & 32;
    w->count &= 31;
}

/* After the last field: then every word that has a bit of one is written, and no other. */
static inline void field_flush(struct field_writer *w)
{
    if (w->count > 0)
        *w->word = (uint32_t)w->bits;
}

/* Where bits of a byte of each value are set. */
struct bit_places {
    uint16_t place[256][8]; /* as many as there are, lowest first, and zeros behind them */
    uint8_t count[256];
};

void bit_places_fill(struct bit_places *p);

/* Where bits of words[0..words) are set, into place[]: as many as there are, and up to eight
 * entries behind these are written. */
void bit_places_find(const struct bit_places *restrict p, const uint32_t *restrict word,
                     uint32_t words, uint16_t *place);

/* `count` fields of `bits` (0 to 64) bits, which have no others. */
void fields_pack(const uint64_t *field, uint32_t count, int bits, uint32_t *word);

/* And back. One word behind those of the fields is read as well. */
void fields_unpack(const uint32_t *word, uint32_t count, int bits, uint64_t *field);

#endif
