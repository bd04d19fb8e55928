/* The bytes of a .blco file (see blco-file(5)):
 *
 *   header      the first page
 *   data        from the next page on: segments of `segment_nnz` nonzeros each (the last one of
 *               the rest), 64-byte aligned; a segment has the table of its groups, then the words
 *               of each group (packed_group.h), without a gap
 *   directory   from a page boundary to the end: where each segment is, and its checksum
 *
 * The nonzeros are in alto order. A group has PACKED_GROUP_NNZ nonzeros; fewer only at the end of a
 * segment, and where bits of the line from place PACKED_NUMBER_BITS on change, which are the same
 * for all lines of a group. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "numerics/packed_group.h"
#include "tensor/mode_names.h"
#include "tensor/shape.h"

#define BLCO_MAGIC                                                                                 \
    "\x89"                                                                                         \
    "BLCO\r\n\x1a" /* damaged by a transfer as text */
#define BLCO_MAGIC_BYTES    8
#define BLCO_BYTE_ORDER     UINT32_C(0x01020304)
#define BLCO_FORMAT_VERSION 3
#define BLCO_PAGE           4096

/* The names of the modes and how they were made of a table, struct mode_names, end the first page;
 * zeros where that is not known. */
#define BLCO_NAMES_OFFSET (BLCO_PAGE - sizeof(struct mode_names))

struct blco_file_header {
    uint8_t magic[BLCO_MAGIC_BYTES];
    uint32_t byte_order;
    uint32_t version;
    uint64_t file_bytes;
    uint64_t nnz;
    uint64_t segment_nnz;
    uint64_t nsegments;
    uint64_t data_offset; /* BLCO_PAGE */
    uint64_t data_bytes;
    uint64_t directory_offset;
    uint64_t directory_crc; /* CRC-64 (ECMA, reflected) of all bytes after the data */
    uint32_t order;
    uint32_t unused; /* 0 */
    uint64_t dims[MAX_ORDER];
    uint64_t header_crc; /* of the first page, with 0 in place of this field */
    uint64_t unknown;    /* of the nonzeros, those whose value is NaN                         */
    uint64_t zeros;      /* of the nonzeros, those whose value is 0                           */
    uint64_t dropped;    /* zeros of the input that are not in the file                       */
};

struct blco_file_segment {
    uint64_t offset; /* in the file */
    uint32_t bytes;
    uint32_t ngroups;
    uint64_t crc;
};

static inline uint64_t blco_round_up(uint64_t bytes, uint64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

/* 32-bit words of a group. */
static inline uint32_t blco_group_words(const struct packed_group *g)
{
    return packed_field_words(g->count, g->low_bits) + packed_field_words(g->count, g->value_bits) +
           g->upper_words;
}

_Static_assert(sizeof(struct blco_file_header) == 248, "the header has no padding");
_Static_assert(sizeof(struct mode_names) ==
                   MAX_ORDER * (MODE_NAME_BYTES + 2 * SOURCE_TEXT) + MODE_NAME_BYTES + SOURCE_TEXT,
               "names have no padding");
_Static_assert(sizeof(struct blco_file_header) + sizeof(struct mode_names) <= BLCO_PAGE,
               "the first page has room for the names");
_Static_assert(sizeof(struct blco_file_segment) == 24, "the directory has no padding");
_Static_assert(sizeof(struct packed_group) == 24, "an entry has no padding");
