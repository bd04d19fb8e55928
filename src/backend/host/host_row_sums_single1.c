/* Any processor: tiles of one column, of floats. */
#define SIMD_SINGLE
#define SIMD_WIDTH 1
#include "backend/host/host_row_sums_simd_body.h"
