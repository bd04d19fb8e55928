/* The state that one iteration of ALS leaves to the next besides lambda and the factor matrices:
 * the column scales, which are not multiplied into the rows, and the Grams. */
#ifndef BLCO_CARRIED_H
#define BLCO_CARRIED_H

#include <stdint.h>

#include "base/error.h"
#include "numerics/precision.h"

/* It belongs to a ktensor whose factor matrices lack the scales: A_n = factor[n] diag(scale n). */
struct carried {
    double *scale;            /* (order x R)                        */
    double *gram;             /* (order x R x R), of A_n: symmetric */
    enum precision precision; /* that the factor matrices have in the backend */
};

/* The arrays are uninitialised. The caller frees *c with carried_free; *c is empty on failure.
 * STATUS_MEMORY. */
enum status carried_create(struct carried *c, int order, uint64_t rank, struct error *error);

/* *to, which carried_create made for this order and rank, becomes a copy of *from. */
void carried_copy(struct carried *to, const struct carried *from, int order, uint64_t rank);

/* Accepts an empty one. */
void carried_free(struct carried *c);

#endif
