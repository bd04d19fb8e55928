/* Adds the runs of a row (row_run) to its system. */
#pragma once

#include "kernels/rows/row_adder.cuh"
#include "kernels/rows/row_run.cuh"
#include "numerics/unrolled.cuh"

/* What two warps tell each other of a step: each finds the products and the terms of half of its
 * nonzeros. A lane has two of these, which stand side by side, as matrix instructions take them. */
template <int COLUMNS> struct run_exchange {
    using pair = row_entries<double, 2>;
    static constexpr int LD = COLUMNS + 2; /* four rows lie in different banks */
    pair z[RUN_STEP / 2][LD];              /* (two nonzeros, entries of block after block) */
    pair term[RUN_STEP];                   /* c, w                                         */
};

template <typename T, int BLOCKS, bool COUNTS> struct row_run_adder : row_adder<T, BLOCKS, COUNTS> {
    using adder = row_adder<T, BLOCKS, COUNTS>;
    using adder::a, adder::room, adder::batches, adder::warp, adder::lane, adder::t, adder::g,
        adder::row, adder::b, adder::sum, adder::numbers, adder::COLUMNS, adder::WARPS,
        adder::row_adder, adder::read, adder::part_of_value, adder::square_of, adder::count_of,
        adder::add_vector, adder::add_matrix;
    using typename adder::factors;
    using exchange = run_exchange<COLUMNS>;
    static constexpr int LANE = RUN_STEP / (4 * WARPS); /* as in struct row_run */

    /* Whether the next nonzeros of the present row are a run, which begins with the window. */
    __device__ __forceinline__ bool begin_run()
    {
        return batches.narrow && !adder::is_weighed() &&
               (a.mttkrp.gathers == 2 || a.mttkrp.gathers == 3) && batches.begin_run(row);
    }

    /* What a nonzero of a step adds, which 2 WARPS lanes have. */
    __device__ __forceinline__ factors term_of(double x, double m)
    {
        return COUNTS ? count_of(x, m, a.rules.unlisted) : square_of(x, 1, m, a.rules.unlisted, 2);
    }

    /* x of lanes 8 t + g, where a run has what others have in lanes 4 g + t. */
    __device__ __forceinline__ void to_tiles(double (&x)[BLOCKS]) const
    {
        EACH_UNROLLED(i, BLOCKS)
            x[i] = moved(x[i], TILE_SIDE * t + g);
    }
    /* c and w of nonzero threadIdx.x / (2 WARPS) of a step. */
    template <typename RUN>
    __device__ __forceinline__ factors terms_of(const RUN &run, int step, const double (&m)[LANE])
    {
        return term_of(run.value(step, threadIdx.x / (2 * WARPS)), sum_of_lanes(m));
    }

    /* Adds the step of one warp. b is in the lanes of the run. */
    template <typename RUN>
    __device__ __forceinline__ void add_own(const RUN &run, int step, const double (&old)[BLOCKS])
    {
        double z[LANE][BLOCKS], m[LANE];
        run.multiply(step, [&](int first, int, const typename RUN::products &products) {
            EACH_UNROLLED(u, RUN::ROWS_AT_ONCE)
                EACH_UNROLLED(i, BLOCKS)
                    z[first + u][i] = products[u][i];
        });
        EACH_UNROLLED(u, LANE)
            m[u] = part_of_value(z[u], old);
        const factors terms = terms_of(run, step, m);
        EACH_UNROLLED(u, LANE)
            add_vector(moved(terms.c, 2 * u, TILE_SIDE), z[u]);
#pragma unroll
        for (int u = 0; u < LANE; u += 2) {
            double w[2];
            EACH_UNROLLED(half, 2) {
                to_tiles(z[u + half]);
                /* of squares, all nonzeros of a run have the same w */
                w[half] = COUNTS ? moved(terms.w, TILE_SIDE * t + 2 * (u + half)) : terms.w;
            }
            add_matrix(w, z + u);
        }
    }

    /* The products and terms of this warp's nonzeros of a step, for both warps. */
    template <typename RUN>
    __device__ __forceinline__ void put_step(const RUN &run, int step, exchange &to)
    {
        const uint32_t e = lane % TILE_SIDE;
        auto *z = to.z[threadIdx.x / TILE_SIDE] + e;
        double m[LANE] = {};
        run.multiply(step, [&](int, int first, const typename RUN::products &products) {
            constexpr int COUNT = RUN::PIECES_AT_ONCE * RUN::ENTRIES;
            double old[COUNT];
            read(room.old + first * TILE_SIDE, e, 0, old);
            EACH_UNROLLED(u, LANE)
                m[u] += part_of_value(products[u], old);
            EACH_UNROLLED(i, COUNT)
                z[(first + i) * TILE_SIDE] = {products[0][i], products[1][i]};
        });
        const factors terms = terms_of(run, step, m);
        to.term[threadIdx.x / (2 * WARPS)] = {terms.c, terms.w};
    }

    /* Adds the step that both warps have put. */
    __device__ __forceinline__ void add_put(const exchange &from)
    {
        /* of squares, all nonzeros of a run have the same w */
        const double same_w = row_term_of(0, 1, 0, a.rules.unlisted).w;
        int order = warp;
        take_as_new(order); /* registers have no room for the places of the blocks */
#pragma unroll
        for (int first = 0; first < RUN_STEP / 2; first += 4) {
            double z[2][BLOCKS], w[2];
            EACH_UNROLLED(i, BLOCKS) {
                const int block = 2 * block_pair_of(order, i / 2) + i % 2;
                const auto z_pair = from.z[first + t][block * TILE_SIDE + g];
                z[0][i] = z_pair.x[0];
                z[1][i] = z_pair.x[1];
            }
            EACH_UNROLLED(half, 2) {
                const auto term = from.term[2 * (first + t) + half];
                add_vector(term.x[0], z[half]);
                w[half] = COUNTS ? term.x[1] : same_w;
            }
            add_matrix(w, z);
        }
    }

    /* Adds the window, and those after it that go on. */
    template <int GATHERS> __device__ __forceinline__ void add_run_of()
    {
        using run_of = row_run<T, BLOCKS, GATHERS>;
        using run_window = typename run_of::run_window;
        constexpr int STEPS = WARP / RUN_STEP;
        constexpr uint32_t EXCHANGED = WARPS > 1 ? STEPS * sizeof(exchange) : 0;
        constexpr uint32_t NEEDED = EXCHANGED + WARPS * sizeof(run_window);
        static_assert(NEEDED <= sizeof room.g || NEEDED <= adder::stage_bytes(GATHERS, false),
                      "there is room in the place of G and of the stages");
        auto *shared = reinterpret_cast<unsigned char *>(room.g);
        run_of run(a.mttkrp, reinterpret_cast<run_window *>(shared + EXCHANGED));
        double old[BLOCKS];
        if constexpr (WARPS == 1) {
            read(room.old, lane % TILE_SIDE, 0, old);
            EACH_UNROLLED(i, BLOCKS) /* the way back from to_tiles */
                b[i] = moved(b[i], lane % TILE_SIDE * 4 + lane / TILE_SIDE);
        }
        /* Adds nothing. After a matrix instruction the compiler knows that the lanes are together;
         * then a step needs 40 instructions less. */
        multiply_8x8x4(sum[0][0], sum[0][1], 0, 0);
        do {
            run.put(batches.now.index.word[0], batches.now.value);
            batches.pass_window(run.window.next);
            __syncwarp();
#pragma unroll 1
            for (int step = 0; step < STEPS; step++)
                if constexpr (WARPS == 1) {
                    add_own(run, step, old);
                } else { /* both put the next step elsewhere before one puts another one here */
                    exchange &x = reinterpret_cast<exchange *>(shared)[step];
                    put_step(run, step, x);
                    sync_warps<WARPS>();
                    add_put(x);
                }
            __syncwarp();
            numbers.known += 4;
        } while (batches.run_goes_on(row, run.window.next));
        if constexpr (WARPS == 1)
            to_tiles(b);
        sync_warps<WARPS>();
        batches.template begin_window_of<true>(batches.first);
    }

    /* No batch is in the stages. */
    __device__ __forceinline__ void add_run()
    {
        if (a.mttkrp.gathers == 2)
            add_run_of<2>();
        else
            add_run_of<3>();
    }
};
