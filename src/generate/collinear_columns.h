/* Random columns, any two of which meet at the same angle. */
#ifndef BLCO_COLLINEAR_COLUMNS_H
#define BLCO_COLLINEAR_COLUMNS_H

#include <stdint.h>

#define COLLINEAR_MOST 0.9999 /* columns of a larger cosine are the same but for rounding */

/* a (count x rows), one column after the other = columns of unit norm; the cosine of any two is
 * `cosine`, 0 to COLLINEAR_MOST. There are as many rows as columns or more. A seed and a stream
 * give the same columns whatever the number of threads. */
void collinear_columns(double *a, uint64_t rows, uint64_t count, double cosine, uint64_t seed,
                       uint64_t stream);

#endif
