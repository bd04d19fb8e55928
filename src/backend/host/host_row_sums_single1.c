/* Any processor: tiles of one to three columns, of floats. */
#define SIMD_SINGLE
#define SIMD_WIDTH 1
#include "backend/host/host_row_sums_simd_body.h"
