/* Rows of few nonzeros. A warp takes 32 consecutive nonzeros, a window, and solves the short rows
 * that lie in it as a whole, all at once: their systems need no matrix of R x R. */
#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/rows/row_solve.cuh"
#include "kernels/rows/row_systems.h"
#include "numerics/poisson_term.h"
#include "numerics/row_term.h"
#include "numerics/vector.cuh"

namespace
{

constexpr uint32_t ALL = ~0u;
constexpr int WARP = 32;
constexpr int MOST = ROW_SHORT_EQUATIONS;
constexpr double LIMIT = 1e8; /* of K, which costs as many digits */

/* How rows are solved. */
enum short_way {
    EQUATIONS, /* one for each nonzero: unlisted entries are unknown, and there is a ridge */
    DESCENT,   /* one coordinate after the other: nonnegative rows, and counts             */
};

constexpr int SLOTS = 16; /* rows of a window that are improved at once */

/* A warp's room. The strides keep the lanes of a column apart. */
template <int COLUMNS, short_way WAY> struct short_room {
    static constexpr int LD = COLUMNS + 1;
    static constexpr int OF_ROWS = WAY == DESCENT ? SLOTS * LD : 1;
    double z[WARP * LD];                       /* (nonzero, component)                         */
    double a[OF_ROWS], d[OF_ROWS];             /* (slot, component): rows, and their steps     */
    double x[WARP], c[WARP], w[WARP], q[WARP]; /* of each nonzero: poisson_term.h, row_term.h  */
    double left[WARP];                         /* c - q - w e, where e = z d; or y / the ridge */
};

/* The row of a lane's nonzero, as far as it lies in the window. */
struct short_row {
    int head, length; /* its first lane, or less than 0 where it begins before; its nonzeros */
    bool solved;      /* here: it is whole, and short                                        */

