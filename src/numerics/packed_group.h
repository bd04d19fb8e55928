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

/* --- Whether a coordinate of a decoded nonzero is too large, all modes of a word at once. To each
 * coordinate is added what its mode's length lacks to a power of two; a coordinate that is beyond
 * the length then carries out of its place. A carry into another place does no harm: the coordinate
 * that it comes from is beyond already. --- */

/* Constants of the test, for each word. */
struct packed_bounds {
    uint64_t lacking[PACKED_WORDS]; /* 2^bits - length, in every mode's place */
    uint64_t top[PACKED_WORDS];     /* the uppermost bit of every place       */
};

static inline void packed_bounds_create(struct packed_bounds *limits, const struct packed_layout *l)
{
    memset(limits, 0, sizeof *limits);
    for (int n = 0; n < l->order; n++) {
        uint64_t mask = l->mode[n].mask, lacking = mask + 1 - l->mode[n].length;
        limits->lacking[l->mode[n].word] |= lacking << l->mode[n].shift;
        limits->top[l->mode[n].word] |= (mask ^ mask >> 1) << l->mode[n].shift;
    }
}

/* Nonzero where word number w has a coordinate that is beyond. */
COMMON_FUNCTION uint64_t packed_beyond(const struct packed_bounds *limits, int w, uint64_t word)
{
    uint64_t lacking = limits->lacking[w], sum = word + lacking;
    return ((word & lacking) | ((word | lacking) & ~sum)) & limits->top[w];
}

/* The first mode, counted from one, whose coordinate is beyond; 0 where no coordinate is. */
COMMON_FUNCTION int packed_mode_beyond(const struct packed_layout *l, const uint64_t *word)
{
    for (int n = 0; n < l->order; n++) {
        uint64_t place = l->mode[n].word ? word[1] : word[0];
        if ((uint32_t)(place >> l->mode[n].shift & l->mode[n].mask) >= l->mode[n].length)
            return n + 1;
    }
    return 0;
}

/* --- How many bytes nonzeros take at most when they are packed: in segments, each with the table
 * of its groups and then the groups themselves. --- */

#define BLCO_SEGMENT_NNZ   65536 /* of each segment of a file but the last */
#define BLCO_SEGMENT_ALIGN 64    /* bytes; of each segment                 */

/* 64-bit words of a line of `line_bits` bits. */
static inline uint64_t blco_line_words(int line_bits)
{
    return ((uint64_t)line_bits + 63) / 64;
}

/* Bytes of an entry of the table of groups: the group and its line. */
static inline uint64_t blco_group_stride(int line_bits)
{
    return sizeof(struct packed_group) + blco_line_words(line_bits) * sizeof(uint64_t);
}

/* Groups of a segment of `nnz` nonzeros whose lines have at most PACKED_NUMBER_BITS bits. */
static inline uint64_t packed_size_groups(uint64_t nnz)
{
    return (nnz + PACKED_GROUP_NNZ - 1) / PACKED_GROUP_NNZ;
}

/* The most bytes of `nnz` nonzeros in segments of segment_nnz, with lines of `line_bits` bits.
 *
 * If the last line of a group is the first one plus a number of L bits, the packer considers
 * low_bits = L - 8 (0 if that is negative); the upper bits of the last line are then at most 256,
 * and the bit vector has at most 512 bits. L is at most the B bits of the line. So m nonzeros take
 * at most m * (B - 8) / 8 + 4 bytes of low bits, 8 m of values, 64 of the vector, and an entry.
 * Lines of 64 bits take 15 bytes a nonzero and 100 a group, 15.4 in all; of 128 bits, 23.5. */
static inline uint64_t packed_size_at_most(int line_bits, uint64_t nnz, uint64_t segment_nnz)
{
    uint64_t low = line_bits < PACKED_NUMBER_BITS ? (uint64_t)line_bits : PACKED_NUMBER_BITS;
    low = low > 8 ? low - 8 : 0;
    uint64_t full = nnz / segment_nnz, rest = nnz % segment_nnz;
    uint64_t groups = full * packed_size_groups(segment_nnz) + packed_size_groups(rest);
    if (line_bits > PACKED_NUMBER_BITS)
        groups = nnz;
    return nnz * (low + 64) / 8 + groups * (4 + 64 + blco_group_stride(line_bits)) +
           (full + (rest > 0)) * BLCO_SEGMENT_ALIGN;
}
