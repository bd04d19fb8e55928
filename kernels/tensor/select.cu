#include "kernels/tensor/select.h"

#include <cub/device/device_scan.cuh>

cudaError_t select_scan(void *temporary, size_t *temporary_bytes, uint64_t *count, uint64_t tiles,
                        cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(temporary, *temporary_bytes, count, count,
                                         static_cast<int64_t>(tiles), stream);
}
