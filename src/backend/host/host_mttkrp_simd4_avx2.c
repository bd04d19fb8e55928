/* x86 processors with AVX2. */
#include "lanes.h"
#if LANES_X86
#pragma GCC target("avx2")
#define LANES 4
#include "mttkrp_kernel.h"
#endif
