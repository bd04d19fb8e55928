/* The inner loops of host_nonneg.c, with a row in each lane of a vector. Compiled once for each
 * SIMD width. */
#ifndef BLCO_HOST_NONNEG_SIMD_H
#define BLCO_HOST_NONNEG_SIMD_H

#include <stdbool.h>
#include <stdint.h>

/* An update, the same for all rows. With B = A diag(a_scale), the new B has the rows
 * b_r = max(floor_r, m_r m_scale_r - sum over s of w_rs b_s), pass after pass, and the new A is
 * B diag(out). */
struct host_nonneg {
    uint64_t rank;
    bool fit_rows;    /* begin by multiplying each row by the number that fits best          */
    double *w;        /* (R x R): V(r,s) / V(r,r), with a zero diagonal; owned, as all below */
    double *diagonal; /* (R): of V                                                           */
    double *a_scale, *m_scale, *floor, *out; /* (R) each                                     */
};

#define NONNEG_VECTORS   4 /* of rows that are worked on at a time                 */
#define NONNEG_MOST_ROWS (8 * NONNEG_VECTORS) /* of the widest vectors             */

/* host_nonneg_rows for any number of rows; scratch has room for 2 x NONNEG_MOST_ROWS x R. */
typedef void host_nonneg_panel(const struct host_nonneg *p, const double *m, const double *a,
                               double *x, uint64_t rows, double *scratch);

extern host_nonneg_panel host_nonneg_double2, host_nonneg_double4, host_nonneg_double8;

#endif
