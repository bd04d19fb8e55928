/* Any processor; two lanes are what x86-64 and AArch64 have at the least. */
#define LANES 2
#include "backend/host/host_mttkrp_simd_body.h"
