#include "kernels/dense/dense_random.h"

#include "numerics/random_counter.h"

namespace
{

constexpr unsigned RANDOM_THREADS = 256, MOST_BLOCKS = 1 << 16;

/* Rows have an even number of entries, and two neighbours come from one counter. */
template <typename Real> __global__ void random_kernel(const dense_random_args args)
{
    const uint32_t pairs = args.ld / 2;
    const uint64_t all = args.rows * pairs, step = (uint64_t)gridDim.x * blockDim.x;
    Real *a = (Real *)args.a;
    for (uint64_t p = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; p < all; p += step) {
        const uint64_t i = p / pairs, pair = p % pairs;
        const uint64_t row = args.row ? args.row[i] : args.first + i;
        double x[2] = {0, 0};
        if (row != DENSE_NO_ROW && 2 * pair < args.rank) {
            uint64_t word[2];
            random_model_words(args.seed, args.mode, pair, row, word);
            x[0] = random_uniform(word[0]);
            if (2 * pair + 1 < args.rank)
                x[1] = random_uniform(word[1]);
        }
        a[2 * p] = (Real)x[0];
        a[2 * p + 1] = (Real)x[1];
    }
}

} // namespace

cudaError_t dense_random(const struct dense_random_args *args, enum precision precision,
                         cudaStream_t stream)
{
    const uint64_t all = args->rows * (args->ld / 2);
    const unsigned blocks = thread_blocks(all, RANDOM_THREADS, MOST_BLOCKS);
    return launch_kernel(IN_PRECISION(precision, random_kernel), blocks, RANDOM_THREADS, stream,
                         *args);
}
