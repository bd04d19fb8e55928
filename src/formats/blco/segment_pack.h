/* Packs nonzeros to a segment of a .blco file (blco_format.h), and unpacks them. Implemented in
 * segment_pack.c and segment_unpack.c. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "formats/blco/blco_format.h"
#include "formats/blco/value_codec.h"
#include "numerics/packed_group.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

/* Decodes lines to coordinates: a table has, for each byte of a line, the bits that it sets in
 * words in which every mode has its whole coordinate. Read-only once created: any number of threads
 * may use it. */
struct linear_decoder {
    int order, line_bits;
    int words; /* of coordinates: 1 to 8 */
    int bytes; /* of a line              */
    struct {
        int word, shift;
        uint32_t mask;
    } mode[MAX_ORDER];
    struct bit_places places;
    uint64_t *spread; /* (words x bytes x 256) bits of a word that a byte sets; owned */
};

/* The caller frees *d, which is empty on failure. STATUS_MEMORY. */
enum status linear_decoder_create(struct linear_decoder *d, const struct ordering *o,
                                  struct error *error);

/* Accepts an empty *d. */
void linear_decoder_free(struct linear_decoder *d);

/* The lines of a group: they differ only below place PACKED_NUMBER_BITS. */
struct line_group {
    uint32_t count;
    int differing;                      /* lines may differ in their lowest `differing` bits */
    uint64_t line[MAX_LINE_WORDS];      /* any one of the lines                              */
    uint64_t word[2][PACKED_GROUP_NNZ]; /* the lowest 128 bits of each line; word[1] is set only if
                                         * differing > 64 */
};

/* Decodes the group to the coordinates of x from nonzero `to` on; x has the modes of the ordering.
 * Returns whether all coordinates are below the lengths of x. */
bool linear_decoder_group(const struct linear_decoder *d, const struct line_group *g, struct coo *x,
                          uint64_t to);

/* Packs nonzeros [first, first + count) of x, at most BLCO_SEGMENT_NNZ, to bytes[0..s->bytes),
 * aligned to BLCO_SEGMENT_ALIGN. The nonzeros are in the order of e's ordering and have distinct
 * coordinates. If `bytes` is NULL, they are only counted. The caller sets offset and checksum of
 * *s. */
void segment_pack(const struct line_encoder *e, const struct coo *x, uint64_t first, uint32_t count,
                  uint8_t *bytes, struct blco_file_segment *s);

/* Unpacks a segment, whose bytes are aligned to 8, to nonzeros [first, first + count) of x, which
 * has the room, and the shape of d's ordering. False if segment_pack() does not make such bytes;
 * even then nothing outside of bytes[0..s->bytes) is read. */
bool segment_unpack(const struct linear_decoder *d, const uint8_t *bytes,
                    const struct blco_file_segment *s, struct coo *x, uint64_t first,
                    uint32_t count);

/* Unpacks group k alone to the nonzeros of x from `to` on; x has room for PACKED_GROUP_NNZ of them.
 * Returns their number, or 0 if segment_pack() does not make such a group; even then nothing
 * outside of bytes[0..s->bytes) is read. */
uint32_t segment_unpack_group(const struct linear_decoder *d, const uint8_t *bytes,
                              const struct blco_file_segment *s, uint32_t k, struct coo *x,
                              uint64_t to);

/* Whether `bytes` are a sound segment of `count` nonzeros; they are not decoded for that: groups
 * follow each other and lie within the segment, numbers of bits and forms of values exist, a bit
 * vector has a bit for each nonzero, no line has a bit beyond `line_bits`, and zeros that align the
 * next segment follow. A decoder may rely on
 * all that, but must check that coordinates are below the lengths. */
bool segment_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                      uint32_t count);

/* Whether the values of a sound segment are what a file may have (value_codec_first_bad). */
bool segment_values_are(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                        struct value_kinds may);

/* Loads entry k of a sound segment's table of groups: the group, and its line unless `line` is
 * NULL. */
void segment_group_load(const uint8_t *bytes, uint32_t k, int line_bits, struct packed_group *g,
                        uint64_t *line);

/* Unpacks the values of a group of a sound segment to value[0..g->count). */
void segment_group_values(const uint8_t *bytes, const struct packed_group *g, double *value);
