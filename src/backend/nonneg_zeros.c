#include "backend/nonneg_zeros.h"

#include <math.h>

#include "kernels/shared/nonneg.h"

#define NEAR 16 /* times the floor: weights have changed since the update */

void nonneg_zeros(struct ktensor *k, int n, uint64_t rows, enum precision precision)
{
    const struct nonneg_floor *of =
        precision == PRECISION_SINGLE ? &nonneg_floor_single : &nonneg_floor_double;
    double most = 0, share = NEAR * of->floor / sqrt((double)rows);
    for (uint64_t r = 0; r < k->rank; r++)
        most = fmax(most, k->lambda[r]);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        for (uint64_t r = 0; r < k->rank; r++) {
            double *entry = &k->factor[n][i * k->rank + r];
            if (*entry * k->lambda[r] <= share * fmax(k->lambda[r], of->lost * most))
                *entry = 0;
        }
}
