/* Adds the runs of a row (row_run) to its system. */
#ifndef BLCO_ROW_RUN_ADDER_CUH
#define BLCO_ROW_RUN_ADDER_CUH

#include "kernels/rows/row_adder.cuh"
#include "kernels/rows/row_run.cuh"

template <typename T, int BLOCKS, bool COUNTS> struct row_run_adder : row_adder<T, BLOCKS, COUNTS> {
    using adder = row_adder<T, BLOCKS, COUNTS>;
    using adder::a, adder::room, adder::batches, adder::lane, adder::t, adder::g, adder::row,
        adder::b, adder::sum, adder::numbers, adder::row_adder, adder::read, adder::part_of_value,
        adder::square_of, adder::count_of, adder::add_vector, adder::add_matrix;
    using typename adder::factors;

    /* Whether the next nonzeros of the present row are a run, which begins with the window. */
    __device__ __forceinline__ bool begin_run()
    {
        return adder::IN_REGISTERS && batches.narrow && !adder::is_weighed() &&
               (a.mttkrp.gathers == 2 || a.mttkrp.gathers == 3) && batches.begin_run(row);
    }

    /* What nonzero lane / 2 of a step adds, which 2 lanes have. */
    __device__ __forceinline__ factors term_of(double x, double m)
    {
        return COUNTS ? count_of(x, m, a.unlisted) : square_of(x, 1, m, a.unlisted, 2);
    }

    /* x of lanes 8 t + g, where a run has what others have in lanes 4 g + t; and back. */
    __device__ __forceinline__ void to_tiles(double (&x)[BLOCKS]) const
    {
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            x[i] = moved(x[i], TILE_SIDE * t + g);
    }
    __device__ __forceinline__ void to_run(double (&x)[BLOCKS]) const
    {
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            x[i] = moved(x[i], lane % TILE_SIDE * 4 + lane / TILE_SIDE);
    }

    /* b is in the lanes of the run. */
    template <typename RUN>
    __device__ __forceinline__ void add_step(const RUN &run, int step, const double (&old)[BLOCKS])
    {
        double z[RUN_LANE][BLOCKS], m[RUN_LANE];
        run.multiply(step, z);
#pragma unroll
        for (int u = 0; u < RUN_LANE; u++)
            m[u] = part_of_value(z[u], old);
        const factors of = term_of(run.value(step), sum_of_lanes(m));
#pragma unroll
        for (int u = 0; u < RUN_LANE; u++)
            add_vector(moved(of.c, 2 * u, TILE_SIDE), z[u]);
#pragma unroll
        for (int u = 0; u < RUN_LANE; u += 2) {
            double w[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                to_tiles(z[u + half]);
                /* of squares, all nonzeros of a run have the same w */
                w[half] = COUNTS ? moved(of.w, TILE_SIDE * t + 2 * (u + half)) : of.w;
            }
            add_matrix(w, [&](int half, int i) { return z[u + half][i]; });
        }
    }

    /* Adds nothing. After a matrix instruction the compiler knows that the lanes are together; then
     * a step needs 40 instructions less. */
    __device__ __forceinline__ void join_lanes()
    {
        multiply_8x8x4(sum[0][0], sum[0][1], 0, 0);
    }

    /* Adds the window, and those after it that go on. */
    template <int GATHERS> __device__ __forceinline__ void add_run_of(T *stage)
    {
        using run_of = row_run<T, BLOCKS, GATHERS>;
        static_assert(sizeof(typename run_of::run_window) <=
                          GATHERS * BATCH * adder::LD * sizeof(T),
                      "a stage has room for a window");
        run_of run(a.mttkrp, stage);
        double old[BLOCKS];
        read(room.old, lane % TILE_SIDE, old);
        to_run(b);
        join_lanes();
        do {
            run.put(batches.now.index.word[0], batches.now.value);
            batches.pass_window();
            __syncwarp();
#pragma unroll 1
            for (int step = 0; step < WARP / RUN_STEP; step++)
                add_step(run, step, old);
            __syncwarp();
            numbers.known += 4;
        } while (batches.run_goes_on(row));
        to_tiles(b);
        batches.end_run();
    }

    /* stage: one that is free. */
    __device__ __forceinline__ void add_run(T *stage)
    {
        if constexpr (adder::IN_REGISTERS) {
            if (a.mttkrp.gathers == 2)
                add_run_of<2>(stage);
            else
                add_run_of<3>(stage);
        }
    }
};

#endif
