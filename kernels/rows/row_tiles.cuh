/* Half of G = sum of w z z', in tiles of 8 x 8 that warps sum in registers by matrix instructions.
 * An instruction takes two tiles below each other, 16 x 8. */
#ifndef BLCO_ROW_TILES_CUH
#define BLCO_ROW_TILES_CUH

#include <type_traits>

#include "kernels/rows/row_warp.cuh"

constexpr int TILE_SIDE = 8;

/* Tiles (row, column) and (row + 1, column), of which the second is not there where row is the last
 * block. */
struct tile_pair {
    int row, column;
};

/* Warps that sum the system of one row: the tiles of 8 blocks are too many for the registers of a
 * warp. Each sums b and rows of tiles of some blocks, which are the first in its own order. */
template <int BLOCKS> constexpr int warps_of_row = BLOCKS > 4 ? 2 : 1;
template <int BLOCKS> constexpr int own_blocks = BLOCKS / warps_of_row<BLOCKS>;

/* A warp's blocks 2 p and 2 p + 1 are blocks 2 q and 2 q + 1 of all, q the result: of two warps, 0,
 * 1, 2, 3 and 2, 3, 1, 0. */
__host__ __device__ constexpr int block_pair_of(int warp, int p)
{
    return p ^ (warp * (2 + p / 2));
}

/* Columns of other warps' blocks that a pair of rows has. */
template <int BLOCKS> constexpr int far_columns = warps_of_row<BLOCKS> > 1 ? 2 : 0;

/* Pairs of rows 2 q and 2 q + 1 have the columns 0 to 2 q + 1: all tiles (i, j) with i >= j, and (2
 * q, 2 q + 1), whose mirror image is among them. So a lane's part of z stays in place as the left
 * operand. If two warps work together, they have columns 4 + 2 q and 5 + 2 q, too, which are not
 * the warp's own. In twos of all blocks, one warp so has (0, 2) and (1, 3) and the other one (2, 1)
 * and (3, 0). */
template <int BLOCKS>
constexpr int tile_pairs = BLOCKS == 1 ? 1
                                       : own_blocks<BLOCKS> / 2 *
                                             (own_blocks<BLOCKS> / 2 + 1 + far_columns<BLOCKS>);

template <int BLOCKS> __host__ __device__ constexpr tile_pair tile_pair_at(int k)
{
    int row = 0;
    while (k >= row + 2 + far_columns<BLOCKS>) {
        k -= row + 2 + far_columns<BLOCKS>;
        row += 2;
    }
    return {row, k < row + 2 ? k : own_blocks<BLOCKS> + k - 2};
}

/* f(number of the pair as a constant) for all of them. */
template <int BLOCKS, int K = 0, typename F> __device__ __forceinline__ void each_tile_pair(F &&f)
{
    if constexpr (K < tile_pairs<BLOCKS>) {
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
    const int row = threadIdx.x % WARP / 4 * 4, column = threadIdx.x % 4 * 8;
#pragma unroll 1 /* it stands in many places */
    for (int k = 0; k < 4; k++) {
        const double left = __shfl_sync(ALL, a, row + k);
        x = fma(left, __shfl_sync(ALL, b, column + k), x);
        y = fma(left, __shfl_sync(ALL, b, column + 4 + k), y);
    }
#endif
}

/* sum += left right' of 8 nonzeros. Lane 4 g + t has, of nonzero t and then of nonzero t + 4,
 * entries g of two blocks on the left and entry g of one on the right; and rows g and g + 8,
 * columns 2 t and 2 t + 1 of the sum. */
__device__ __forceinline__ void multiply_tiles(double (&sum)[4], double low, double high,
                                               double low_4, double high_4, double right,
                                               double right_4)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(low), "d"(high), "d"(low_4), "d"(high_4), "d"(right), "d"(right_4));
#else
    multiply_8x8x4(sum[0], sum[1], low, right);
    multiply_8x8x4(sum[0], sum[1], low_4, right_4);
    multiply_8x8x4(sum[2], sum[3], high, right);
    multiply_8x8x4(sum[2], sum[3], high_4, right_4);
#endif
}

#endif
