/* x86 processors with AVX-512. */
#include "mttkrp_lanes.h"
#if MTTKRP_X86_LANES
#pragma GCC target("avx512f,avx512dq")
#define LANES 8
#include "mttkrp_kernel.h"
#endif
