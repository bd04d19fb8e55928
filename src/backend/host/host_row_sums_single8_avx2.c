/* x86 processors with AVX2, floats. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx2")
#define SIMD_SINGLE
#define SIMD_WIDTH 8
#include "backend/host/host_row_sums_simd_body.h"
#endif
