/* Short rows of counts that take the diagonal step (numerics/poisson_term.h). One lane per nonzero
 * computes the model's value, and how far the step moves it. Lane groups find the entries of
 * the step, a row at a time each. All is in units of `unit`: z is multiplied by it. */
#pragma once

#include <cuda_pipeline_primitives.h>

#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/short_window.cuh"
#include "numerics/poisson_term.h"
#include "numerics/unrolled.cuh"

template <typename T, int COLUMNS_OF> struct short_diagonal : short_window<COLUMNS_OF> {
    using window = short_window<COLUMNS_OF>;
    using window::a, window::lane, window::first, window::length, window::rows, window::value,
        window::slot, window::sum, window::LD;
    static constexpr int COLUMNS = COLUMNS_OF;
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T);
    static constexpr int OLD_LD = COLUMNS + WIDTH; /* vectors of 8 rows lie in different banks */
    static constexpr int LANES = COLUMNS > 32 ? 16 : 8;
    static constexpr int ENTRIES = COLUMNS / LANES; /* of a row, in a lane of a group */

    struct alignas(16) component {
        double now, linear;
    };
    struct alignas(16) row_facts {
        double scale, back; /* what the row is multiplied by; its inverse  */
        union {
            double trace; /* of H                                       */
            double moved; /* once the step is there: <d, z> of the first nonzero */
        };
        union {
            double slope; /* of the step                        */
            double part;  /* of it, that the row goes: at last */
        };
    };
    struct room_of : short_room<COLUMNS> {
        alignas(16) T old[WARP * OLD_LD]; /* (slot, component): the old rows as they stand;
                                           * 0 where they have no vectors */
        component common[COLUMNS];        /* 0 beyond the rank                              */
        double2 c_w[WARP];                /* of each nonzero                                */
        double q[WARP];                   /* ... 0 unless counts are weighed                */
        row_facts row_of[WARP];           /* (slot)                                         */
    };
    room_of &room;
    uint32_t has_counts; /* bit i: the row that begins in lane i has a count above 0 */

    __device__ __forceinline__ short_diagonal(const row_systems_args &args, room_of &storage)
        : window(args, storage, args.common.unit), room(storage)
    {
        for (int i = lane; i < WARP * OLD_LD; i += WARP)
            room.old[i] = 0;
        for (int r = lane; r < COLUMNS; r += WARP) {
            const double unit = this->unit_of(r);
            room.common[r] = unit > 0 ? component{a.common.now[r] / unit, a.common.linear[r] * unit}
                                      : component{0, 0};
        }
        __syncwarp();
    }

    /* The component of the lane's entry e. */
    __device__ __forceinline__ uint32_t entry(int e) const
    {
        return lane % LANES + e * LANES;
    }

    /* Of the lane's nonzero: <old, z>, <linear, old> and <z, z>. */
    struct products {
        double model, mass, size;
    };

    __device__ __forceinline__ products multiply_old() const
    {
        const double *z = room.z + lane * LD;
        const vector<T> *old =
            reinterpret_cast<const vector<T> *>(room.old + (length > 0 ? slot : 0) * OLD_LD);
        products x[2] = {};
#pragma unroll 2
        for (uint32_t v = 0; v < a.mttkrp.vectors; v++) {
            const vector<T> part = old[v];
            EACH_UNROLLED(e, WIDTH) {
                const component weight = room.common[v * WIDTH + e];
                const double entry = reinterpret_cast<const T *>(&part)[e] * weight.now;
                const double of_z = z[v * WIDTH + e];
                products &to = x[e % 2];
                to.model = fma(of_z, entry, to.model);
                to.mass = fma(weight.linear, entry, to.mass);
                to.size = fma(of_z, of_z, to.size);
            }
        }
        return {x[0].model + x[1].model, x[0].mass + x[1].mass, x[0].size + x[1].size};
    }

    /* x of the lane so many after this one, if it has a nonzero of the same row; else `other`. */
    __device__ __forceinline__ double next(double x, int step, double other) const
    {
        const double of_next = __shfl_down_sync(ALL, x, step);
        return lane + step < first + length ? of_next : other;
    }

    __device__ __forceinline__ bool is_head() const
    {
        return length > 0 && lane == first;
    }

    /* Of a row, in its first lane. */
    struct facts {
        double counts, mass, trace; /* <b, old>, <linear + q, old>; the trace of H */
        double least;               /* count above 0, or infinity                  */
    };

    /* Fills what rows and nonzeros have in the room. Returns w of the lane's nonzero. */
    __device__ __forceinline__ double make_terms(int most, double *least)
    {
        const products x = multiply_old();
        const double known = length > 0 ? value : NAN;
        const struct poisson_term t = poisson_term(a.rules.kind, known, x.model, a.rules.unlisted);
        const double q = length > 0 && a.rules.weighed ? t.q : 0;
        facts total = {t.c * x.model, q * x.model, t.w * x.size, known > 0 ? known : INFINITY};
        for (int step = 1; step < most; step *= 2) {
            total.counts += next(total.counts, step, 0);
            total.mass += next(total.mass, step, 0);
            total.trace += next(total.trace, step, 0);
            total.least = fmin(total.least, next(total.least, step, INFINITY));
        }
        *least = total.least;
        has_counts = __ballot_sync(ALL, is_head() && total.least < INFINITY);
        room.c_w[lane] = {t.c, t.w};
        room.q[lane] = q;
        if (is_head()) {
            const double scale = poisson_row_scale(total.counts, x.mass + total.mass);
            room.row_of[slot] = {scale, row_inverse(scale), total.trace, 0};
        }
        __syncwarp();
        return t.w;
    }

    /* What the nonzeros of a row sum up to in the lane's entries: b, q, and G's diagonal. */
    struct sums {
        double b, q, h;
    };

    /* z: of the row's first nonzero. */
    __device__ __forceinline__ void add_nonzeros(const short_row &row, const double (&z)[ENTRIES],
                                                 sums (&x)[ENTRIES]) const
    {
        const double2 of_first = room.c_w[row.first];
        const double q_of_first = room.q[row.first];
        EACH_UNROLLED(e, ENTRIES)
            x[e] = {of_first.x * z[e], q_of_first * z[e], of_first.y * z[e] * z[e]};
#pragma unroll 1
        for (int i = row.first + 1; i < row.first + row.length; i++) {
            const double2 c_w = room.c_w[i];
            const double q = room.q[i], *z = room.z + i * LD + lane % LANES;
            EACH_UNROLLED(e, ENTRIES) {
                const double of_z = z[e * LANES];
                x[e].b = fma(c_w.x, of_z, x[e].b);
                x[e].q = fma(q, of_z, x[e].q);
                x[e].h = fma(c_w.y * of_z, of_z, x[e].h);
            }
        }
    }

    /* The sum of x over a group in its first lane, that of y in lane LANES / 2. */
    __device__ __forceinline__ double sum_of_both(double x, double y) const
    {
        const bool upper = lane & LANES / 2;
        double sum = (upper ? y : x) + __shfl_xor_sync(ALL, upper ? x : y, LANES / 2);
#pragma unroll
        for (int step = LANES / 4; step > 0; step /= 2)
            sum += __shfl_xor_sync(ALL, sum, step);
        return sum;
    }

    /* Of the lane's entries. */
    struct lane_common {
        component weights[ENTRIES];
        double ridge[ENTRIES]; /* times the trace of H */
    };

    /* The step of the row of slot s, by a lane group: it takes the place of z of the row's first
     * nonzero. A group that has no row takes the last one, and leaves nothing. Returns the largest
     * violation of the lane's entries, times a count of 1. */
    __device__ __forceinline__ double find_step(int s, const lane_common &common)
    {
        const bool there = s < rows;
        const int place = there ? s : rows - 1;
        const short_row row = room.row[place];
        const row_facts facts = room.row_of[place];
        const T *old_row = room.old + place * OLD_LD + lane % LANES;
        double *step = room.z + row.first * LD + lane % LANES;
        double z[ENTRIES], slope = 0, moved = 0, most = 0;
        sums x[ENTRIES];
        EACH_UNROLLED(e, ENTRIES)
            z[e] = step[e * LANES];
        add_nonzeros(row, z, x);
        EACH_UNROLLED(e, ENTRIES) {
            const double old = old_row[e * LANES] * common.weights[e].now;
            const double fixed = common.weights[e].linear + x[e].q;
            const double gradient = (fixed - x[e].b) * a.rules.count;
            const double down = fma(x[e].b, facts.back, -fixed);
            const double h = fma(facts.trace, common.ridge[e], x[e].h);
            const double d = poisson_diagonal(down, row_inverse(h) * (facts.scale * facts.scale),
                                              old * facts.scale);
            const double violated = fabs(old < gradient ? old : gradient);
            most = violated > most ? violated : most;
            slope = fma(down, d, slope);
            moved = fma(d, z[e], moved);
            if (there)
                step[e * LANES] = d;
        }
        const double total = sum_of_both(slope, moved);
        __syncwarp();
        if (there && lane % LANES == 0)
            room.row_of[s].slope = total;
        if (there && lane % LANES == LANES / 2)
            room.row_of[s].moved = total;
        return there && (has_counts >> row.first & 1) ? most : 0;
    }

    __device__ __forceinline__ void find_steps()
    {
        lane_common common;
        EACH_UNROLLED(e, ENTRIES) {
            const double unit = this->unit_of(entry(e));
            common.weights[e] = room.common[entry(e)];
            common.ridge[e] = unit * unit * this->common_at(a.common.ridge, entry(e));
        }
        double most = 0;
        for (int s = 0; s < rows; s += WARP / LANES)
            most = fmax(most, find_step(s + lane / LANES, common));
        sum.violation = fmax(sum.violation, most / a.rules.count);
        __syncwarp();
    }

    /* How far the rows go. */
    __device__ __forceinline__ void find_parts(double w, double least, int most)
    {
        row_facts &row = room.row_of[length > 0 ? slot : 0];
        double other = 0; /* <d, z> of the lane's nonzero, but the first one of its row */
        if (most > 1)
            other = this->inner(room.z + lane * LD, room.z + (length > 0 ? first : lane) * LD);
        const double moved = (is_head() ? row.moved : other) * row.back;
        double square = w * moved * moved;
        for (int step = 1; step < most; step *= 2)
            square += next(square, step, 0);
        if (is_head())
            row.part = poisson_diagonal_part(row.slope, square, least);
        __syncwarp();
    }

    /* Writes the new rows; a row without counts is zero. */
    __device__ __forceinline__ void write_rows() const
    {
        const uint32_t v = lane % (COLUMNS / WIDTH);
        const double floor = a.rules.floor;
        double now[WIDTH], out_scale[WIDTH];
        EACH_UNROLLED(e, WIDTH) {
            const uint32_t r = v * WIDTH + e;
            now[e] = room.common[r].now;
            out_scale[e] = this->unit_of(r) * this->common_at(a.common.out_scale, r);
        }
        this->template write_as<T>([&](int s, uint32_t r, double(&x)[WIDTH]) {
            const int first = room.row[s].first;
            const bool counts = has_counts >> first & 1;
            const double least = counts ? floor : 0;
            const double *d = room.z + first * LD + r;
            const double scale = room.row_of[s].scale, part = room.row_of[s].part;
            const vector<T> old = *reinterpret_cast<const vector<T> *>(room.old + s * OLD_LD + r);
            EACH_UNROLLED(e, WIDTH) {
                const double from = reinterpret_cast<const T *>(&old)[e] * now[e] * scale;
                const double to = fma(part, d[e], from) * out_scale[e];
                x[e] = !counts || to < least ? least : to; /* a NaN stays */
            }
        });
    }

    __device__ __forceinline__ bool solve()
    {
        const int most = this->longest();
        double least;
        constexpr int VECTORS = COLUMNS / WIDTH; /* the old rows of the window are on their way */
        const uint32_t v = lane % VECTORS;
        const vector<T> *from = static_cast<const vector<T> *>(a.old) + v;
        for (int s = lane / VECTORS; v < a.mttkrp.vectors && s < rows; s += WARP / VECTORS)
            copy_vector(room.old + s * OLD_LD + v * WIDTH,
                        from + static_cast<uint64_t>(room.row[s].number) * a.mttkrp.vectors);
        __pipeline_commit();
        this->template gather<T>();
        __pipeline_wait_prior(0);
        __syncwarp();
        const double w = make_terms(most, &least);
        find_steps();
        find_parts(w, least, most);
        write_rows();
        return true;
    }
};
