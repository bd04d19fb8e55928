/* The rows of a nonnegative factor matrix from those of M, on the host (numerics/nonneg.h).
 * Matrices are row-major. Implemented in host_nonneg.c and, for each SIMD width, in
 * host_nonneg_simd.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "numerics/precision.h"

/* An update, the same for all rows. With B = A diag(a_scale), the new B has the rows
 * b_r = max(floor_r, m_r m_scale_r - sum over s of w_rs b_s), pass after pass, and the new A is
 * B diag(out_scale). */
struct host_nonneg {
    uint64_t rank;
    bool fit_rows;    /* begin by multiplying each row by the number that fits best          */
    double *w;        /* (R x R): V(r,s) / V(r,r), with a zero diagonal; owned, as all below */
    double *diagonal; /* (R): of V                                                           */
    double *a_scale, *m_scale, *floor, *out_scale; /* (R) each */
};

/* The input of an update. Arrays are borrowed. */
struct host_nonneg_start {
    const double *v;          /* (R x R), the ridge included                                      */
    const double *m;          /* (R): the true columns of M are those of the array times m        */
    const double *a;          /* (R): times a, the columns of the old A are unit columns          */
    const double *lambda;     /* (R)                                                              */
    const double *out_scale;  /* (R): by which the columns of B are multiplied                    */
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

/* The rest is only for host_nonneg.c and the kernels of each SIMD width, which have a row in each
 * lane of a vector. */

#define NONNEG_VECTORS   4 /* of rows that are worked on at a time                 */
#define NONNEG_MOST_ROWS (8 * NONNEG_VECTORS) /* of the widest vectors             */

/* host_nonneg_rows for any number of rows; scratch has room for 2 x NONNEG_MOST_ROWS x R. */
typedef void host_nonneg_panel(const struct host_nonneg *p, const double *m, const double *a,
                               double *x, uint64_t rows, double *scratch);

extern host_nonneg_panel host_nonneg_double2, host_nonneg_double4, host_nonneg_double8;
