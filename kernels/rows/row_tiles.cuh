/* Half of G = sum of w z z', in tiles of 8 x 8 that a warp sums in registers by matrix
 * instructions. An instruction takes two tiles below each other, 16 x 8. */
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

/* Pairs of rows 2 q and 2 q + 1 have the columns 0 to 2 q + 1: all tiles (i, j) with i >= j, and
 * (2 q, 2 q + 1), whose mirror image is among them. So a lane's part of z stays in place as the
 * left operand. */
template <int BLOCKS> constexpr int tile_pairs = BLOCKS == 1 ? 1 : BLOCKS / 2 * (BLOCKS / 2 + 1);

__host__ __device__ constexpr tile_pair tile_pair_at(int k)
{
    int row = 0;
    while (k >= row + 2) {
        k -= row + 2;
        row += 2;
    }
    return {row, k};
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
