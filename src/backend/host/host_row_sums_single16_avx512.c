/* x86 processors with AVX-512, floats. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx512f,avx512dq")
#define SIMD_SINGLE
#define SIMD_WIDTH 16
#include "backend/host/host_row_sums_simd_body.h"
#endif
