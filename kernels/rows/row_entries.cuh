/* Neighbouring entries of a row, which are loaded and stored together. */
#ifndef BLCO_ROW_ENTRIES_CUH
#define BLCO_ROW_ENTRIES_CUH

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

#endif
