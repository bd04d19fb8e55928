/* A run: nonzeros of one row, a window of 32 after the other, in steps of 16. The rows that a step
 * gathers go to registers; they are read so that 8 lanes have neighbouring pieces of one row, and
 * their products change lanes for the matrix instructions. Through shared memory, as batches go
 * (row_batches), the same numbers pass L1 twice as often. If two warps work together, each reads
 * the rows of half of a step's nonzeros. */
#pragma once

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"
#include "kernels/rows/row_batches.cuh"
#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/unrolled.cuh"

constexpr int RUN_STEP = 16; /* nonzeros at a time, of all warps */

/* The sum over lanes 8 q to 8 q + 7 of x[u], in 8 / COUNT of them from 8 q + 8 / COUNT * u on. */
template <int COUNT> __device__ __forceinline__ double sum_of_lanes(const double (&x)[COUNT])
{
    static_assert(COUNT == 2 || COUNT == 4, "one or two halvings");
    const bool upper = threadIdx.x & 4, odd = threadIdx.x & 2;
    double half[COUNT / 2];
    EACH_UNROLLED(k, COUNT / 2)
        half[k] = (upper ? x[COUNT / 2 + k] : x[k]) +
                  __shfl_xor_sync(ALL, upper ? x[k] : x[COUNT / 2 + k], 4);
    double sum = half[0];
    if constexpr (COUNT == 2)
        sum += __shfl_xor_sync(ALL, sum, 2);
    else
        sum = (odd ? half[1] : half[0]) + __shfl_xor_sync(ALL, odd ? half[0] : half[1], 2);
    return sum + __shfl_xor_sync(ALL, sum, 1);
}

/* Thread 8 q + e has nonzeros LANE q + u of a step, u from 0 to LANE - 1, and entries e of all
 * blocks, as a row has them; the index is one word, without bases. */
template <typename T, int BLOCKS, int GATHERS> struct row_run {
    static constexpr int WARPS = warps_of_row<BLOCKS>;
    static constexpr int LANE = RUN_STEP / (4 * WARPS);
    static constexpr int ENTRIES = BLOCKS == 1 ? 1 : 2; /* of a piece, which is read at once */
    static constexpr int PIECES = BLOCKS / ENTRIES;     /* of a row, in a lane               */
    using piece = row_entries<T, ENTRIES>;
    static constexpr uint32_t PIECE_BYTES = TILE_SIDE * sizeof(piece); /* from one to the next */
    static constexpr uint32_t WHOLE_BYTES = PIECES * PIECE_BYTES;

    /* The nonzeros of a window; shared. */
    struct alignas(16) run_window {
        uint32_t row[GATHERS][WARP]; /* that they gather */
        double value[WARP];
        coming_window next;
    };

    const mttkrp_args &a;
    run_window &window; /* of this warp */
    const uint32_t row_bytes;
    const bool whole;          /* rows have all pieces                                      */
    uint32_t later[PIECES];    /* bytes from this lane's first piece of a row to each       */
    const char *from[GATHERS]; /* this lane's first piece of row 0                          */

    /* shared: a window for each warp. A piece after the last of a row counts nothing: the last is
     * read in its place. */
    __device__ __forceinline__ row_run(const mttkrp_args &args, run_window *shared)
        : a(args), window(shared[warp_of_thread<WARPS>()]), row_bytes(args.vectors * VECTOR_BYTES),
          whole(row_bytes == WHOLE_BYTES)
    {
        const uint32_t last = row_bytes - sizeof(piece);
        const uint32_t at = threadIdx.x % TILE_SIDE * sizeof(piece), first = min(at, last);
        EACH_UNROLLED(p, PIECES)
            later[p] = min(at + p * PIECE_BYTES, last) - first;
        EACH_UNROLLED(k, GATHERS) {
            from[k] = static_cast<const char *>(a.gather[k].rows) + first;
            take_as_new(from[k]); /* it is not computed again where it is needed */
        }
    }

    /* Makes a window of the nonzero of each lane. */
    __device__ __forceinline__ void put(uint64_t index, double value)
    {
        const uint32_t lane = lane_of_thread<WARPS>();
        EACH_UNROLLED(k, GATHERS) {
            const mttkrp_field &field = a.gather[k].field;
            window.row[k][lane] = static_cast<uint32_t>(index >> field.shift) & field.mask;
        }
        window.value[lane] = value;
    }

    /* The value of a nonzero of a step. */
    __device__ __forceinline__ double value(int step, uint32_t nonzero) const
    {
        return window.value[step * RUN_STEP + nonzero];
    }

    /* Nonzeros of a lane, and pieces of their rows, that are on their way at once, as registers
     * have room. */
    static constexpr int ROWS_AT_ONCE = WARPS > 1 || GATHERS *BLOCKS <= 8 ? LANE : LANE / 2;
    static constexpr int PIECES_AT_ONCE = WARPS > 1 ? PIECES / 2 : PIECES;
    using pieces = piece[ROWS_AT_ONCE][PIECES_AT_ONCE];
    using products = double[ROWS_AT_ONCE][PIECES_AT_ONCE * ENTRIES];

    /* x = the pieces, from `first_piece` on, of the rows of nonzeros LANE q + first + u of a step.
     */
    template <bool WHOLE>
    __device__ __forceinline__ void read(int step, int first, int first_piece,
                                         pieces (&x)[GATHERS]) const
    {
        using indices = row_entries<uint32_t, ROWS_AT_ONCE>;
        const uint32_t place = step * RUN_STEP + threadIdx.x / TILE_SIDE * LANE + first;
        EACH_UNROLLED(k, GATHERS) {
            const indices i = *reinterpret_cast<const indices *>(window.row[k] + place);
            EACH_UNROLLED(u, ROWS_AT_ONCE) {
                const char *at = from[k] + uint64_t{i.x[u]} * (WHOLE ? WHOLE_BYTES : row_bytes);
                EACH_UNROLLED(p, PIECES_AT_ONCE) {
                    const int q = first_piece + p;
                    const uint32_t offset = WHOLE ? q * PIECE_BYTES : later[q];
                    x[k][u][p] = ldg_entries(reinterpret_cast<const piece *>(at + offset));
                }
            }
        }
    }

    /* The products of the rows of a step, part by part: f(u, i, z), where z has those of this
     * lane's nonzeros from u on and of blocks from i on. */
    template <typename F> __device__ __forceinline__ void multiply(int step, F &&f) const
    {
#pragma unroll
        for (int first = 0; first < LANE; first += ROWS_AT_ONCE)
#pragma unroll
            for (int first_piece = 0; first_piece < PIECES; first_piece += PIECES_AT_ONCE) {
                pieces x[GATHERS];
                products z;
                /* After a branch all rows are on their way; without one, the compiler would
                 * read some of them later. */
                if (whole)
                    read<true>(step, first, first_piece, x);
                else
                    read<false>(step, first, first_piece, x);
                EACH_UNROLLED(u, ROWS_AT_ONCE)
                    EACH_UNROLLED(i, PIECES_AT_ONCE * ENTRIES) {
                        z[u][i] = x[0][u][i / ENTRIES].x[i % ENTRIES];
#pragma unroll
                        for (int k = 1; k < GATHERS; k++)
                            z[u][i] *= x[k][u][i / ENTRIES].x[i % ENTRIES];
                    }
                f(first, first_piece * ENTRIES, z);
            }
    }
};
