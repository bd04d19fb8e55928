#include "kernels/tensor/linearise.h"
#include "numerics/unrolled.cuh"

#include <algorithm>

namespace
{

constexpr int THREADS = 256;
constexpr int ITEMS =
    4; /* words of a thread in move_words, which reads the table once for all of them */
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 20;

struct Itself {
    __device__ uint64_t operator[](uint64_t i) const
    {
        return i;
    }
};

struct Above {
    uint32_t mask[MAX_ORDER];
};

struct LineChanges {
    const uint64_t *line;
    int cut;

    __device__ bool operator()(uint64_t i) const
    {
        return (line[i] ^ line[i - 1]) >> cut != 0;
    }
};

template <typename Positions> struct CoordinatesChange {
    tuples_nonzeros x;
    Above above;
    Positions position;

    __device__ bool operator()(uint64_t i) const
    {
        uint64_t here = position[i], before = position[i - 1];
        uint32_t changed = 0;
        for (int n = 0; n < MAX_ORDER; n++)
            if (above.mask[n])
                changed |= (x.index[n][here] ^ x.index[n][before]) & above.mask[n];
        return changed != 0;
    }
};

__global__ void move_words(const uint64_t *in, uint64_t *result, uint64_t n,
                           const __grid_constant__ bit_moves moves)
{
    const uint64_t tile = THREADS * ITEMS;
    for (uint64_t base = blockIdx.x * tile + threadIdx.x; base < n; base += gridDim.x * tile) {
        uint64_t from[ITEMS], word[ITEMS];
        EACH_UNROLLED(k, ITEMS) {
            uint64_t i = base + k * THREADS;
            from[k] = i < n ? in[i] : 0;
            word[k] = 0;
        }
        for (int m = 0; m < moves.count; m++) {
            EACH_UNROLLED(k, ITEMS)
                word[k] |= bit_move_apply(moves.move[m], from[k]);
        }
        EACH_UNROLLED(k, ITEMS) {
            uint64_t i = base + k * THREADS;
            if (i < n)
                result[i] = word[k];
        }
    }
}

/* A mode without a move is not read at all. */
template <typename Positions>
__global__ void gather_words(const __grid_constant__ tuples_nonzeros x, Positions position,
                             uint64_t *__restrict__ result, uint64_t n,
                             const __grid_constant__ bit_moves moves)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride) {
        uint64_t at = position[i], word = 0, coordinate = 0;
        int mode = -1;
        for (int m = 0; m < moves.count; m++) {
            if (moves.move[m].from != mode) {
                mode = moves.move[m].from;
                coordinate = x.index[mode][at];
            }
            word |= bit_move_apply(moves.move[m], coordinate);
        }
        result[i] = word;
    }
}

template <typename In, typename Out, typename Positions>
__global__ void gather(const In *__restrict__ in, Positions position, Out *__restrict__ result,
                       uint64_t n)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        result[i] = Out(in[position[i]]);
}

template <typename T> __global__ void count_up(T *__restrict__ position, uint64_t n)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        position[i] = T(i);
}

/* All threads of a thread block go through the loop together, as __syncthreads_count requires. */
template <typename Changes>
__global__ void flag_changes(const __grid_constant__ Changes changes, uint8_t *__restrict__ flag,
                             unsigned long long *__restrict__ count, uint64_t n)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t base = uint64_t(blockIdx.x) * THREADS; base < n; base += stride) {
        uint64_t i = base + threadIdx.x;
        bool first = i < n && (i == 0 || changes(i));
        if (i < n)
            flag[i] = first;
        int sum = __syncthreads_count(first);
        if (threadIdx.x == 0 && sum > 0)
            atomicAdd(count, (unsigned long long)sum);
    }
}

/* Calls `launch` with the positions as a type, and returns what it returns. */
template <typename Launch>
cudaError_t with_positions(const void *position, int position_size, Launch launch)
{
    if (position_size == 4)
        return launch(static_cast<const uint32_t *>(position));
    if (position_size == 8)
        return launch(static_cast<const uint64_t *>(position));
    return launch(Itself());
}

unsigned grid(uint64_t n)
{
    return thread_blocks(n, THREADS, MOST_THREAD_BLOCKS);
}

template <typename In, typename Out>
cudaError_t launch_gather(const void *in, const void *position, int position_size, void *result,
                          uint64_t n, cudaStream_t stream)
{
    return with_positions(position, position_size, [&](auto positions) {
        return launch_kernel(gather<In, Out, decltype(positions)>, grid(n), THREADS, stream,
                             static_cast<const In *>(in), positions, static_cast<Out *>(result), n);
    });
}

template <typename Changes>
cudaError_t launch_flags(const Changes &changes, uint8_t *flag, uint64_t *count, uint64_t n,
                         cudaStream_t stream)
{
    CUDA_TRY(cudaMemsetAsync(count, 0, sizeof *count, stream));
    return launch_kernel(flag_changes<Changes>, grid(n), THREADS, stream, changes, flag,
                         reinterpret_cast<unsigned long long *>(count), n);
}

} // namespace

cudaError_t linearise_words(const uint64_t *in, uint64_t *result, uint64_t n,
                            const struct bit_moves *moves, cudaStream_t stream)
{
    return launch_kernel(move_words, thread_blocks(n, THREADS * ITEMS, MOST_THREAD_BLOCKS), THREADS,
                         stream, in, result, n, *moves);
}

cudaError_t linearise_gather_words(const struct tuples_nonzeros *x, const void *position,
                                   int position_size, uint64_t *result, uint64_t n,
                                   const struct bit_moves *moves, cudaStream_t stream)
{
    return with_positions(position, position_size, [&](auto positions) {
        return launch_kernel(gather_words<decltype(positions)>, grid(n), THREADS, stream, *x,
                             positions, result, n, *moves);
    });
}

cudaError_t linearise_positions(void *position, int position_size, uint64_t n, cudaStream_t stream)
{
    if (position_size == 4)
        return launch_kernel(count_up<uint32_t>, grid(n), THREADS, stream,
                             static_cast<uint32_t *>(position), n);
    return launch_kernel(count_up<uint64_t>, grid(n), THREADS, stream,
                         static_cast<uint64_t *>(position), n);
}

cudaError_t linearise_gather(const void *in, int in_size, const void *position, int position_size,
                             void *result, int out_size, uint64_t n, cudaStream_t stream)
{
    const auto launch = in_size == 8 && out_size == 4 ? launch_gather<double, float>
                        : in_size == 8                ? launch_gather<uint64_t, uint64_t>
                                                      : launch_gather<uint32_t, uint32_t>;
    return launch(in, position, position_size, result, n, stream);
}

cudaError_t linearise_flag_lines(const uint64_t *line, int cut, uint8_t *flag, uint64_t *count,
                                 uint64_t n, cudaStream_t stream)
{
    return launch_flags(LineChanges{line, cut}, flag, count, n, stream);
}

cudaError_t linearise_flag_coordinates(const struct tuples_nonzeros *x, const uint32_t *above,
                                       const void *position, int position_size, uint8_t *flag,
                                       uint64_t *count, uint64_t n, cudaStream_t stream)
{
    Above masks = {};
    std::copy(above, above + MAX_ORDER, masks.mask);
    return with_positions(position, position_size, [&](auto positions) {
        return launch_flags(CoordinatesChange<decltype(positions)>{*x, masks, positions}, flag,
                            count, n, stream);
    });
}
