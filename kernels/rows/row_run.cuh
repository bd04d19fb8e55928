/* A run: nonzeros of one row, a window of 32 after the other, in steps of 16. The rows that a step
 * gathers go to registers; they are read so that 8 lanes have neighbouring pieces of one row, and
 * their products change lanes for the matrix instructions. Through shared memory, as batches go
 * (row_batches), the same numbers pass L1 twice as often. */
#ifndef BLCO_ROW_RUN_CUH
#define BLCO_ROW_RUN_CUH

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"
#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"

constexpr int RUN_STEP = 16;           /* nonzeros at a time                            */
constexpr int RUN_LANE = RUN_STEP / 4; /* of which a lane has pieces: 8 lanes have each */

/* x of lane `from` among `width` lanes. The compiler finds a register pair for the result; where
 * __shfl_sync moves a double, it often has to swap the two. */
__device__ __forceinline__ double moved(double x, int from, int width = WARP)
{
    const int low = __shfl_sync(ALL, __double2loint(x), from, width);
    const int high = __shfl_sync(ALL, __double2hiint(x), from, width);
    return __hiloint2double(high, low);
}

/* The sum over lanes 8 q to 8 q + 7 of x[u], in lanes 8 q + 2 u and 8 q + 2 u + 1. */
__device__ __forceinline__ double sum_of_lanes(const double (&x)[RUN_LANE])
{
    const bool upper = threadIdx.x & 4, odd = threadIdx.x & 2;
    double half[2];
#pragma unroll
    for (int k = 0; k < 2; k++)
        half[k] = (upper ? x[2 + k] : x[k]) + __shfl_xor_sync(ALL, upper ? x[k] : x[2 + k], 4);
    double sum = (odd ? half[1] : half[0]) + __shfl_xor_sync(ALL, odd ? half[0] : half[1], 2);
    return sum + __shfl_xor_sync(ALL, sum, 1);
}

/* Lane 8 q + e has nonzeros 4 q + u of a step, u from 0 to RUN_LANE - 1, and entries e of all
 * blocks, as struct row_adder has them; the index is one word, without bases. */
template <typename T, int BLOCKS, int GATHERS> struct row_run {
    static constexpr int ENTRIES = BLOCKS == 1 ? 1 : 2; /* of a piece, which is read at once */
    static constexpr int PIECES = BLOCKS / ENTRIES;     /* of a row, in a lane               */
    using piece = row_entries<T, ENTRIES>;
    static constexpr uint32_t WHOLE_BYTES = PIECES * TILE_SIDE * sizeof(piece);

    /* The nonzeros of a window; shared. */
    struct alignas(16) run_window {
        uint32_t row[GATHERS][WARP]; /* that they gather */
        double value[WARP];
    };

    const mttkrp_args &a;
    run_window &window;
    const uint32_t row_bytes;
    const bool whole;          /* rows have all pieces                                      */
    uint32_t second;           /* bytes from this lane's first piece of a row to its second */
    const char *from[GATHERS]; /* this lane's first piece of row 0                          */

    /* shared: as long as a window, 16-byte aligned. A piece after the last of a row counts nothing:
     * the last is read in its place. */
    __device__ __forceinline__ row_run(const mttkrp_args &args, void *shared)
        : a(args), window(*static_cast<run_window *>(shared)),
          row_bytes(args.vectors * VECTOR_BYTES), whole(PIECES > 1 && row_bytes == WHOLE_BYTES)
    {
        constexpr uint32_t BYTES = sizeof(piece);
        const uint32_t e = threadIdx.x % TILE_SIDE, first = min(e * BYTES, row_bytes - BYTES);
        second = min((e + TILE_SIDE) * BYTES, row_bytes - BYTES) - first;
#pragma unroll
        for (int k = 0; k < GATHERS; k++) {
            from[k] = static_cast<const char *>(a.gather[k].rows) + first;
            keep(from[k]);
        }
    }

    /* The compiler does not compute x again where it is needed. */
    template <typename X> __device__ __forceinline__ static void keep([[maybe_unused]] X &x)
    {
#ifdef __CUDA_ARCH__
        asm volatile("" : "+l"(x));
#endif
    }

    /* Makes a window of the nonzero of each lane. */
    __device__ __forceinline__ void put(uint64_t index, double value)
    {
        const uint32_t lane = threadIdx.x;
#pragma unroll
        for (int k = 0; k < GATHERS; k++) {
            const mttkrp_field &field = a.gather[k].field;
            window.row[k][lane] = static_cast<uint32_t>(index >> field.shift) & field.mask;
        }
        window.value[lane] = value;
    }

    /* The value of nonzero lane / 2 of a step. */
    __device__ __forceinline__ double value(int step) const
    {
        return window.value[step * RUN_STEP + threadIdx.x / 2];
    }

    /* Nonzeros whose rows are on their way at once, as registers have room. */
    static constexpr int AT_ONCE = GATHERS * BLOCKS <= 8 ? RUN_LANE : RUN_LANE / 2;
    using pieces = piece[AT_ONCE][PIECES];

    /* x = the pieces of the rows of nonzeros 4 q + first + u of a step. */
    template <bool WHOLE>
    __device__ __forceinline__ void read(int step, int first, pieces (&x)[GATHERS]) const
    {
        using indices = row_entries<uint32_t, AT_ONCE>;
        const uint32_t place = step * RUN_STEP + threadIdx.x / TILE_SIDE * RUN_LANE + first;
#pragma unroll
        for (int k = 0; k < GATHERS; k++) {
            const indices i = *reinterpret_cast<const indices *>(window.row[k] + place);
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                const char *at = from[k] + uint64_t{i.x[u]} * (WHOLE ? WHOLE_BYTES : row_bytes);
#pragma unroll
                for (int p = 0; p < PIECES; p++) {
                    const uint32_t offset = WHOLE ? TILE_SIDE * sizeof(piece) : second;
                    x[k][u][p] = ldg_entries(reinterpret_cast<const piece *>(at + p * offset));
                }
            }
        }
    }

    /* z = the products of the rows of a step. */
    __device__ __forceinline__ void multiply(int step, double (&z)[RUN_LANE][BLOCKS]) const
    {
#pragma unroll
        for (int first = 0; first < RUN_LANE; first += AT_ONCE) {
            pieces x[GATHERS];
            if (whole)
                read<true>(step, first, x);
            else
                read<false>(step, first, x);
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
#pragma unroll
                for (int i = 0; i < BLOCKS; i++) {
                    double product = x[0][u][i / ENTRIES].x[i % ENTRIES];
#pragma unroll
                    for (int k = 1; k < GATHERS; k++)
                        product *= x[k][u][i / ENTRIES].x[i % ENTRIES];
                    z[first + u][i] = product;
                }
        }
    }
};

#endif