    __device__ __forceinline__ uint32_t lanes() const
    {
        return (2u << (head + length - 1)) - (1u << head);
    }
};

template <int COLUMNS, short_way WAY> struct short_walk {
    using short_room_of = short_room<COLUMNS, WAY>;
    static constexpr int LD = short_room_of::LD;

    const row_systems_args &a;
    short_room_of &room;
    const int lane;
    const bool single;
    const uint32_t *base; /* of the span's block, or NULL        */
    bool goes_on;         /* the span's last row, after its end  */
    index_words<ANY> index;
    double value;
    uint32_t number; /* of the row of the lane's nonzero */
    short_row row;
    uint32_t solved; /* bit i: row.solved of lane i      */
    uint32_t heads;  /* ... and it is the first nonzero  */
    int slot;        /* of the row of the lane's nonzero */
    row_totals sum;  /* the lane's part                  */

    __device__ __forceinline__ short_walk(const row_systems_args &args, short_room_of &of)
        : a(args), room(of), lane(threadIdx.x), single(args.mttkrp.precision == PRECISION_SINGLE),
          base(nullptr)
    {
    }

    __device__ __forceinline__ uint32_t coordinate_of(const mttkrp_field &f,
                                                      const index_words<ANY> &of) const
    {
        return coordinate<ANY>(f, of, base ? __ldg(base + f.mode) : 0);
    }

    /* Nonzero i, of this lane. */
    __device__ __forceinline__ void read(uint64_t i)
    {
        const mttkrp_args &m = a.mttkrp;
        index.word[0] = __ldg(m.index[0] + i);
        index.word[1] = m.index[1] ? __ldg(m.index[1] + i) : 0;
        value = m.wide_values || !single
                    ? __ldg(static_cast<const double *>(m.value) + i)
                    : static_cast<double>(__ldg(static_cast<const float *>(m.value) + i));
        number = coordinate_of(m.output, index);
    }

    /* Finds the rows of a window of `size` nonzeros, which may be the span's last. A row `before`
     * began before it. Returns the lane where the next window begins, and sets *before. */
    __device__ __forceinline__ int find_rows(int size, bool last, uint32_t *before)
    {
        const uint32_t upper = __shfl_up_sync(ALL, number, 1);
        const uint32_t own = (2u << lane) - 1; /* lanes up to this one */
        const uint32_t starts =
            __ballot_sync(ALL, lane < size && number != (lane > 0 ? upper : *before));
        const uint32_t later = starts & ~own;
        row.head = 31 - __clz(static_cast<int>(starts & own));
        row.length = (later ? __ffs(static_cast<int>(later)) - 1 : size) - row.head;
        row.solved = lane < size && row.head >= 0 && (later || (last && !goes_on)) &&
                     row.length <= a.short_rows;
        solved = __ballot_sync(ALL, row.solved);
        heads = solved & starts;
        slot = __popc(heads & own) - 1;
        const uint32_t over = __ballot_sync(ALL, WAY == DESCENT && row.solved && slot >= SLOTS);
        if (over)
            return end_at(__ffs(static_cast<int>(over)) - 1, before);
        const int from = 31 - __clz(static_cast<int>(starts));
        if (!last && from >= 0 && size - from <= a.short_rows)
            return end_at(from, before);
        *before = __shfl_sync(ALL, number, size - 1);
        return size;
    }

    /* The window ends before this lane, with which a row begins. */
    __device__ __forceinline__ int end_at(int end, uint32_t *before)
    {
        const uint32_t lanes = (1u << end) - 1;
        solved &= lanes;
        heads &= lanes;
        row.solved = row.solved && lane < end;
        *before = NO_ROW;
        return end;
    }

    /* x times vector v of row i. */
    template <typename T, int WIDTH>
    __device__ __forceinline__ void multiply(double (&x)[WIDTH], const void *rows, uint64_t i,
                                             uint32_t v) const
    {
        const vector<T> part =
            __ldg(static_cast<const vector<T> *>(rows) + i * a.mttkrp.vectors + v);
        const T *entry = reinterpret_cast<const T *>(&part);
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            x[e] *= static_cast<double>(entry[e]);
    }

    __device__ __forceinline__ index_words<ANY> index_of(int j) const
    {
        index_words<ANY> of;
        of.word[0] = __shfl_sync(ALL, index.word[0], j);
        of.word[1] = a.mttkrp.index[1] ? __shfl_sync(ALL, index.word[1], j) : 0;
        return of;
    }

    /* Fills z of the nonzeros that are solved. Lanes take a vector of each of several nonzeros. */
    template <typename T> __device__ __forceinline__ void gather() const
    {
        constexpr int WIDTH = VECTOR_BYTES / sizeof(T), VECTORS = COLUMNS / WIDTH;
        constexpr int AT_ONCE = WARP / VECTORS, LOADS = VECTORS < 4 ? VECTORS : 4;
        const uint32_t v = min(lane % VECTORS, static_cast<int>(a.mttkrp.vectors) - 1);
        const int r = lane % VECTORS * WIDTH;
#pragma unroll 1
        for (int from = lane / VECTORS; from < WARP; from += LOADS * AT_ONCE) {
            index_words<ANY> of[LOADS];
            double z[LOADS][WIDTH];
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                of[k] = index_of(from + k * AT_ONCE);
#pragma unroll
                for (int e = 0; e < WIDTH; e++)
                    z[k][e] = 1;
            }
#pragma unroll 1
            for (int n = 0; n < a.mttkrp.gathers; n++)
#pragma unroll
                for (int k = 0; k < LOADS; k++)
                    if (solved >> (from + k * AT_ONCE) & 1)
                        multiply<T>(z[k], a.mttkrp.gather[n].rows,
                                    coordinate_of(a.mttkrp.gather[n].field, of[k]), v);
#pragma unroll
            for (int k = 0; k < LOADS; k++)
#pragma unroll
                for (int e = 0; e < WIDTH; e++)
                    room.z[(from + k * AT_ONCE) * LD + r + e] = z[k][e];
        }
    }

    /* Fills the rows as they are. */
    template <typename T> __device__ __forceinline__ void gather_rows() const
    {
        const uint32_t ld = a.mttkrp.vectors * (VECTOR_BYTES / sizeof(T));
#pragma unroll 4
        for (int k = 0; k < SLOTS; k++) {
            const int j = __ffs(__ballot_sync(ALL, slot == k && row.solved)) - 1;
            if (j < 0)
                break;
            const T *old = static_cast<const T *>(a.old) +
                           static_cast<uint64_t>(__shfl_sync(ALL, number, j)) * ld;
            for (int r = lane; r < a.rank; r += WARP)
                room.a[k * LD + r] = static_cast<double>(__ldg(old + r)) * __ldg(a.common.now + r);
        }
    }

