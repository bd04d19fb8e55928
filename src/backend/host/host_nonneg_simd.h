/* The inner loops of host_nonneg.c, which take a row in each place of a vector. Implemented in
 * host_nonneg_simd*.c, once for each SIMD width; each of them includes host_nonneg_simd_body.h. */
#ifndef BLCO_HOST_NONNEG_SIMD_H
#define BLCO_HOST_NONNEG_SIMD_H

#include "backend/host/host_nonneg.h"

#define NONNEG_VECTORS   4 /* of rows that are worked on at a time                 */
#define NONNEG_MOST_ROWS (8 * NONNEG_VECTORS) /* of the widest vectors             */

/* host_nonneg_rows for any number of rows; scratch has room for 2 x NONNEG_MOST_ROWS x R. */
typedef void host_nonneg_panel(const struct host_nonneg *p, const double *m, const double *a,
                               double *x, uint64_t rows, double *scratch);

extern host_nonneg_panel host_nonneg_simd2, host_nonneg_simd4, host_nonneg_simd8;

#endif
