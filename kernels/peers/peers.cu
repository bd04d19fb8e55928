#include "kernels/peers/peers.h"

#include "kernels/dense/dense_vector.cuh"
#include "numerics/vector_bytes.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr unsigned THREADS = 256;
constexpr uint64_t MOST_BLOCKS = 1 << 11; /* what comes through NVLink keeps fewer busy */

template <typename Real> struct one_number {
    static constexpr int LENGTH = 1;
    Real x[1];
};

/* The sums or, where LARGEST, the largest numbers. */
template <typename Vector, bool LARGEST>
__global__ void __launch_bounds__(THREADS)
    sum_kernel(const peer_arrays arrays, Vector *to, uint64_t vectors)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < vectors; i += step) {
        Vector total = ((const Vector *)arrays.from[0])[i];
#pragma unroll 4
        for (int k = 1; k < arrays.peers; k++) {
            const Vector next = ((const Vector *)arrays.from[k])[i];
            EACH_UNROLLED(e, Vector::LENGTH)
                if (LARGEST)
                    total.x[e] = total.x[e] > next.x[e] ? total.x[e] : next.x[e];
                else
                    total.x[e] = total.x[e] + next.x[e];
        }
        to[i] = total;
    }
}

template <typename Vector>
__global__ void __launch_bounds__(THREADS)
    gather_kernel(const peer_arrays arrays, Vector *to, uint64_t vectors)
{
    const Vector *from = (const Vector *)arrays.from[blockIdx.y];
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    to += blockIdx.y * vectors;
    if (from == to)
        return;
#pragma unroll 4
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < vectors; i += step)
        to[i] = from[i];
}

/* Whether all arrays consist of whole vectors. */
bool in_vectors(const peer_arrays *arrays, const void *to)
{
    uintptr_t all = (uintptr_t)to | (uintptr_t)(arrays->count * precision_bytes(arrays->precision));
    for (int k = 0; k < arrays->peers; k++)
        all |= (uintptr_t)arrays->from[k];
    return all % VECTOR_BYTES == 0;
}

template <typename Vector>
cudaError_t launch_sum_of(const peer_arrays *arrays, void *to, bool largest, cudaStream_t stream)
{
    const uint64_t vectors = arrays->count / Vector::LENGTH;
    const unsigned blocks = thread_blocks(vectors, THREADS, MOST_BLOCKS);
    const auto kernel = largest ? sum_kernel<Vector, true> : sum_kernel<Vector, false>;
    return launch_kernel(kernel, blocks, THREADS, stream, *arrays, (Vector *)to, vectors);
}

template <typename Real>
cudaError_t launch_sum(const peer_arrays *arrays, void *to, bool largest, cudaStream_t stream)
{
    const auto launch =
        in_vectors(arrays, to) ? launch_sum_of<vector<Real>> : launch_sum_of<one_number<Real>>;
    return launch(arrays, to, largest, stream);
}

template <typename Vector>
cudaError_t launch_gather_of(const peer_arrays *arrays, void *to, cudaStream_t stream)
{
    const uint64_t vectors = arrays->count / Vector::LENGTH;
    const unsigned blocks = thread_blocks(vectors, THREADS, MOST_BLOCKS / (unsigned)arrays->peers);
    return launch_kernel(gather_kernel<Vector>, dim3(blocks, (unsigned)arrays->peers), THREADS,
                         stream, *arrays, (Vector *)to, vectors);
}

template <typename Real>
cudaError_t launch_gather(const peer_arrays *arrays, void *to, cudaStream_t stream)
{
    const auto launch = in_vectors(arrays, to) ? launch_gather_of<vector<Real>>
                                               : launch_gather_of<one_number<Real>>;
    return launch(arrays, to, stream);
}

} // namespace

cudaError_t peers_sum(const peer_arrays *arrays, void *to, bool largest, cudaStream_t stream)
{
    return IN_PRECISION(arrays->precision, launch_sum)(arrays, to, largest, stream);
}

cudaError_t peers_gather(const peer_arrays *arrays, void *to, cudaStream_t stream)
{
    return IN_PRECISION(arrays->precision, launch_gather)(arrays, to, stream);
}
