/* Packs the values of a group in the narrowest form (packed_group.h) that gives the same bits when
 * they are unpacked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/uint128.h"
#include "numerics/packed_group.h"

#define VALUE_CODEC_MOST_WHOLE (INT64_C(1) << 53) /* whole numbers up to it are doubles  */
#define VALUE_CODEC_WHOLE_BITS 55                 /* the most bits of a difference of two */

/* Sets the form in which value[0..g->count) take the fewest bits: value_form, value_bits, decimals
 * and least; g->count is 1 or more. Bits decide: -0.0 is not a whole number, and a NaN keeps its
 * payload. */
void value_codec_choose(const double *value, struct packed_group *g);

/* Packs value[0..g->count) in the form that was chosen for them, to
 * packed_field_words(g->count, g->value_bits) words. */
void value_codec_pack(const double *value, const struct packed_group *g, uint32_t *word);

/* Unpacks the values to value[0..g->count). One word after the words of the fields is read too. */
void value_codec_unpack(const uint32_t *word, const struct packed_group *g, double *value);

/* Values that a file may have besides finite numbers that are not 0. */
struct value_kinds {
    bool unknown; /* NaN */
    bool zeros;
};

/* The first of `count` values that is infinite, or that is NaN or zero unless it may be; `count`
 * where there is none. */
uint64_t value_codec_first_bad(const double *value, uint64_t count, struct value_kinds may);

/* --- Reads and writes fields of a few bits that follow each other without a gap in 32-bit words,
 * the lowest bit first. --- */

/* The number of bits of a number, without leading zeros; 0 for 0. */
static inline int bit_length(uint128 number)
{
    uint64_t high = (uint64_t)(number >> 64), low = (uint64_t)number;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* The state of writing fields. */
struct field_writer {
    uint32_t *word;
    uint64_t bits; /* the next bits of *word     */
    int count;     /* their number, 0 to 31      */
};

/* Writes a field of `bits` bits (1 to 32); its higher bits are 0. */
static inline void field_write(struct field_writer *w, uint64_t field, int bits)
{
    w->bits |= field << w->count;
    *w->word = (uint32_t)w->bits;
    w->count += bits;
    w->word += w->count >> 5;
    w->bits >>= w->count & 32;
    w->count &= 31;
}

/* Writes the last word, if it has bits that wait; no other word is written. */
static inline void field_flush(struct field_writer *w)
{
    if (w->count > 0)
        *w->word = (uint32_t)w->bits;
}

/* The places of the set bits of a byte, for each value of the byte. */
struct bit_places {
    uint16_t place[256][8]; /* count[value] of them, lowest first, then zeros */
    uint8_t count[256];
};

void bit_places_fill(struct bit_places *p);

/* Writes the places of the set bits of word[0..words) to place[]: one entry a set bit, and up to
 * eight entries after these are overwritten. */
void bit_places_find(const struct bit_places *restrict p, const uint32_t *restrict word,
                     uint32_t words, uint16_t *place);

/* Packs `count` fields of `bits` bits (0 to 64); their higher bits are 0. */
void fields_pack(const uint64_t *field, uint32_t count, int bits, uint32_t *word);

/* Unpacks `count` fields of `bits` bits. One word after the words of the fields is read too. */
void fields_unpack(const uint32_t *word, uint32_t count, int bits, uint64_t *field);
