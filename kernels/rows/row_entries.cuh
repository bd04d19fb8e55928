/* Neighbouring entries of a row, which are loaded and stored together. */
#pragma once

#include <stdint.h>

#include <type_traits>

#include "numerics/vector.cuh"
#include "numerics/vector_bytes.h"

template <typename T, int COUNT> struct alignas(COUNT * sizeof(T)) row_entries {
    T x[COUNT];
};

/* *from, which no kernel writes meanwhile: __ldg for entries. */
template <typename T, int COUNT>
__device__ __forceinline__ row_entries<T, COUNT> ldg_entries(const row_entries<T, COUNT> *from)
{
    constexpr bool IS_VECTOR = COUNT * sizeof(T) == VECTOR_BYTES;
    using word =
        std::conditional_t<COUNT == 1, T, std::conditional_t<IS_VECTOR, vector<T>, float2>>;
    static_assert(sizeof(word) == COUNT * sizeof(T), "one load");
    const word x = __ldg(reinterpret_cast<const word *>(from));
    return reinterpret_cast<const row_entries<T, COUNT> &>(x);
}

/* Starts to copy 16 bytes to shared memory, through L1. */
__device__ __forceinline__ void copy_vector(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *static_cast<uint4 *>(to) = *static_cast<const uint4 *>(from);
#endif
}
