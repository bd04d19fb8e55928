/* Every processor. */
#define SIMD_WIDTH 1
#include "backend/host/host_residual_simd_body.h"
