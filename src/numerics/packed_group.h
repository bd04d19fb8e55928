/* Reading packed nonzeros, the same code on the host and on the device: the bytes of a .blco file's
 * segments (blco-file(5)), group after group.
 *
 * A group is at most PACKED_GROUP_NNZ consecutive nonzeros. Their lines ascend; each is the line of
 * the group's entry plus a number that is stored in two parts (Elias and Fano): its lowest low_bits
 * bits as they are, and the bits above them, `upper`, in a bit vector in which bit upper_i + i is
 * set for nonzero i. That takes less than two bits a nonzero more than the logarithm of the mean
 * gap between neighbours.
 *
 * The group's bytes are 32-bit words: fields of low_bits bits, from the lowest bit of the first
 * word on; from the next whole word on the values' fields of value_bits bits; from the next whole
 * word on the bit vector of upper_words words. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "numerics/common_function.h"
#include "numerics/max_order.h"

#define PACKED_GROUP_NNZ   256
#define PACKED_UPPER_WORDS 32  /* of a bit vector at most: one for each lane of a warp         */
#define PACKED_NUMBER_BITS 128 /* below which lines of one group differ                        */
#define PACKED_DECIMALS    22  /* 10^22 is the last power of ten that a double holds exactly   */

enum packed_values {
    PACKED_CONSTANT, /* all values are the double whose bits `least` has; no fields           */
    PACKED_WHOLE,    /* (least + field) / 10^decimals, of at most 2^53                        */
    PACKED_F32,      /* the field has the bits of a float                                     */
    PACKED_F64,      /* the field has the bits of a double                                    */
    PACKED_FORMS
};

/* The beginning of an entry of a segment's table of groups. Behind it stands the entry's line
 * (ceil(B/64) words of 64 bits, least significant first), its lowest low_bits bits zero. Entries
 * are aligned to 8 bytes. */
struct packed_group {
    uint32_t first;      /* nonzero, counted in the segment                             */
    uint32_t at;         /* bytes from the segment's beginning, a multiple of 4         */
    uint16_t count;      /* 1 to PACKED_GROUP_NNZ                                       */
    uint8_t low_bits;    /* less than PACKED_NUMBER_BITS                                */
    uint8_t value_form;  /* enum packed_values                                          */
    uint8_t value_bits;  /* of a field: 0 where constant, to 64                         */
    uint8_t decimals;    /* 0 to PACKED_DECIMALS                                        */
    uint8_t upper_words; /* of the bit vector, 1 to PACKED_UPPER_WORDS                  */
    uint8_t unused;      /* 0                                                           */
    int64_t least;
};

/* 32-bit words that `count` fields of so many bits take. */
COMMON_FUNCTION uint32_t packed_field_words(uint32_t count, int bits)
{
    return (count * (uint32_t)bits + 31) / 32;
}

/* The `bits` (0 to 64) bits from bit `from` on. Reads no word that has none of them. */
COMMON_FUNCTION uint64_t packed_bits(const uint32_t *word, uint32_t from, int bits)
{
    uint32_t shift = from % 32;
    uint64_t field = 0;
    word += from / 32;
    if (bits > 0)
        field = word[0] >> shift;
    if (shift + (uint32_t)bits > 32)
        field |= (uint64_t)word[1] << (32 - shift);
    if (shift + (uint32_t)bits > 64)
        field |= (uint64_t)word[2] << 32 << (32 - shift);
    return bits < 64 ? field & ((UINT64_C(1) << bits) - 1) : field;
}

/* Field i of the fields of `bits` (0 to 64) bits. */
COMMON_FUNCTION uint64_t packed_field(const uint32_t *words, uint32_t i, int bits)
{
    return packed_bits(words, i * (uint32_t)bits, bits);
}

/* 10^decimals; each power is exact. */
COMMON_FUNCTION double packed_power_of_ten(int decimals)
{
    double power = 1;
    for (int d = 0; d < decimals; d++)
        power *= 10;
    return power;
}

/* The value of a field; `power` is packed_power_of_ten of the group's decimals. */
COMMON_FUNCTION double packed_value(const struct packed_group *g, double power, uint64_t field)
{
    uint64_t bits = g->value_form == PACKED_CONSTANT ? (uint64_t)g->least : field;
    uint32_t low = (uint32_t)field;
    double value;
    float narrow;
    if (g->value_form == PACKED_WHOLE) {
        value = (double)(g->least + (int64_t)field);
        return g->decimals ? value / power : value;
    }
    if (g->value_form == PACKED_F32) {
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The layout of a tensor whose lines have at most two 64-bit words: of its groups' entries, and of
 * the words that its nonzeros are decoded to, in which every mode's coordinate has its place. */
#define PACKED_WORDS   2
#define PACKED_NIBBLES (PACKED_WORDS * 16)

struct packed_layout {
    int order;
    int words;       /* 1 or 2: of a line, and of what it is decoded to                     */
    int line_bits;   /* B                                                                   */
    uint32_t stride; /* bytes from an entry of the table to the next one                    */
    struct {
        uint32_t length; /* I_n                                                             */
        uint32_t mask;   /* the bits that coordinates below it have                         */
        uint8_t word;    /* which one the coordinate is in                                  */
        uint8_t shift;   /* its lowest bit's place there                                    */
    } mode[MAX_ORDER];
};

/* nibble[k][v] = what four bits of the line, from place 4 k on, with value v, become in the decoded
 * words: a decoded nonzero is the bitwise or of the entries of its line's nibbles. Each ordering
 * has its own table. */
struct packed_spread {
    uint64_t nibble[PACKED_NIBBLES][16][PACKED_WORDS];
};
