/* From places on the encoding line back to coordinates: what each byte of a line becomes in words
 * in which every mode's whole coordinate has its place. */
#ifndef BLCO_LINEAR_DECODER_H
#define BLCO_LINEAR_DECODER_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/blco/bit_fields.h"
#include "kernels/shared/packed_group.h"
#include "tensor/ordering.h"

/* Only read once it is created, by any number of threads. */
struct linear_decoder {
    int order, line_bits;
    int words; /* of coordinates: 1 to 8 */
    int bytes; /* of a line              */
    struct {
        int word, shift;
        uint32_t mask;
    } mode[MAX_ORDER];
    struct bit_places places;
    uint64_t *spread; /* (words x bytes x 256), owned: what a byte of each value adds to a word */
};

/* On failure *d is empty. STATUS_MEMORY. */
enum status linear_decoder_create(struct linear_decoder *d, const struct ordering *o,
                                  struct error *error);

/* Accepts an empty one. */
void linear_decoder_free(struct linear_decoder *d);

/* At most PACKED_GROUP_NNZ lines that differ below place PACKED_NUMBER_BITS alone. */
struct line_run {
    uint32_t count;
    int differing;                      /* bits, from the lowest on, in which they may differ   */
    uint64_t line[MAX_LINE_WORDS];      /* of one of them                                       */
    uint64_t word[2][PACKED_GROUP_NNZ]; /* their lowest 128 bits; [1] only where `differing`
                                         * is more than 64                                   */
};

/* The run's coordinates to places from `to` on of x, which has the ordering's modes. Returns
 * whether all are below x's lengths. */
bool linear_decoder_run(const struct linear_decoder *d, const struct line_run *r, struct coo *x,
                        uint64_t to);

#endif
