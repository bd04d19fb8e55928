/* How many bytes nonzeros take at most when they are packed: in segments, each with the table of
 * its groups and then the groups themselves (packed_group.h). */
#pragma once

#include "numerics/packed_group.h"

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
