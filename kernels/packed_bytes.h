/* Reading packed nonzeros one at a time, the same code on the host and on the device: the bytes of
 * a .blco file's segments (blco-file(5)) to words in which every mode's whole coordinate has its
 * place. A segment begins at a multiple of 8 bytes; then all that is read is aligned. */
#ifndef BLCO_KERNELS_PACKED_BYTES_H
#define BLCO_KERNELS_PACKED_BYTES_H

#include <stdint.h>

#ifdef __CUDACC__
#define PACKED_FUNCTION static __host__ __device__ __forceinline__
#else
#define PACKED_FUNCTION static inline
#endif

#define PACKED_MAX_ORDER 16
#define PACKED_WORDS     2 /* that a decoded nonzero has at most */

/* What an entry of a segment's table of blocks begins with. */
struct packed_block {
    uint32_t first, count; /* nonzeros, counted in the segment   */
    uint32_t index_at;     /* bytes from the segment's beginning */
    uint32_t value_at;
    uint8_t index_bytes;
    uint8_t value_form; /* enum packed_values */
};

/* The modes' numbers of index bits (order) stand behind that. */
#define PACKED_BITS_AT 18

enum packed_values { PACKED_CONSTANT, PACKED_U8, PACKED_U16, PACKED_F32, PACKED_F64 };

/* Of a tensor: how its packed blocks' entries are laid out, and the words that its nonzeros are
 * decoded to. */
struct packed_layout {
    int order;
    int words;        /* 1 or 2                                           */
    uint32_t stride;  /* bytes from an entry of the table to the next one */
    uint32_t base_at; /* byte of an entry at which the base (order) is    */
    struct {
        uint32_t length; /* I_n                                           */
        uint32_t mask;   /* the bits that coordinates below it have       */
        uint8_t word;    /* which one the coordinate is in                */
        uint8_t shift;   /* its lowest bit's place there                  */
    } mode[PACKED_MAX_ORDER];
};

/* Word i of `all` words of 0 to 4 bytes: those of three are an array of their lower two, then one
 * of the third. */
PACKED_FUNCTION uint32_t packed_word(const uint8_t *words, int bytes, uint32_t all, uint32_t i)
{
    switch (bytes) {
    case 0:
        return 0;
    case 1:
        return words[i];
    case 2:
        return ((const uint16_t *)words)[i];
    case 3:
        return ((const uint16_t *)words)[i] | (uint32_t)words[2 * (uint64_t)all + i] << 16;
    default:
        return ((const uint32_t *)words)[i];
    }
}

/* The index of nonzero i of a block: a low word of up to four bytes, a high one of those beyond. */
PACKED_FUNCTION uint64_t packed_index(const uint8_t *segment, struct packed_block b, uint32_t i)
{
    const uint8_t *words = segment + b.index_at;
    if (b.index_bytes <= 4)
        return packed_word(words, b.index_bytes, b.count, i);
    uint64_t high = packed_word(words + 4 * (uint64_t)b.count, b.index_bytes - 4, b.count, i);
    return high << 32 | packed_word(words, 4, b.count, i);
}

PACKED_FUNCTION double packed_value(const uint8_t *segment, struct packed_block b, uint32_t i)
{
    const uint8_t *values = segment + b.value_at;
    switch (b.value_form) {
    case PACKED_CONSTANT:
        return *(const double *)values;
    case PACKED_U8:
        return values[i];
    case PACKED_U16:
        return ((const uint16_t *)values)[i];
    case PACKED_F32:
        return ((const float *)values)[i];
    default:
        return ((const double *)values)[i];
    }
}

/* The coordinates that a block's entry and an index say, in their places in word (PACKED_WORDS).
 * Where one is not below its mode's length the words are zero; returns the first such mode, counted
 * from one, otherwise 0. */
PACKED_FUNCTION int packed_coordinates(const struct packed_layout *l, const uint8_t *entry,
                                       uint64_t index, uint64_t *word)
{
    const uint8_t *bits = entry + PACKED_BITS_AT;
    const uint32_t *base = (const uint32_t *)(entry + l->base_at);
    uint64_t low = 0, high = 0;
    int shift = 0, beyond = 0;
    for (int n = 0; n < l->order; n++) {
        uint64_t mask = (UINT64_C(1) << bits[n]) - 1;
        /* a mode without bits may stand behind all 64 */
        uint32_t coordinate = base[n] | (uint32_t)(index >> (shift & 63) & mask);
        uint64_t placed = (uint64_t)coordinate << l->mode[n].shift;
        if (coordinate >= l->mode[n].length && beyond == 0)
            beyond = n + 1;
        low |= l->mode[n].word ? 0 : placed;
        high |= l->mode[n].word ? placed : 0;
        shift += bits[n];
    }
    word[0] = beyond ? 0 : low;
    word[1] = beyond ? 0 : high;
    return beyond;
}

#endif
