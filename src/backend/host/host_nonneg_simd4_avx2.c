/* x86 processors with AVX2. */
#include "backend/host/simd_width.h"
#if SIMD_X86
#pragma GCC target("avx2,fma")
#define SIMD_WIDTH 4
#include "backend/host/host_nonneg_simd_body.h"
#endif
