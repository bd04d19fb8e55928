/* Decodes lines to coordinates: a table has, for each byte of a line, the bits that it sets in
 * words in which every mode has its whole coordinate. */
#ifndef BLCO_LINEAR_DECODER_H
#define BLCO_LINEAR_DECODER_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/blco/bit_fields.h"
#include "numerics/packed_group.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

/* Read-only once created: any number of threads may use it. */
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

#endif
