/* The number of thread blocks of a launch. */
#pragma once

#include <stdint.h>

/* As many as `items` take at `per_block` items each; at most `most`, for kernels whose threads go
 * on to further items. */
inline unsigned thread_blocks(uint64_t items, uint64_t per_block, uint64_t most = UINT64_MAX)
{
    uint64_t blocks = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(blocks < most ? blocks : most);
}
