/* Any processor: x86-64 and AArch64 have vectors of at least two doubles. */
#define SIMD_WIDTH 2
#include "backend/host/host_nonneg_simd_body.h"