    /* Entry r of the new row of nonzero j, longer or shorter by a.common.out. */
    __device__ __forceinline__ void write(int j, uint32_t r, double x) const
    {
        const uint32_t ld = a.mttkrp.vectors * (single ? 4 : 2);
        const uint64_t at = static_cast<uint64_t>(__shfl_sync(ALL, number, j)) * ld + r;
        if (r >= ld)
            return;
        if (single)
            static_cast<float *>(a.mttkrp.m)[at] = static_cast<float>(x);
        else
            static_cast<double *>(a.mttkrp.m)[at] = x;
    }

    /* f(j, r) for the first nonzero of each row and the entries r of this lane. */
    template <typename F> __device__ __forceinline__ void each_row(F &&f) const
    {
        for (uint32_t todo = heads; todo; todo &= todo - 1)
            for (int r = 0; r < COLUMNS; r += WARP)
                f(__ffs(static_cast<int>(todo)) - 1, static_cast<uint32_t>(r + lane));
    }

    /* --- Equations ------------------------------------------------------------------------- */

    /* The most nonzeros of a row that is solved. */
    __device__ __forceinline__ int longest() const
    {
        int most = row.solved ? row.length : 0;
        for (int step = WARP / 2; step > 0; step /= 2)
            most = max(most, __shfl_xor_sync(ALL, most, step));
        return most;
    }

