/* Any processor: tiles of two or three columns, of floats. */
#define SIMD_SINGLE
#define SIMD_WIDTH 2
#include "backend/host/host_row_sums_simd_body.h"
