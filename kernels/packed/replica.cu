#include "kernels/packed/replica.h"

namespace
{

constexpr uint32_t WARP = 32, ALL = 0xffffffffu;
constexpr uint32_t THREADS = 256;
constexpr uint32_t ITEMS = 4; /* nonzeros of a thread; a tile takes one addition to the count */
constexpr uint64_t TILE = THREADS * ITEMS;
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 16;
constexpr uint32_t NO_ROW = 0xffffffffu; /* no mode is that long */

using line_words_1 = uint64_t;
using line_words_2 = unsigned __int128;

unsigned grid(uint64_t nnz)
{
    return thread_blocks(nnz, TILE, MOST_THREAD_BLOCKS);
}

__device__ uint64_t coordinate(const replica_map &map, int n, const uint64_t *word)
{
    return word[map.mode[n].word != 0] >> map.mode[n].shift & map.mode[n].mask;
}

__device__ void load_words(const replica_batch &batch, const replica_map &map, uint64_t i,
                           uint64_t *word)
{
    word[0] = batch.index[0][i];
    word[1] = map.words > 1 ? batch.index[1][i] : 0;
}

/* Nonzeros of a warp that are in the same row take one addition: in some orderings they are
 * neighbours. */
__global__ void count_rows(const __grid_constant__ replica_batch batch,
                           const __grid_constant__ replica_map map, uint32_t *__restrict__ count)
{
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * THREADS;
    for (uint64_t base = static_cast<uint64_t>(blockIdx.x) * THREADS; base < batch.nnz;
         base += stride) {
        uint64_t i = base + threadIdx.x;
        uint32_t row = NO_ROW;
        if (i < batch.nnz) {
            uint64_t word[PACKED_WORDS];
            load_words(batch, map, i, word);
            row = static_cast<uint32_t>(coordinate(map, map.kind, word));
        }
        uint32_t same = __match_any_sync(ALL, row);
        if (row != NO_ROW && threadIdx.x % WARP == static_cast<uint32_t>(__ffs(same)) - 1)
            atomicAdd(&count[row], static_cast<uint32_t>(__popc(same)));
    }
}

/* A place of its own for each thread of the thread block that asks for one; *taken (shared) counts
 * the places. */
__device__ uint32_t take_place(bool wanted, uint32_t *taken)
{
    uint32_t votes = __ballot_sync(ALL, wanted), lane = threadIdx.x % WARP, first = 0;
    if (lane == 0 && votes != 0)
        first = atomicAdd(taken, static_cast<uint32_t>(__popc(votes)));
    first = __shfl_sync(ALL, first, 0);
    return first + __popc(votes & ((1u << lane) - 1));
}

template <typename Line>
__global__ void append(const __grid_constant__ replica_batch batch,
                       const __grid_constant__ replica_map map,
                       const __grid_constant__ replica_piece piece)
{
    __shared__ uint32_t taken;
    __shared__ unsigned long long start;
    for (uint64_t base = blockIdx.x * TILE; base < batch.nnz; base += gridDim.x * TILE) {
        uint64_t word[ITEMS][PACKED_WORDS];
        uint32_t place[ITEMS];
        bool wanted[ITEMS];
        if (threadIdx.x == 0)
            taken = 0;
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < ITEMS; k++) {
            uint64_t i = base + k * THREADS + threadIdx.x;
            wanted[k] = false;
            if (i < batch.nnz) {
                load_words(batch, map, i, word[k]);
                uint64_t row = coordinate(map, map.kind, word[k]);
                wanted[k] = row >= piece.begin && row < piece.end;
            }
            place[k] = take_place(wanted[k], &taken);
        }
        __syncthreads();
        if (threadIdx.x == 0 && taken > 0) /* most batches have only a few of these rows */
            start = atomicAdd(reinterpret_cast<unsigned long long *>(piece.count),
                              static_cast<unsigned long long>(taken));
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < ITEMS; k++) {
            uint64_t to = start + place[k];
            if (!wanted[k] || to >= piece.room)
                continue;
            Line line = 0;
            for (int n = 0; n < map.order; n++)
                line |= static_cast<Line>(coordinate(map, n, word[k])) << map.mode[n].place;
            static_cast<Line *>(piece.line)[to] = line;
            piece.value[to] = batch.value[base + k * THREADS + threadIdx.x];
        }
    }
}

} // namespace

cudaError_t replica_count_rows(const replica_batch *batch, const replica_map *map, uint32_t *count,
                               cudaStream_t stream)
{
    return launch_kernel(count_rows, grid(batch->nnz), THREADS, stream, *batch, *map, count);
}

cudaError_t replica_append(const replica_batch *batch, const replica_map *map,
                           const replica_piece *piece, cudaStream_t stream)
{
    const auto kernel = map->words == 1 ? append<line_words_1> : append<line_words_2>;
    return launch_kernel(kernel, grid(batch->nnz), THREADS, stream, *batch, *map, *piece);
}
