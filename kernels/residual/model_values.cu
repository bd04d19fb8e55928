/* Eight neighbouring lanes have a coordinate, each of them some columns. */
#include "kernels/residual/model_values.h"

#include "numerics/vector_bytes.h"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t LANES = 8;

template <typename T>
__global__ void __launch_bounds__(THREADS)
    values_kernel(const __grid_constant__ model_values_args a)
{
    const uint64_t ld = static_cast<uint64_t>(a.vectors) * (VECTOR_BYTES / sizeof(T));
    const uint64_t i = (static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x) / LANES;
    const uint32_t lane = threadIdx.x % LANES;
    double sum = 0;
    for (uint32_t r = lane; i < a.count && r < a.rank; r += LANES) {
        double product = a.weight[r];
        for (int n = 0; n < a.order; n++)
            product *= static_cast<double>(
                __ldg(static_cast<const T *>(a.rows[n]) + a.index[n][i] * ld + r));
        sum += product;
    }
    for (uint32_t step = LANES / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (i < a.count && lane == 0)
        a.value[i] = sum;
}

} // namespace

cudaError_t model_values(const struct model_values_args *args, cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(args->count * LANES, THREADS);
    return launch_kernel(IN_PRECISION(args->precision, values_kernel), blocks, THREADS, stream,
                         *args);
}
