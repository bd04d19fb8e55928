/* x86 processors with AVX-512. */
#include "lanes.h"
#if LANES_X86
#pragma GCC target("avx512f,avx512dq")
#define LANES 8
#include "mttkrp_kernel.h"
#endif
