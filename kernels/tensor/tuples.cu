#include "kernels/tensor/tuples.h"

#include <algorithm>

#include "numerics/fiber_sample.h"

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 20;

unsigned grid(uint64_t n)
{
    return thread_blocks(n, THREADS, MOST_THREAD_BLOCKS);
}

__device__ __forceinline__ uint64_t first_item()
{
    return uint64_t(blockIdx.x) * THREADS + threadIdx.x;
}

__device__ __forceinline__ uint64_t stride()
{
    return uint64_t(gridDim.x) * THREADS;
}

/* One nonzero's coordinates; its line is read once. */
struct nonzero {
    const tuples_nonzeros &x;
    uint64_t i, line;

    __device__ nonzero(const tuples_nonzeros &all, uint64_t at)
        : x(all), i(at), line(all.line ? all.line[at] : 0)
    {
    }

    __device__ uint32_t coordinate(int mode) const
    {
        return x.line ? uint32_t(line >> x.shift[mode]) & x.mask[mode] : x.index[mode][i];
    }

    __device__ uint32_t key(const tuples_map &map) const
    {
        uint32_t sum = 0;
        for (int k = map.first; k < map.last; k++)
            sum = sum * map.length[k - map.first] + coordinate(k);
        return sum;
    }
};

/* Returns whether the bit was not set before. Most nonzeros find their bit set: reading is cheaper
 * than an atomic operation. */
__device__ __forceinline__ bool mark_bit(uint64_t *bits, uint32_t key)
{
    const unsigned long long bit = 1ull << (key % 64);
    auto word = reinterpret_cast<unsigned long long *>(&bits[key / 64]);
    return !(__ldcg(word) & bit) && !(atomicOr(word, bit) & bit);
}

/* *sum += what all threads have found; all threads of a warp call it. */
__device__ __forceinline__ void add_found(uint32_t *sum, uint32_t found)
{
    for (int step = 16; step > 0; step /= 2)
        found += __shfl_down_sync(0xffffffffu, found, step);
    if (threadIdx.x % 32 == 0 && found)
        atomicAdd(sum, found);
}

__global__ void mark(const __grid_constant__ tuples_nonzeros x,
                     const __grid_constant__ tuples_map map, uint64_t n)
{
    for (uint64_t i = first_item(); i < n; i += stride()) {
        mark_bit(map.bits, nonzero(x, i).key(map));
    }
}

/* An odd factor numbers the keys anew modulo a power of two. */
__global__ void count(const __grid_constant__ tuples_nonzeros x,
                      const __grid_constant__ tuples_map map, const tuples_sample sample,
                      uint64_t n, uint64_t *bits, uint32_t *sum)
{
    const uint32_t mask = (1u << sample.key_bits) - 1;
    const uint32_t sampled = 1u << (sample.key_bits - sample.skipped_bits);
    uint32_t found = 0;
    for (uint64_t i = first_item(); i < n; i += stride()) {
        uint32_t key = nonzero(x, i).key(map) * 2654435761u & mask;
        if (key < sampled)
            found += mark_bit(bits, key);
    }
    add_found(sum, found);
}

/* One row of thread blocks for each kind. */
__global__ void count_parts(const __grid_constant__ tuples_nonzeros x,
                            const __grid_constant__ tuples_parts parts, int skipped, uint64_t n,
                            uint64_t *bits, uint32_t *sum)
{
    const int kind = blockIdx.y;
    uint32_t found = 0;
    for (uint64_t i = first_item(); i < n; i += stride()) {
        const nonzero here(x, i);
        uint64_t hash = 0;
        for (int mode = 0; mode < parts.order; mode++)
            if (parts.dropped[kind][mode] < TUPLES_ALL_BITS)
                hash = fiber_hash(hash, here.coordinate(mode) >> parts.dropped[kind][mode]);
        if (fiber_is_sampled(hash, skipped))
            found += mark_bit(bits + kind * FIBER_MAP_WORDS, fiber_bit(hash));
    }
    add_found(sum + kind, found);
}

__global__ void count_drawn(const __grid_constant__ tuples_nonzeros x, int mode, uint32_t first,
                            uint32_t last, uint64_t n, uint64_t *bits, uint32_t *sum)
{
    uint32_t found = 0;
    for (uint64_t draw = first + first_item(); draw < last; draw += stride()) {
        const uint64_t i = fiber_hash(0, uint32_t(draw)) % n;
        found += mark_bit(bits, nonzero(x, i).coordinate(mode));
    }
    add_found(sum, found);
}

