#include "backend/nonneg_zeros.h"

#include <float.h>
#include <math.h>

#include "numerics/nonneg.h"

void nonneg_floors(const struct nonneg_update *u, uint64_t rank, double *floor)
{
    const struct nonneg_floor *of =
        u->precision == PRECISION_SINGLE ? &nonneg_floor_single : &nonneg_floor_double;
    double most = 0, least_entry = of->floor / sqrt((double)u->rows);
    for (uint64_t r = 0; r < rank; r++)
        most = fmax(most, fabs(u->lambda[r]) * sqrt(u->diagonal[r]));
    for (uint64_t r = 0; r < rank; r++) {
        double least = of->lost * most / sqrt(u->diagonal[r]);
        floor[r] = u->diagonal[r] >= DBL_MIN ? least_entry * fmax(fabs(u->lambda[r]), least) : 0;
    }
}
