#include "backend/nonneg_zeros.h"

#include <math.h>

#include "numerics/nonneg.h"

#define NEAR 16 /* times the floor: weights have changed since the update */

void nonneg_bounds(const struct nonneg_update *u, uint64_t rank, double *bound)
{
    const struct nonneg_floor *of =
        u->precision == PRECISION_SINGLE ? &nonneg_floor_single : &nonneg_floor_double;
    double most = 0, share = NEAR * of->floor / sqrt((double)u->rows);
    for (uint64_t r = 0; r < rank; r++)
        most = fmax(most, u->lambda[r] * sqrt(u->diagonal[r]));
    for (uint64_t r = 0; r < rank; r++) {
        double least = u->diagonal[r] > 0 ? of->lost * most / sqrt(u->diagonal[r]) : 0;
        bound[r] = share * fmax(u->lambda[r], least);
    }
}