__device__ uint32_t number_of(const tuples_map &map, uint32_t key)
{
    uint64_t below = map.bits[key / 64] & ((uint64_t(1) << (key % 64)) - 1);
    return map.before[key / 64] + uint32_t(__popcll(below));
}

/* All maps of a tensor, as one argument of a kernel. */
struct Maps {
    int count;
    tuples_map map[MAX_ORDER];
};

/* Works in place: a nonzero's line is read whole before it is written, and a group's number
 * replaces only coordinates of that group, which no later group reads. */
__global__ void reduce(const __grid_constant__ tuples_nonzeros x, const __grid_constant__ Maps maps,
                       const __grid_constant__ tuples_target to, uint64_t n)
{
    for (uint64_t i = first_item(); i < n; i += stride()) {
        nonzero here(x, i);
        uint64_t line = 0;
        for (int k = 0; k < maps.count; k++) {
            const tuples_map &map = maps.map[k];
            uint32_t number = map.bits ? number_of(map, here.key(map)) : here.coordinate(map.first);
            line |= uint64_t(number) << to.shift[k];
            if (to.index[k])
                to.index[k][i] = number;
        }
        if (to.line)
            to.line[i] = line;
    }
}

__global__ void list(const __grid_constant__ tuples_map map,
                     const __grid_constant__ tuples_target to, double *one)
{
    for (uint64_t w = first_item(); w < map.words; w += stride()) {
        uint32_t number = map.before[w];
        for (uint64_t bits = map.bits[w]; bits; bits &= bits - 1) {
            uint32_t key = uint32_t(w * 64 + __ffsll((long long)bits) - 1), own = number++;
            int modes = map.last - map.first;
            uint64_t line = uint64_t(own) << to.shift[modes];
            for (int k = modes - 1; k >= 0; k--) {
                uint32_t coordinate = key % map.length[k];
                key /= map.length[k];
                line |= uint64_t(coordinate) << to.shift[k];
                if (to.index[k])
                    to.index[k][own] = coordinate;
            }
            one[own] = 1;
            if (to.index[modes])
                to.index[modes][own] = own;
            if (to.line)
                to.line[own] = line;
        }
    }
}

} // namespace

cudaError_t tuples_count(const tuples_nonzeros *x, const tuples_map *map, tuples_sample sample,
                         uint64_t n, uint64_t *bits, uint32_t *sum, cudaStream_t stream)
{
    return launch_kernel(count, grid(n), THREADS, stream, *x, *map, sample, n, bits, sum);
}

cudaError_t tuples_count_parts(const tuples_nonzeros *x, const tuples_parts *parts, int skipped,
                               uint64_t n, uint64_t *bits, uint32_t *sum, cudaStream_t stream)
{
    const dim3 blocks(grid(n), unsigned(parts->kinds));
    return launch_kernel(count_parts, blocks, THREADS, stream, *x, *parts, skipped, n, bits, sum);
}

cudaError_t tuples_count_drawn(const tuples_nonzeros *x, int mode, uint32_t first, uint32_t last,
                               uint64_t n, uint64_t *bits, uint32_t *sum, cudaStream_t stream)
{
    if (n == 0 || last <= first)
        return cudaSuccess;
    return launch_kernel(count_drawn, grid(last - first), THREADS, stream, *x, mode, first, last, n,
                         bits, sum);
}

cudaError_t tuples_mark(const tuples_nonzeros *x, const tuples_map *map, uint64_t n,
                        cudaStream_t stream)
{
    return launch_kernel(mark, grid(n), THREADS, stream, *x, *map, n);
}

cudaError_t tuples_reduce(const tuples_nonzeros *x, const tuples_map *map, int maps,
                          const tuples_target *to, uint64_t n, cudaStream_t stream)
{
    Maps all = {};
    all.count = maps;
    std::copy(map, map + maps, all.map);
    return launch_kernel(reduce, grid(n), THREADS, stream, *x, all, *to, n);
}

cudaError_t tuples_list(const tuples_map *map, const tuples_target *to, double *one,
                        cudaStream_t stream)
{
    return launch_kernel(list, grid(map->words), THREADS, stream, *map, *to, one);
}
