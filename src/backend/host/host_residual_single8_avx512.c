/* x86 processors with AVX-512, entries that are floats. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx512f,avx512dq")
#include <immintrin.h>
#define SIMD_SINGLE
#define SIMD_WIDTH     8
#define fused(a, b, c) _mm512_fmadd_pd(a, b, c)
typedef __m512d vec;
#include "backend/host/host_residual_simd_body.h"
#endif
