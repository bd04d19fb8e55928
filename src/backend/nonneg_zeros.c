#include "backend/nonneg_zeros.h"

#include <math.h>

#include "kernels/shared/nonneg.h"

#define NEAR 16 /* times the floor: weights have changed since the update */

void nonneg_bounds(const double *lambda, uint64_t rank, uint64_t rows, enum precision precision,
                   double *bound)
{
    const struct nonneg_floor *of =
        precision == PRECISION_SINGLE ? &nonneg_floor_single : &nonneg_floor_double;
    double most = 0, share = NEAR * of->floor / sqrt((double)rows);
    for (uint64_t r = 0; r < rank; r++)
        most = fmax(most, lambda[r]);
    for (uint64_t r = 0; r < rank; r++)
        bound[r] = share * fmax(lambda[r], of->lost * most);
}

void nonneg_zeros(struct ktensor *k, int n, const double *bound)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        for (uint64_t r = 0; r < k->rank; r++) {
            double *entry = &k->factor[n][i * k->rank + r];
            if (*entry * k->lambda[r] <= bound[r])
                *entry = 0;
        }
}
