/* Grams and norms of all modes, for kernels. dense_modes.cuh has device code for them. */
#pragma once

#include <stdint.h>

#include "numerics/max_order.h"

/* The modes' unit-column Grams and column norms, and the mode that is being solved for. */
struct dense_modes {
    int order, mode;
    uint32_t rank;
    const double *gram[MAX_ORDER]; /* (R x R) each            */
    const double *norm[MAX_ORDER]; /* (R) each; 0 counts as 1 */
};
