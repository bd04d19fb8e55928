/* Any processor: x86-64 and AArch64 have vectors of at least four floats. */
#define SIMD_SINGLE
#define SIMD_WIDTH 4
#include "backend/host/host_row_sums_simd_body.h"
