/* The steps before and after MTTKRP: zeroing rows, merging copies of M, making tables. */
#include "kernels/mttkrp/mttkrp.h"
#include "numerics/vector.cuh"

namespace
{

constexpr int THREADS = 256;

__device__ __forceinline__ uint64_t global_thread()
{
    return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void zero_rows(uint4 *m, uint32_t vectors, const uint32_t *row, uint64_t count)
{
    uint64_t i = global_thread();
    if (i < count * vectors)
        m[static_cast<uint64_t>(row[i / vectors]) * vectors + i % vectors] = make_uint4(0, 0, 0, 0);
}

template <typename T> __global__ void merge_copies(void *all, uint64_t copy_size, uint32_t copies)
{
    vector<T> *m = static_cast<vector<T> *>(all);
    uint64_t i = global_thread();
    if (i >= copy_size)
        return;
    vector<T> sum = m[i];
    for (uint32_t c = 1; c < copies; c++)
        sum = sum + m[c * copy_size + i];
    m[i] = sum;
}

template <typename T>
__global__ void khatri_rao(void *table, const void *a, uint64_t a_rows, const void *b,
                           uint64_t b_rows, int b_bits, uint32_t vectors)
{
    uint64_t i = global_thread();
    uint64_t column = i % vectors, pair = i / vectors;
    if (pair >= a_rows * b_rows)
        return;
    uint64_t row_a = pair / b_rows, row_b = pair % b_rows;
    static_cast<vector<T> *>(table)[(row_a << b_bits | row_b) * vectors + column] =
        static_cast<const vector<T> *>(a)[row_a * vectors + column] *
        static_cast<const vector<T> *>(b)[row_b * vectors + column];
}

template <typename T>
__global__ void tuple_products(void *product, const __grid_constant__ mttkrp_tuples tuples,
                               uint32_t vectors)
{
    uint64_t i = global_thread();
    uint64_t column = i % vectors, tuple = i / vectors;
    if (tuple >= tuples.count)
        return;
    vector<T> row = splat<vector<T>>(1);
    for (int n = 0; n < tuples.modes; n++)
        row =
            row * static_cast<const vector<T> *>(
                      tuples.rows[n])[static_cast<uint64_t>(tuples.coordinate[n][tuple]) * vectors +
                                      column];
    static_cast<vector<T> *>(product)[i] = row;
}

} // namespace

cudaError_t mttkrp_zero_rows(void *m, uint32_t vectors, const uint32_t *row, uint64_t count,
                             cudaStream_t stream)
{
    return launch_kernel(zero_rows, thread_blocks(count * vectors, THREADS), THREADS, stream,
                         static_cast<uint4 *>(m), vectors, row, count);
}

cudaError_t mttkrp_zero(const mttkrp_args *args, cudaStream_t stream)
{
    return cudaMemsetAsync(args->m, 0, args->copies * args->copy_size * VECTOR_BYTES, stream);
}

cudaError_t mttkrp_merge_copies(const mttkrp_args *args, cudaStream_t stream)
{
    if (args->copies < 2)
        return cudaSuccess;
    return launch_kernel(IN_PRECISION(args->precision, merge_copies),
                         thread_blocks(args->copy_size, THREADS), THREADS, stream, args->m,
                         args->copy_size, args->copies);
}

cudaError_t mttkrp_khatri_rao(void *table, const void *a, uint64_t a_rows, const void *b,
                              uint64_t b_rows, int b_bits, uint32_t vectors,
                              enum precision precision, cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(a_rows * b_rows * vectors, THREADS);
    return launch_kernel(IN_PRECISION(precision, khatri_rao), blocks, THREADS, stream, table, a,
                         a_rows, b, b_rows, b_bits, vectors);
}

cudaError_t mttkrp_tuple_products(void *product, const mttkrp_tuples *tuples, uint32_t vectors,
                                  enum precision precision, cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(tuples->count * vectors, THREADS);
    return launch_kernel(IN_PRECISION(precision, tuple_products), blocks, THREADS, stream, product,
                         *tuples, vectors);
}
