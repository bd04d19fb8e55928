/* x86 processors with AVX2. */
#include "mttkrp_lanes.h"
#if MTTKRP_X86_LANES
#pragma GCC target("avx2")
#define LANES 4
#include "mttkrp_kernel.h"
#endif