    /* k[i] = entry (this nonzero, nonzero i of its row) of Z D Z', where D has the inverse ridges.
     */
    __device__ __forceinline__ void make_equations(double (&k)[MOST], int most) const
    {
        const double *mine = room.z + lane * LD;
        int other[MOST]; /* where the row has no more nonzeros, the last one again */
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            other[i] = row.solved ? (row.head + min(i, row.length - 1)) * LD : 0;
            k[i] = 0;
        }
#pragma unroll 1
        for (uint32_t r = 0; r < a.rank; r++) {
            const double z = mine[r] * __ldg(a.common.inverse + r);
#pragma unroll
            for (int i = 0; i < MOST; i++)
                if (i < most)
                    k[i] = fma(z, room.z[other[i] + r], k[i]);
        }
    }

    /* y of K y = y for all rows at once, by elimination of one nonzero of each after the other. */
    __device__ __forceinline__ double eliminate(double (&k)[MOST], double y, int most) const
    {
        const int own = lane - row.head;
        double diagonal = 1;
#pragma unroll
        for (int p = 0; p < MOST; p++) {
            if (p >= most)
                break;
            const bool there = row.solved && p < row.length;
            const int from = there ? row.head + p : lane;
            const double pivot = __shfl_sync(ALL, k[p], from), of_y = __shfl_sync(ALL, y, from);
            const double f = there && own != p ? k[p] * inverse(pivot) : 0;
            diagonal = own == p ? pivot : diagonal;
#pragma unroll
            for (int i = p + 1; i < MOST; i++)
                if (i < most)
                    k[i] -= f * __shfl_sync(ALL, k[i], from);
            y -= f * of_y;
        }
        return y * inverse(diagonal);
    }

    /* With the ridge D^-1, a row's minimum is a = D Z' y, where (Z D Z' + 1) y = x has an equation
     * for each known nonzero; y is what is left of x. False, and nothing is done, where K is so
     * large beside 1 that y would lose digits. */
    __device__ __forceinline__ bool solve_equations()
    {
        const uint32_t known = __ballot_sync(ALL, row.solved && row_term_known(value));
        const bool counts = known >> lane & 1;
        const int of_row = row.solved ? __popc(known & row.lanes()) : 0;
        const double times = a.counted ? of_row : 1, share = of_row > 0 ? 1 / times : 0;
        const int most = longest();
        double k[MOST];
        bool small = true;
        make_equations(k, most);
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const bool both = counts && i < row.length && known >> (row.head + i) & 1;
            k[i] = both ? share * k[i] : 0;
            small = small && fabs(k[i]) < LIMIT;
            k[i] += row.head + i == lane;
        }
        if (!__all_sync(ALL, small))
            return false;
        const double y = eliminate(k, counts ? value : 0, most);
        room.left[lane] = counts ? y * share : 0;
        sum.misfit += counts ? y * y : 0;
        sum.size += counts ? y * y : 0;
        __syncwarp();
        each_row([&](int j, uint32_t r) {
            const int length = __shfl_sync(ALL, row.length, j);
            const double ridge = __shfl_sync(ALL, times, j);
            double entry = 0;
            for (int i = j; r < COLUMNS && i < j + length; i++)
                entry = fma(room.left[i], room.z[i * LD + r], entry);
            entry *= r < a.rank ? __ldg(a.common.inverse + r) : 0;
            if (a.counted && r < a.rank)
                sum.penalty += ridge * __ldg(a.common.ridge + r) * entry * entry;
            write(j, r, r < a.rank ? entry * __ldg(a.common.out + r) : 0);
        });
        return true;
    }

    /* --- Descent --------------------------------------------------------------------------- */

    /* The terms of this lane's nonzero. */
    __device__ __forceinline__ void make_terms() const
    {
        double m = 0;
        for (uint32_t r = 0; row.solved && r < a.rank; r++)
            m = fma(room.z[lane * LD + r], room.a[slot * LD + r], m);
        room.x[lane] = value;
        if (a.counts) {
            const struct poisson_term term =
                poisson_term_of(value, inverse(poisson_rate(m)), a.unlisted);
            room.c[lane] = term.c;
            room.w[lane] = term.w;
            room.q[lane] = term.q;
        } else {
            const struct row_term term = row_term(value, m, a.unlisted);
            room.c[lane] = term.c;
            room.w[lane] = term.w;
            room.q[lane] = 0;
        }
        room.left[lane] = room.c[lane] - room.q[lane];
    }

    /* What a lane that has the first nonzero of a row knows of the row; arrays of nonzeros begin
     * with this one. */
    struct row_facts {
        int length;
        double times;    /* the ridge                                        */
        double least;    /* of counts: the least above 0                     */
        bool solves;     /* there is a known value; of counts, one above 0   */
        double *old, *d; /* (R): the row, and its step                    */
        const double *z, *c, *w, *q;
        double *left;
    };

    __device__ __forceinline__ double ridge_of(const row_facts &f, uint32_t r) const
    {
        return f.times * __ldg(a.common.ridge + r);
    }

    /* The sum of of[i] z_r over the row's nonzeros i. */
    __device__ __forceinline__ static double sum_of(const row_facts &f, const double *of,
                                                    uint32_t r)
    {
        double sum = 0;
#pragma unroll 1
        for (int i = 0; i < f.length; i++)
            sum = fma(of[i], f.z[i * LD + r], sum);
        return sum;
    }

    /* Entry r of the gradient that does not depend on the row. */
    __device__ __forceinline__ double linear_of(const row_facts &f, uint32_t r) const
    {
        return a.counts ? __ldg(a.common.linear + r) + sum_of(f, f.q, r) : 0;
    }

    /* The trace of H, in units of `unit`. */
    __device__ __forceinline__ double trace(const row_facts &f) const
    {
        double sum = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double unit = __ldg(a.common.unit + r);
#pragma unroll 1
            for (int i = 0; i < f.length; i++) {
                const double z = f.z[i * LD + r] * unit;
                sum = fma(f.w[i] * z, z, sum);
            }
        }
        return sum;
    }

    __device__ __forceinline__ row_facts facts() const
    {
        row_facts f = {.length = row.length,
                       .times = 1,
                       .least = INFINITY,
                       .solves = false,
                       .old = room.a + slot * LD,
                       .d = room.d + slot * LD,
                       .z = room.z + lane * LD,
                       .c = room.c + lane,
                       .w = room.w + lane,
                       .q = room.q + lane,
                       .left = room.left + lane};
        int known = 0;
        for (int i = 0; i < f.length; i++) {
            const double x = room.x[lane + i];
            known += row_term_known(x);
            f.least = x > 0 ? fmin(f.least, x) : f.least;
        }
        f.solves = a.counts ? f.least < INFINITY : known > 0;
        if (a.counts)
            f.times = a.matrix ? trace(f) : 0;
        else if (a.counted)
            f.times = known;
        return f;
    }

    /* Of counts: the largest |min(a, gradient)|. */
    __device__ __forceinline__ double violation(const row_facts &f) const
    {
        double most = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double unit = __ldg(a.common.unit + r);
            const double gradient = __ldg(a.common.linear + r) - sum_of(f, f.left, r);
            most = fmax(most, fabs(fmin(f.old[r] / (unit * a.of_count), gradient * unit)));
        }
        return most;
    }

    /* Coordinate r of d; returns step^2 H_rr. */
    __device__ __forceinline__ double descend(const row_facts &f, uint32_t r, double keeps) const
    {
        const double ridge = ridge_of(f, r), old = f.old[r], now = f.d[r];
        double h = ridge;
        double down = -ridge * now - (a.counts ? __ldg(a.common.linear + r) : ridge * old);
#pragma unroll 1
        for (int i = 0; i < f.length; i++) {
            const double z = f.z[i * LD + r];
            h = fma(f.w[i] * z, z, h);
            down = fma(f.left[i], z, down);
        }
        if (!(h > 0))
            return 0;
        const double wanted = fma(down, inverse(h), now), bound = (keeps - 1) * old;
        const double step = (wanted > bound ? wanted : bound) - now;
        f.d[r] = now + step;
#pragma unroll 1
        for (int i = 0; i < f.length; i++)
            f.left[i] = fma(-step * f.w[i], f.z[i * LD + r], f.left[i]);
        return step * step * h;
    }

    /* Coordinate descent from d = 0, until a pass moves no coordinate by more than `enough`. */
    __device__ __forceinline__ void descend_all(const row_facts &f, int passes, double keeps,
                                                double enough) const
    {
        double most;
        do {
            most = 0;
#pragma unroll 1
            for (uint32_t r = 0; r < a.rank; r++)
                most = fmax(most, descend(f, r, keeps));
        } while (--passes > 0 && most > enough);
    }

    /* By what the multiplicative step multiplies entry r. */
    __device__ __forceinline__ double factor_of(const row_facts &f, uint32_t r, double linear) const
    {
        return linear > 0 ? sum_of(f, f.c, r) / linear : 1;
    }

    /* d becomes the damped Newton step; returns what that surely gains, or infinity where it is not
     * damped. */
    __device__ __forceinline__ double newton(const row_facts &f) const
    {
        double square = 0; /* d'Hd */
        descend_all(f, POISSON_PASSES, POISSON_KEEPS, POISSON_SETTLED * POISSON_SETTLED * f.least);
        for (int i = 0; i < f.length; i++) {
            const double moved = f.c[i] - f.q[i] - f.left[i];
            square += f.w[i] > 0 ? moved * moved / f.w[i] : 0;
        }
        for (uint32_t r = 0; r < a.rank; r++)
            square += ridge_of(f, r) * f.d[r] * f.d[r];
        const double length = sqrt(square / f.least);
        if (length < POISSON_WHOLE)
            return INFINITY;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] /= 1 + length;
        return f.least * (length - log1p(length));
    }

    /* d becomes the multiplicative step, if that surely gains more. */
    __device__ __forceinline__ void multiply_row(const row_facts &f, double gain) const
    {
        double sure = 0;
#pragma unroll 1
        for (uint32_t r = 0; gain > -INFINITY && r < a.rank; r++) {
            const double linear = linear_of(f, r), factor = factor_of(f, r, linear);
            sure += linear * f.old[r] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
        }
        if (sure <= gain)
            return;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] = f.old[r] * (factor_of(f, r, linear_of(f, r)) - 1);
    }

    /* The row becomes a better one; a row of which nothing is known becomes 0. Returns the largest
     * violation of the old row. */
    __device__ __forceinline__ double improve(const row_facts &f) const
    {
        double violated = 0;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] = 0;
        if (f.solves && a.counts) {
            violated = violation(f);
            const double gain = a.matrix ? newton(f) : -INFINITY;
            if (gain < INFINITY)
                multiply_row(f, gain);
        } else if (f.solves) {
            descend_all(f, ROW_PASSES, 0, 0);
        }
        for (uint32_t r = 0; r < a.rank; r++) {
            const double entry = f.old[r] + f.d[r];
            f.old[r] = !f.solves || (!a.counts && entry < 0) ? 0 : entry;
        }
        return violated;
    }

    __device__ __forceinline__ double penalty(const row_facts &f) const
    {
        double of_row = 0;
        for (uint32_t r = 0; r < a.rank; r++)
            of_row = fma(ridge_of(f, r) * f.old[r], f.old[r], of_row);
        return of_row;
    }

    __device__ __forceinline__ void solve_descent()
    {
        bool solves = false;
        make_terms();
        __syncwarp();
        if (heads >> lane & 1) {
            const row_facts f = facts();
            solves = f.solves;
            sum.violation = fmax(sum.violation, improve(f));
            sum.penalty += a.counted && solves ? penalty(f) : 0;
        }
        __syncwarp();
        const double left = room.left[lane];
        if (row.solved && !a.counts && row_term_known(value)) {
            sum.misfit += left * left;
            sum.size += left * left;
        }
        each_row([&](int j, uint32_t r) {
            const int of_slot = __shfl_sync(ALL, slot, j);
            const double floor = a.counts && __shfl_sync(ALL, solves, j) ? a.floor : 0;
            const double entry =
                r < a.rank ? room.a[of_slot * LD + r] * __ldg(a.common.out + r) : 0;
            write(j, r, r < a.rank && entry < floor ? floor : entry); /* a NaN stays */
        });
    }

    /* --- A span ---------------------------------------------------------------------------- */

    /* False where its rows cannot be solved here. */
    __device__ __forceinline__ bool solve_window()
    {
        bool done = true;
        if (single)
            gather<float>();
        else
            gather<double>();
        if (WAY == DESCENT && single)
            gather_rows<float>();
        if (WAY == DESCENT && !single)
            gather_rows<double>();
        __syncwarp();
        if constexpr (WAY == EQUATIONS)
            done = solve_equations();
        else
            solve_descent();
        __syncwarp();
        return done;
    }

    __device__ __forceinline__ bool walk(uint32_t span)
    {
        const uint64_t end = __ldg(a.span + span + 1);
        goes_on = __ldg(a.continued + span + 1);
        uint64_t at = __ldg(a.span + span);
        uint32_t before = NO_ROW;
        sum = {};
        if (a.mttkrp.base)
            base = a.mttkrp.base + static_cast<uint64_t>(__ldg(a.block + span)) * MAX_ORDER;
        for (bool first = true; at < end; first = false) {
            const int size = end - at < WARP ? static_cast<int>(end - at) : WARP;
            read(at + min(lane, size - 1));
            if (first && __ldg(a.continued + span))
                before = __shfl_sync(ALL, number, 0);
            at += find_rows(size, at + size == end, &before);
            if (solved && !solve_window())
                return false;
        }
        return true;
    }

    __device__ __forceinline__ row_totals totals() const
    {
        double violated = sum.violation;
        for (int step = WARP / 2; step > 0; step /= 2)
            violated = fmax(violated, __shfl_xor_sync(ALL, violated, step));
        return {warp_sum(sum.misfit), warp_sum(sum.size), warp_sum(sum.penalty), violated, 0};
    }
};

