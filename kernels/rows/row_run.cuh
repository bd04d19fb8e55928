/* A run: many nonzeros of one row, 8 at a time, whose gathered rows go to registers. They are read
 * so that a quarter of the warp reads 128 bytes of a row at once, and their products change lanes
 * for the matrix instructions. Through shared memory, as the batches of short rows go
 * (row_batches), the same numbers pass L1 twice as often. */
#ifndef BLCO_ROW_RUN_CUH
#define BLCO_ROW_RUN_CUH

#include <cuda_pipeline_primitives.h>
#include <stdint.h>

#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"

constexpr int ROUND = WARP / BATCH; /* batches whose indices are read at a time */

/* The nonzeros of a round and of the next, in shared memory. */
template <typename T> struct row_run_ring {
    static constexpr uint32_t SIZE = 2 * WARP;
    uint64_t index[SIZE];
    union {
        T value;
        double wide;
    } of[SIZE];
};

/* Indices have one word, without bases. Places are counted from the run's first nonzero. */
template <typename T, int BLOCKS, int GATHERS> struct row_run {
    static constexpr int ENTRIES = BLOCKS == 1 ? 1 : 2; /* that a lane reads at once */
    static constexpr int READS = BLOCKS / ENTRIES;      /* of a row, by a lane       */
    using piece = row_entries<T, ENTRIES>;
    using ring_type = row_run_ring<T>;

    const mttkrp_args &a;
    ring_type &ring;
    const uint64_t begin;       /* the first nonzero                             */
    const uint32_t last;        /* nonzero of the span                           */
    uint32_t at;                /* the batch whose rows are there or on their way */
    piece x[GATHERS][2][READS]; /* lane 8 q + e: pieces e, e + 8 of nonzeros q, q + 4 of it */

    /* shared: as long as a ring, 8-byte aligned; nothing is on its way there. */
    __device__ __forceinline__ row_run(const mttkrp_args &args, void *shared, uint64_t from,
                                       uint64_t end)
        : a(args), ring(*static_cast<ring_type *>(shared)), begin(from),
          last(static_cast<uint32_t>(end - from) - 1), at(0)
    {
    }

    /* Starts to copy the nonzeros of the round from `place` on. */
    __device__ __forceinline__ void fetch(uint32_t place)
    {
        const uint32_t mine = place + threadIdx.x, slot = mine % ring_type::SIZE;
        const uint64_t i = begin + min(mine, last);
        __pipeline_memcpy_async(&ring.index[slot], a.index[0] + i, sizeof ring.index[0]);
        if (has_wide_values(a, precision_of<T>))
            __pipeline_memcpy_async(&ring.of[slot].wide, static_cast<const double *>(a.value) + i,
                                    sizeof(double));
        else
            __pipeline_memcpy_async(&ring.of[slot].value, static_cast<const T *>(a.value) + i,
                                    sizeof(T));
        __pipeline_commit();
    }

    __device__ __forceinline__ void wait()
    {
        __pipeline_wait_prior(0);
        __syncwarp();
    }

    /* How many batches of the round from `at` on belong to the row as a whole. */
    __device__ __forceinline__ int whole_batches(uint32_t row) const
    {
        const uint32_t mine = at + threadIdx.x;
        const uint64_t index = ring.index[mine % ring_type::SIZE];
        const bool of_row =
            mine <= last && (static_cast<uint32_t>(index >> a.output.shift) & a.output.mask) == row;
        const uint32_t others = ~__ballot_sync(ALL, of_row);
        return (others ? __ffs(static_cast<int>(others)) - 1 : WARP) / BATCH;
    }

    /* Of the first round. */
    __device__ __forceinline__ int start(uint32_t row)
    {
        __syncwarp();
        fetch(0);
        wait();
        return whole_batches(row);
    }

    /* Nothing stays in the ring that is not a number: batches read places that they count 0 times.
     */
    __device__ __forceinline__ void finish()
    {
        __syncwarp();
        for (uint32_t i = threadIdx.x; i < ring_type::SIZE; i += WARP) {
            ring.index[i] = 0;
            ring.of[i].wide = 0;
        }
        __syncwarp();
    }

    /* The value of nonzero `lane % BATCH` of the batch. */
    __device__ __forceinline__ double value() const
    {
        const auto &of = ring.of[(at + threadIdx.x % BATCH) % ring_type::SIZE];
        return has_wide_values(a, precision_of<T>) ? of.wide : static_cast<double>(of.value);
    }

    /* Starts to read the rows of the batch at `place`, whose indices are there. A piece after the
     * last of a row counts nothing: the last is read in its place. */
    __device__ __forceinline__ void take(uint32_t place)
    {
        constexpr uint32_t BYTES = sizeof(piece);
        const uint32_t row_bytes = a.vectors * VECTOR_BYTES, e = threadIdx.x % TILE_SIDE;
        at = place;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint64_t index =
                ring.index[place % ring_type::SIZE + 4 * half + threadIdx.x / TILE_SIDE];
#pragma unroll
            for (int k = 0; k < GATHERS; k++) {
                const mttkrp_field &field = a.gather[k].field;
                const uint64_t i = static_cast<uint32_t>(index >> field.shift) & field.mask;
                const char *row = static_cast<const char *>(a.gather[k].rows) + i * row_bytes;
#pragma unroll
                for (int p = 0; p < READS; p++) {
                    const uint32_t of = min((e + p * TILE_SIDE) * BYTES, row_bytes - BYTES);
                    x[k][half][p] = ldg_entries(reinterpret_cast<const piece *>(row + of));
                }
            }
        }
    }

    /* z[half] = the products of the rows of nonzero t + 4 half of the batch: lane 4 g + t has
     * entries g of all blocks, as struct row_adder has them. */
    __device__ __forceinline__ void multiply(double (&z)[2][BLOCKS]) const
    {
        const uint32_t from = threadIdx.x % 4 * TILE_SIDE + threadIdx.x / 4;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int i = 0; i < BLOCKS; i++) {
                double product = x[0][half][i / ENTRIES].x[i % ENTRIES];
#pragma unroll
                for (int k = 1; k < GATHERS; k++)
                    product *= x[k][half][i / ENTRIES].x[i % ENTRIES];
                z[half][i] = __shfl_sync(ALL, product, from);
            }
    }
};

#endif
