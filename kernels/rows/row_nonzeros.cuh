/* Nonzeros and their coordinates, as struct mttkrp_args has them. */
#pragma once

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"
#include "kernels/mttkrp/nonzero_index.cuh"
#include "kernels/mttkrp/row_sums.cuh"

template <typename T>
constexpr enum precision precision_of = sizeof(T) == sizeof(float) ? PRECISION_SINGLE
                                                                   : PRECISION_DOUBLE;

/* Whether values are doubles; else they are floats. precision: a.precision, as a constant where it
 * is one. */
__device__ __forceinline__ bool has_wide_values(const mttkrp_args &a, enum precision precision)
{
    return a.wide_values || precision == PRECISION_DOUBLE;
}

__device__ __forceinline__ double value_at(const mttkrp_args &a, enum precision precision,
                                           uint64_t i)
{
    return has_wide_values(a, precision)
               ? __ldg(static_cast<const double *>(a.value) + i)
               : static_cast<double>(__ldg(static_cast<const float *>(a.value) + i));
}

/* ONE_WORD: only the first word is needed. */
template <bool ONE_WORD = false>
__device__ __forceinline__ index_words<ANY> index_at(const mttkrp_args &a, uint64_t i)
{
    index_words<ANY> index;
    index.word[0] = __ldg(a.index[0] + i);
    index.word[1] = !ONE_WORD && a.index[1] ? __ldg(a.index[1] + i) : 0;
    return index;
}

/* Starts to bring what is at an address into the L2 cache. */
__device__ __forceinline__ void fetch([[maybe_unused]] const void *from)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" : : "l"(from));
#endif
}

/* The same of nonzero i. */
__device__ __forceinline__ void fetch_nonzero(const mttkrp_args &a, enum precision precision,
                                              uint64_t i)
{
    const uint64_t bytes = has_wide_values(a, precision) ? sizeof(double) : sizeof(float);
    fetch(static_cast<const char *>(a.value) + i * bytes);
    for (int word = 0; word < 2 && a.index[word]; word++)
        fetch(a.index[word] + i);
}

/* The base of a block, NULL where there are no bases. */
__device__ __forceinline__ const uint32_t *base_of(const mttkrp_args &a, uint32_t block)
{
    return a.base ? a.base + static_cast<uint64_t>(block) * MAX_ORDER : nullptr;
}

__device__ __forceinline__ uint32_t coordinate_at(const mttkrp_field &f,
                                                  const index_words<ANY> &index,
                                                  const uint32_t *base)
{
    return coordinate<ANY>(f, index, base ? __ldg(base + f.mode) : 0);
}