template <int COLUMNS> constexpr int warps_at_once = COLUMNS <= 16 ? 16 : COLUMNS <= 32 ? 12 : 6;

template <int COLUMNS, short_way WAY>
__global__ void __launch_bounds__(WARP, warps_at_once<COLUMNS>)
    solve_short(const __grid_constant__ row_systems_args a)
{
    __shared__ short_room<COLUMNS, WAY> room;
    short_walk<COLUMNS, WAY> walk(a, room);
    for (;;) {
        uint32_t span = threadIdx.x == 0 ? atomicAdd(a.next, 1) : 0;
        span = __shfl_sync(ALL, span, 0);
        if (span >= a.spans)
            break;
        const bool done = walk.walk(span);
        const row_totals sum = walk.totals();
        if (threadIdx.x == 0) {
            a.left[span] = !done;
            a.totals[span] = done ? sum : row_totals{};
        }
    }
}

template <short_way WAY> const void *choose(uint32_t rank)
{
    if (rank <= 16)
        return reinterpret_cast<const void *>(solve_short<16, WAY>);
    if (rank <= 32)
        return reinterpret_cast<const void *>(solve_short<32, WAY>);
    return reinterpret_cast<const void *>(solve_short<64, WAY>);
}

} // namespace

extern "C" cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const void *kernel =
        args->counts || args->nonneg ? choose<DESCENT>(args->rank) : choose<EQUATIONS>(args->rank);
    void *list[] = {const_cast<row_systems_args *>(args)};
    int device, processors, blocks;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, WARP, 0);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(args->next, 0, sizeof *args->next, stream);
    if (code == cudaSuccess)
        code = cudaLaunchKernel(kernel,
                                dim3(min(static_cast<uint32_t>(processors * blocks), args->spans)),
                                dim3(WARP), list, 0, stream);
    return code;
}
