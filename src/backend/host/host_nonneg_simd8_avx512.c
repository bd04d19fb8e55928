/* x86 processors with AVX-512. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx512f,avx512dq")
#define SIMD_WIDTH 8
#include "backend/host/host_nonneg_simd_body.h"
#endif
