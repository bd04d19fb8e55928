/* What needs CUB's functions of a whole device is here: to read their headers takes longer than to
 * compile most other files. */
#include "kernels/arrays/arrays.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

struct Square {
    __host__ __device__ double operator()(double x) const
    {
        return x * x;
    }
};

struct CountBits {
    const uint64_t *word;
    uint64_t words;

    __device__ uint32_t operator()(uint64_t w) const
    {
        return w < words ? uint32_t(__popcll(word[w])) : 0;
    }
};

/* Count: of the pairs. */
template <typename Key, typename Value, typename Count>
cudaError_t sort(void *temporary, size_t *temporary_bytes, array_pairs *pairs, int begin, int end,
                 cudaStream_t stream)
{
    cub::DoubleBuffer<Key> keys(static_cast<Key *>(pairs->key[0]),
                                static_cast<Key *>(pairs->key[1]));
    cub::DoubleBuffer<Value> values(static_cast<Value *>(pairs->value[0]),
                                    static_cast<Value *>(pairs->value[1]));
    const cudaError_t code = cub::DeviceRadixSort::SortPairs(
        temporary, *temporary_bytes, keys, values, Count(pairs->count), begin, end, stream);
    if (code == cudaSuccess && temporary) {
        pairs->key[0] = keys.Current();
        pairs->key[1] = keys.Alternate();
        pairs->value[0] = values.Current();
        pairs->value[1] = values.Alternate();
    }
    return code;
}

template <typename Place>
cudaError_t select(void *temporary, size_t *temporary_bytes, const uint8_t *flag, void *place,
                   uint64_t *count, uint64_t n, cudaStream_t stream)
{
    return cub::DeviceSelect::Flagged(temporary, *temporary_bytes,
                                      thrust::counting_iterator<Place>(0), flag,
                                      static_cast<Place *>(place), count, int64_t(n), stream);
}

} // namespace

cudaError_t arrays_sort(void *temporary, size_t *temporary_bytes, struct array_pairs *pairs,
                        int begin, int end, cudaStream_t stream)
{
    if (pairs->key_size == 4)
        return sort<uint32_t, uint32_t, uint32_t>(temporary, temporary_bytes, pairs, begin, end,
                                                  stream);
    if (pairs->key_size == 16)
        return sort<unsigned __int128, uint64_t, uint64_t>(temporary, temporary_bytes, pairs, begin,
                                                           end, stream);
    return pairs->value_size == 4 ? sort<uint64_t, uint32_t, uint64_t>(temporary, temporary_bytes,
                                                                       pairs, begin, end, stream)
                                  : sort<uint64_t, uint64_t, uint64_t>(temporary, temporary_bytes,
                                                                       pairs, begin, end, stream);
}

cudaError_t arrays_select(void *temporary, size_t *temporary_bytes, const uint8_t *flag,
                          void *place, int place_size, uint64_t *count, uint64_t n,
                          cudaStream_t stream)
{
    return place_size == 4
               ? select<uint32_t>(temporary, temporary_bytes, flag, place, count, n, stream)
               : select<uint64_t>(temporary, temporary_bytes, flag, place, count, n, stream);
}

cudaError_t arrays_scan(void *temporary, size_t *temporary_bytes, uint64_t *count, uint64_t n,
                        cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(temporary, *temporary_bytes, count, count, int64_t(n),
                                         stream);
}

cudaError_t arrays_scan_bits(void *temporary, size_t *temporary_bytes, const uint64_t *word,
                             uint64_t words, uint32_t *before, cudaStream_t stream)
{
    auto counts = thrust::make_transform_iterator(thrust::counting_iterator<uint64_t>(0),
                                                  CountBits{word, words});
    return cub::DeviceScan::ExclusiveSum(temporary, *temporary_bytes, counts, before,
                                         int64_t(words + 1), stream);
}

cudaError_t arrays_sum_squares(void *temporary, size_t *temporary_bytes, const double *value,
                               uint64_t n, double *sum, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temporary, *temporary_bytes,
                                  thrust::make_transform_iterator(value, Square()), sum, int64_t(n),
                                  stream);
}
