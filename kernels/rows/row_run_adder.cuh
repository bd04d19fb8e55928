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

    /* What a nonzero adds that `times` of 4 lanes have. */
    __device__ __forceinline__ factors term_of(double x, double m, double times)
    {
        return COUNTS ? count_of(x, m, a.unlisted) : square_of(x, 1, m, a.unlisted, times);
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

    /* Adds the nonzeros of a step, of which x is value(), z the products; b is in the lanes of the
     * run. */
    template <int LANE>
    __device__ __forceinline__ void add_step(double x, double (&z)[LANE][BLOCKS],
                                             const double (&old)[BLOCKS])
    {
        constexpr int LANES = TILE_SIDE / LANE; /* that have a nonzero */
        double m[LANE];
#pragma unroll
        for (int u = 0; u < LANE; u++)
            m[u] = part_of_value(z[u], old);
        const factors of = term_of(x, sum_of_lanes(m, TILE_SIDE), 4.0 / LANES);
#pragma unroll
        for (int u = 0; u < LANE; u++)
            add_vector(moved(of.c, LANES * u, TILE_SIDE), z[u]);
#pragma unroll
        for (int u = 0; u < LANE; u += 2) {
            double w[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                to_tiles(z[u + half]);
                /* of squares, all nonzeros of a run have the same w */
                w[half] = COUNTS ? moved(of.w, TILE_SIDE * t + LANES * (u + half)) : of.w;
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

    /* The window of batches becomes that of the run. Where the run does not go on, it is read and
     * not added. */
    template <typename RUN> __device__ __forceinline__ void put_window(RUN &run, bool goes_on)
    {
        __syncwarp();
        run.put(batches.now.index.word[0], batches.now.value);
        if (goes_on)
            batches.pass_window();
        __syncwarp();
    }

    /* Adds the window, and those after it that go on. The rows of a step are on their way while the
     * step before is added. */
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
        bool goes_on = true;
        put_window(run, goes_on);
        run.read(0);
        for (int step = 0; goes_on;) {
            double z[run_of::LANE][BLOCKS];
            run.multiply(z);
            const double value = run.value(step);
            step = (step + 1) % (WARP / run_of::STEP);
            if (step == 0) {
                numbers.known += 4;
                goes_on = batches.run_goes_on(row);
                put_window(run, goes_on);
            }
            run.read(step);
            add_step(value, z, old);
        }
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
