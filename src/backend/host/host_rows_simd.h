/* The systems of some rows at a time, one row in each entry of a vector, so that they take the same
 * steps together. Implemented in host_rows.c and, for each SIMD width, in host_rows_simd.c. What is
 * computed of a row does not depend on the rows beside it.
 *
 * Arrays of these functions are interleaved: number k of row l is at [k * rows + l]. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/row_rules.h"

#define HOST_ROWS_MOST 8 /* at a time */

/* Matrices H = G + common + a diagonal. Arrays are borrowed. */
struct host_rows_matrices {
    uint64_t rank, ld;
    const double *g[HOST_ROWS_MOST]; /* (R x ld): entries (i, j) with i <= j count */
    const double *common;            /* (R x ld), likewise; NULL: 0                */
    const double *diagonal;          /* (R x rows), interleaved                    */
};

/* Coordinate descent on d'Hd / 2 - q'd from d = 0. */
struct host_rows_descent {
    uint64_t rank;
    int passes;            /* at most                                                         */
    struct prox_rule rule; /* what entries may become                                         */
    const double *h;       /* (R x R x rows), whole                                           */
    const double *old;     /* (R x rows): the entries before, of which d is the step          */
    const double *least;   /* (R x rows): a coordinate whose h is no more stays               */
    const double *settled; /* (rows): a row ends after a pass in which no coordinate has lowered the
                            * sum by half of this                                             */
    double *q;             /* (R x rows): becomes q - H d                                     */
    double *d;             /* (R x rows)                                                      */
    double *inverse;       /* (R x rows): scratch                                             */
};

struct host_rows_kernels {
    uint64_t rows; /* how many at a time */

    /* h (R x R x rows) of `rows` matrices; where not whole, entries (i, j) with i <= j. */
    void (*gather)(const struct host_rows_matrices *m, bool whole, double *h);

    void (*descend)(const struct host_rows_descent *p);

    /* H = U'U in the upper part of h, and q (R x rows) becomes the d of H d = q. Bit l of the
     * result is set where some pivot of row l is no more than least (R x rows); its d is then of no
     * use. */
    unsigned (*solve)(double *h, uint64_t rank, const double *least, double *q);
};

extern const struct host_rows_kernels host_rows_double2, host_rows_double4, host_rows_double8;

/* Those that suit this rank and the processor. */
const struct host_rows_kernels *host_rows_kernels(uint64_t rank);

/* Arrays of as many rows as they take, in a scratch. */
struct host_rows_room {
    double *settled;                                  /* (HOST_ROWS_MOST) */
    double *diagonal, *least, *old, *inverse, *q, *d; /* (R x rows) */
    double *h;                                        /* (R x R x rows) */
    double *rest;                                     /* of the scratch */
};

/* How many numbers of the scratch stand before the rest. */
uint64_t host_rows_room_size(uint64_t rank);

struct host_rows_room host_rows_room_in(double *scratch, uint64_t rank);

/* The descent in these arrays. */
struct host_rows_descent host_rows_descent_in(const struct host_rows_room *room, uint64_t rank,
                                              int passes, struct prox_rule rule);
