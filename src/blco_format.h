/* What stands in a .blco file, byte for byte (blco-file(5)):
 *
 *   header      the first page
 *   data        from the second page on: segments, each of `segment_nnz` nonzeros (the last of
 *               what is left), 64-byte aligned; in a segment the table of its blocks, then each
 *               block's indices and values, 16-byte aligned
 *   directory   from a page boundary to the end: where each segment is, and its checksum
 *
 * The nonzeros stand in alto order. A block is a run of them whose coordinates differ in few low
 * bits: these are stored, the others are the block's base. */
#ifndef BLCO_FORMAT_H
#define BLCO_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "coo.h"

#define BLCO_MAGIC                                                                                 \
    "\x89"                                                                                         \
    "BLCO\r\n\x1a" /* a transfer as text would damage it */
#define BLCO_MAGIC_BYTES     8
#define BLCO_BYTE_ORDER      UINT32_C(0x01020304)
#define BLCO_FORMAT_VERSION  1
#define BLCO_PAGE            4096
#define BLCO_SEGMENT_NNZ     65536     /* as written                */
#define BLCO_MAX_SEGMENT_NNZ (1 << 20) /* as read                   */
#define BLCO_SEGMENT_ALIGN   64
#define BLCO_ARRAY_ALIGN     16
#define BLCO_MAX_INDEX_BITS  64

struct blco_file_header {
    uint8_t magic[BLCO_MAGIC_BYTES];
    uint32_t byte_order;
    uint32_t version;
    uint64_t file_bytes;
    uint64_t nnz;
    uint64_t segment_nnz;
    uint64_t nsegments;
    uint64_t data_offset; /* BLCO_PAGE                                               */
    uint64_t data_bytes;
    uint64_t directory_offset;
    uint64_t directory_crc; /* CRC-64 (ECMA, reflected) of all bytes behind the data   */
    uint32_t order;
    uint32_t unused; /* 0 */
    uint64_t dims[MAX_ORDER];
    uint64_t header_crc; /* of the first page, with 0 here                          */
};

struct blco_file_segment {
    uint64_t offset; /* in the file */
    uint32_t bytes;
    uint32_t nblocks;
    uint64_t crc;
};

/* An entry of a segment's table of blocks, as it is in memory. Coordinate n of a nonzero is base[n]
 * | (index >> shift[n] & (2^bits[n] - 1)), shift[n] = bits[0] + ... + bits[n - 1]. Indices have
 * index_bytes bytes: a low word of up to four, and a high word of those beyond. The block's low
 * words stand first; words of three bytes as an array of their lower two, then one of the third. */
struct blco_file_block {
    uint32_t first, count; /* nonzeros, counted in the segment              */
    uint32_t index_at;     /* bytes from the segment's beginning            */
    uint32_t value_at;
    uint8_t index_bytes; /* 0 to 8                                        */
    uint8_t value_form;  /* enum value_form                               */
    uint8_t bits[MAX_ORDER];
    uint32_t base[MAX_ORDER];
};

/* In the file bits (order) stand behind value_form, and base (order) behind them, both padded. */
#define BLCO_BLOCK_FIXED 18

static inline uint64_t blco_round_up(uint64_t bytes, uint64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

static inline uint64_t blco_block_base_at(int order)
{
    return blco_round_up(BLCO_BLOCK_FIXED + (uint64_t)order, sizeof(uint32_t));
}

static inline uint64_t blco_block_stride(int order)
{
    return blco_round_up(blco_block_base_at(order) + (uint64_t)order * sizeof(uint32_t), 8);
}

/* The padding is the caller's to clear. */
static inline void blco_block_store(const struct blco_file_block *b, int order, uint8_t *bytes)
{
    memcpy(bytes, b, BLCO_BLOCK_FIXED);
    memcpy(bytes + BLCO_BLOCK_FIXED, b->bits, (size_t)order);
    memcpy(bytes + blco_block_base_at(order), b->base, (size_t)order * sizeof *b->base);
}

static inline void blco_block_load(struct blco_file_block *b, int order, const uint8_t *bytes)
{
    memset(b, 0, sizeof *b);
    memcpy(b, bytes, BLCO_BLOCK_FIXED);
    memcpy(b->bits, bytes + BLCO_BLOCK_FIXED, (size_t)order);
    memcpy(b->base, bytes + blco_block_base_at(order), (size_t)order * sizeof *b->base);
}

_Static_assert(sizeof(struct blco_file_header) == 224, "the header has no padding");
_Static_assert(sizeof(struct blco_file_segment) == 24, "the directory has no padding");
_Static_assert(offsetof(struct blco_file_block, bits) == BLCO_BLOCK_FIXED, "as in the file");

#endif
