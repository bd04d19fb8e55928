/* A model whose rows a writer takes in order: all at once where they are here, or piece by piece
 * where they have to be brought. */
#ifndef BLCO_KTENSOR_SOURCE_H
#define BLCO_KTENSOR_SOURCE_H

#include "model/ktensor.h"

struct ktensor_source {
    const struct ktensor *k; /* R and lambda; the shape of the whole model; where `bring` is NULL,
                              * the rows, all or some; borrowed */
    /* rows (count x R) = the rows first to first + count - 1 of factor matrix n. */
    enum status (*bring)(void *context, int n, uint64_t first, uint64_t count, double *rows,
                         struct error *error);
    void *context; /* of `bring`; borrowed */
};

/* Takes the rows that *piece has: first[n] and shape.dims[n] of each mode, perhaps 0. */
typedef enum status ktensor_take(void *context, const struct ktensor *piece, struct error *error);

/* The rows, one at least, that take so many bytes or less. */
uint64_t ktensor_rows_of_bytes(uint64_t bytes, uint64_t rank);

/* Calls take(context) with k itself, or with pieces of at most `most` rows of one mode, in the
 * order of the modes and of their rows. STATUS_MEMORY, and errors of `bring` and `take`. */
enum status ktensor_pieces(const struct ktensor_source *from, uint64_t most, ktensor_take *take,
                           void *context, struct error *error);

#endif
