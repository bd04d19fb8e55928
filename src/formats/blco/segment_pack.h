/* A segment of a .blco file in its bytes (blco_format.h): nonzeros packed in groups, and back. */
#ifndef BLCO_SEGMENT_PACK_H
#define BLCO_SEGMENT_PACK_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/blco/blco_format.h"
#include "formats/blco/linear_decoder.h"
#include "tensor/ordering.h"

/* Bytes of `nnz` nonzeros with lines of so many bits, at most, in segments of segment_nnz. */
uint64_t segment_pack_at_most(int line_bits, uint64_t nnz, uint64_t segment_nnz);

/* Packs nonzeros [first, first + count) of x, at most BLCO_MAX_SEGMENT_NNZ, which stand in the
 * order of e's ordering and have distinct coordinates, to bytes[0..s->bytes), aligned to
 * BLCO_SEGMENT_ALIGN. Offset and checksum of *s are the caller's to fill. */
void segment_pack(const struct line_encoder *e, const struct coo *x, uint64_t first, uint32_t count,
                  uint8_t *bytes, struct blco_file_segment *s);

/* Fills *s alike, for who needs to know how many bytes that will be. */
void segment_pack_measure(const struct line_encoder *e, const struct coo *x, uint64_t first,
                          uint32_t count, struct blco_file_segment *s);

/* The tensor's nonzeros [first, first + count) from the bytes of a segment, aligned to 8 bytes; x
 * has the room, its order and lengths are those of d's ordering. STATUS_INPUT where these are not
 * bytes that segment_pack makes; nothing outside of bytes[0..s->bytes) is read then. `name` is the
 * file's, for the message. */
enum status segment_unpack(const struct linear_decoder *d, const uint8_t *bytes,
                           const struct blco_file_segment *s, struct coo *x, uint64_t first,
                           uint32_t count, const char *name, struct error *error);

/* Whether these are such bytes, of `count` nonzeros, as far as that can be told without decoding
 * them: what a decoder relies on holds (groups follow each other and lie within, bits and forms
 * exist, a bit vector has a bit for each nonzero, no place is beyond the end of the line), but for
 * that coordinates are below their mode's length. */
bool segment_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                      uint32_t count);

/* The group of entry k of a sound segment's table, and its line unless that is NULL. */
void segment_group_load(const uint8_t *bytes, uint32_t k, int line_bits, struct packed_group *g,
                        uint64_t *line);

/* The values (g->count) of a group of a sound segment. */
void segment_group_values(const uint8_t *bytes, const struct packed_group *g, double *value);

#endif
