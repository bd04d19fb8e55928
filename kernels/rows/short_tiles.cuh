/* Matrix instructions on rows (WARP x R) in the room of a window. */
#pragma once

#include "kernels/rows/row_tiles.cuh"
#include "numerics/unrolled.cuh"

template <int COLUMNS> struct short_tiles {
    static constexpr int LD = COLUMNS + 1; /* as in the room */
    static constexpr int STEPS = COLUMNS / TILE_SIDE;

    /* Each lane t has four neighbours of 16 components, two in either of two steps: those are in
     * different banks. */
    __device__ __forceinline__ static uint32_t component(int step, int t, int half)
    {
        return step / 2 * 16 + 4 * t + step % 2 * 2 + half;
    }

    /* x[i][half] = component(step, t, half) of row g of tile i, in lane 4 g + t. */
    template <int TILES> using operand = double[TILES][2];
    template <int TILES>
    __device__ __forceinline__ static void read_step(const double *rows, int step,
                                                     operand<TILES> &x)
    {
        const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
        EACH_UNROLLED(i, TILES)
            EACH_UNROLLED(half, 2)
                x[i][half] = rows[(TILE_SIDE * i + g) * LD + component(step, t, half)];
    }

    /* A step of a column of a matrix (R x R) in global memory. */
    __device__ __forceinline__ static double entry(const double *matrix, uint32_t rank, uint32_t i,
                                                   uint32_t column)
    {
        return i < rank && column < rank ? __ldg(matrix + i * rank + column) : 0;
    }

    /* sum += a step of the rows times the matrix: of each two tiles as in multiply_add, where
     * lanes 4 g + t have column g, as `column` says. */
    template <int TILES>
    __device__ __forceinline__ static void
    multiply_step(double (&sum)[TILES / 2][4], const operand<TILES> &x, int step,
                  const double *matrix, uint32_t rank, uint32_t column)
    {
        const int t = static_cast<int>(threadIdx.x) % 4;
        const double right[2] = {entry(matrix, rank, component(step, t, 0), column),
                                 entry(matrix, rank, component(step, t, 1), column)};
#pragma unroll
        for (int i = 0; i < TILES; i += 2)
            multiply_add(sum[i / 2], x[i][0], x[i + 1][0], x[i][1], x[i + 1][1], right[0],
                         right[1]);
    }
};
