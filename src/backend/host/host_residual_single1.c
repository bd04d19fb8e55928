/* Every processor, entries that are floats. */
#define SIMD_SINGLE
#define SIMD_WIDTH     1
#define fused(a, b, c) __builtin_fma(a, b, c)
typedef double vec;
#include "backend/host/host_residual_simd_body.h"
