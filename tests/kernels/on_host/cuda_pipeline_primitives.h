/* In place of CUDA's header: kernels on the host copy at once (copy_vector in row_batches.cuh). */
#pragma once

#include <stddef.h>
#include <string.h>

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
inline void __pipeline_commit()
{
}
inline void __pipeline_wait_prior(size_t)
{
}
