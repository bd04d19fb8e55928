/* x86 processors with AVX2, entries that are floats. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx2,fma")
#include <immintrin.h>
#define SIMD_SINGLE
#define SIMD_WIDTH     4
#define fused(a, b, c) _mm256_fmadd_pd(a, b, c)
typedef __m256d vec;
#include "backend/host/host_residual_simd_body.h"
#endif
