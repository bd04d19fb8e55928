/* Any processor: tiles of one column. */
#define SIMD_WIDTH 1
#include "backend/host/host_dense_simd_body.h"
