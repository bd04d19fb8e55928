/* Half of G = sum of w z z', in tiles of 8 x 8 that warps sum in registers by matrix instructions.
 * An instruction takes two tiles below each other, 16 x 8. */
#pragma once

#include <type_traits>

#include "kernels/dense/warp_matrix.cuh"
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
