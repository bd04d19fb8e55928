/* Any processor; two lanes are what x86-64 and AArch64 have at the least. */
#define SIMD_WIDTH 2
#include "backend/host/host_row_sums_simd_body.h"
