/* The upper half of G = sum of w z z', in tiles of 8 x 8 that a warp sums in registers by matrix
 * instructions. Two tiles of one column of tiles make one instruction of 16 x 8. */
#ifndef BLCO_ROW_TILES_CUH
#define BLCO_ROW_TILES_CUH

#include <type_traits>

constexpr int TILE_SIDE = 8;

/* Tiles (low, column) and (high, column); one tile alone where both are the same. */
struct tile_pair {
    int low, high, column;
};

/* Of every tile or its mirror image, one is in one pair. A column of BLOCKS - c tiles, from the
 * diagonal down, has pairs; where their number is odd, the mirror image of the last is in the last
 * column. */
template <int BLOCKS> __host__ __device__ constexpr int tile_pairs()
{
    return BLOCKS % 4 == 0 ? BLOCKS * (BLOCKS + 1) / 4 : BLOCKS;
}

template <int BLOCKS> __host__ __device__ constexpr tile_pair tile_pair_at(int wanted)
{
    int seen = 0;
    for (int c = 0; c < BLOCKS - 1; c++) {
        const int tiles = (BLOCKS - c) / 2 * 2;
        for (int k = 0; k < tiles; k += 2)
            if (seen++ == wanted)
                return {c + k, c + k + 1, c};
    }
    int waits = BLOCKS - 1; /* a tile of the last column that has no partner yet */
    for (int c = 1; c < BLOCKS - 1; c += 2) {
        if (waits < 0) {
            waits = c;
        } else {
            if (seen++ == wanted)
                return {waits, c, BLOCKS - 1};
            waits = -1;
        }
    }
    return {waits, waits, BLOCKS - 1};
}

/* f(number of the pair as a constant) for all of them. */
template <int BLOCKS, int K = 0, typename F> __device__ __forceinline__ void each_tile_pair(F &&f)
{
    if constexpr (K < tile_pairs<BLOCKS>()) {
        f(std::integral_constant<int, K>{});
        each_tile_pair<BLOCKS, K + 1>(f);
    }
}

__device__ __forceinline__ void multiply_8x8x4(double &x, double &y, double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(x), "+d"(y)
                 : "d"(a), "d"(b));
#else
    const int row = threadIdx.x % 32 / 4 * 4, column = threadIdx.x % 4 * 8;
    for (int k = 0; k < 4; k++) {
        const double left = __shfl_sync(~0u, a, row + k);
        x = fma(left, __shfl_sync(~0u, b, column + k), x);
        y = fma(left, __shfl_sync(~0u, b, column + 4 + k), y);
    }
#endif
}

/* sum += [low; high] column' of 8 nonzeros. Lane 4 g + t has entry g of nonzeros t and t + 4, and
 * of the sums rows g and g + 8, columns 2 t and 2 t + 1. */
__device__ __forceinline__ void multiply_tiles(double (&sum)[4], const double (&low)[2],
                                               const double (&high)[2], const double (&column)[2])
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(low[0]), "d"(high[0]), "d"(low[1]), "d"(high[1]), "d"(column[0]),
                   "d"(column[1]));
#else
    for (int k = 0; k < 2; k++) {
        multiply_8x8x4(sum[0], sum[1], low[k], column[k]);
        multiply_8x8x4(sum[2], sum[3], high[k], column[k]);
    }
#endif
}

#endif
