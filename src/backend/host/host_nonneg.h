/* The rows of a nonnegative factor matrix from those of M, on the host (numerics/nonneg.h).
 * Matrices are row-major. */
#ifndef BLCO_HOST_NONNEG_H
#define BLCO_HOST_NONNEG_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/host/host_nonneg_simd.h"
#include "base/error.h"
#include "numerics/precision.h"

/* The input of an update. Arrays are borrowed. */
struct host_nonneg_start {
    const double *v;          /* (R x R), the ridge included                                      */
    const double *m;          /* (R): the true columns of M are those of the array times m        */
    const double *a;          /* (R): times a, the columns of the old A are unit columns          */
    const double *lambda;     /* (R)                                                              */
    const double *out;        /* (R): by which the columns of B are multiplied                    */
    uint64_t rows;            /* of the whole factor matrix                                       */
    bool fit_rows;            /* lambda has not been computed yet: see struct host_nonneg         */
    enum precision precision; /* of the entries of M and A                                        */
};

/* The caller frees *p with host_nonneg_free; it is empty on failure. STATUS_NUMERICAL where V is
 * not finite, STATUS_MEMORY. */
enum status host_nonneg_create(struct host_nonneg *p, const struct host_nonneg_start *start,
                               uint64_t rank, struct error *error);

/* Accepts an empty one. */
void host_nonneg_free(struct host_nonneg *p);

/* Doubles of scratch memory that host_nonneg_rows takes. */
uint64_t host_nonneg_room(uint64_t rank);

/* x (rows x R) = the new rows, from those of M and A. */
void host_nonneg_rows(const struct host_nonneg *p, const double *m, const double *a, double *x,
                      uint64_t rows, double *scratch);

#endif
