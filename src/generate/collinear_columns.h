/* Random columns with the same angle between any two of them. */
#ifndef BLCO_COLLINEAR_COLUMNS_H
#define BLCO_COLLINEAR_COLUMNS_H

#include <stdint.h>

#define COLLINEAR_MOST 0.9999 /* columns of a larger cosine are the same but for rounding */

/* a (count x rows) = columns of unit norm, one after the other; any two have the cosine `cosine`, 0
 * to COLLINEAR_MOST. rows >= count. A seed and a stream give the same columns whatever the number
 * of threads. */
void collinear_columns(double *a, uint64_t rows, uint64_t count, double cosine, uint64_t seed,
                       uint64_t stream);

#endif
