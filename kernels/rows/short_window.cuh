/* Rows of few nonzeros. A warp takes 32 consecutive nonzeros, a window, and solves the short rows
 * that lie in it as a whole, all at once, in shared memory: their systems need no matrix of R x R.
 */
#pragma once

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

/* A row that is solved in a window. */
struct short_row {
    uint32_t number;
    int first, length; /* its nonzeros: lanes [first, first + length) */
};

/* A warp's room. The stride keeps the lanes of a column apart. */
template <int COLUMNS> struct short_room {
    static constexpr int LD = COLUMNS + 1;
    double z[WARP * LD]; /* (nonzero, component)            */
    short_row row[WARP]; /* those that are solved, by slots */
};

template <int COLUMNS_OF> struct short_window {
    static constexpr int COLUMNS = COLUMNS_OF;
    static constexpr int LD = short_room<COLUMNS>::LD;
    static constexpr int MOST_WARPS = 12; /* of a processor: more leave too few registers */
    const row_systems_args &a;
    short_room<COLUMNS> &shared;
    const double *const unit; /* (R) by which z is multiplied, or NULL */
    const int lane;
    const uint32_t *base; /* of the chunk's block, or NULL        */
    bool goes_on;         /* the chunk's last row, after its end  */
    index_words<ANY> index;
    double value;
    uint32_t number;   /* of the row of the lane's nonzero */
    uint32_t solved;   /* bit i: the row of lane i is solved here: it is whole, and short */
    int slot;          /* of the row of the lane's nonzero, if it is solved               */
    int first, length; /* ... and its lanes; a length of 0 where it is not              */
    int rows;          /* that are solved                  */
    row_totals sum;    /* the lane's part                  */

    __device__ __forceinline__ short_window(const row_systems_args &args,
                                            short_room<COLUMNS> &storage,
                                            const double *units = nullptr)
        : a(args), shared(storage), unit(units), lane(threadIdx.x), base(nullptr)
    {
    }

    /* Nonzero i, of this lane. */
    __device__ __forceinline__ void read(uint64_t i)
    {
        const mttkrp_args &m = a.mttkrp;
        index = index_at(m, i);
        value = value_at(m, m.precision, i);
        number = coordinate_at(m.output, index, base);
    }

    /* Finds the rows of a window of `size` nonzeros, which may be the chunk's last. A row `before`
     * began before it. Returns the lane where the next window begins, and sets *before. */
    __device__ __forceinline__ int find_rows(int size, bool last, uint32_t *before)
    {
        const uint32_t upper = __shfl_up_sync(ALL, number, 1);
        const uint32_t own = (2u << lane) - 1; /* lanes up to this one */
        const uint32_t starts =
            __ballot_sync(ALL, lane < size && number != (lane > 0 ? upper : *before));
        const uint32_t later = starts & ~own;
        const int from = 31 - __clz(static_cast<int>(starts)); /* the last row's first lane */
        const bool ends = last || from < 0 || size - from > a.short_rows;
        const int end = ends ? size : from; /* a short last row is left to the next window */
        first = 31 - __clz(static_cast<int>(starts & own));
        length = (later ? __ffs(static_cast<int>(later)) - 1 : size) - first;
        if (lane >= end || first < 0 || !(later || (last && !goes_on)) || length > a.short_rows)
            length = 0;
        solved = __ballot_sync(ALL, length > 0);
        const uint32_t heads = solved & starts;
        rows = __popc(heads);
        slot = __popc(heads & own) - 1;
        if (heads >> lane & 1)
            shared.row[slot] = {number, lane, length};
        *before = ends ? __shfl_sync(ALL, number, size - 1) : NO_ROW;
        return end;
    }

    /* The most nonzeros of a row that is solved. */
    __device__ __forceinline__ int longest() const
    {
        return warp_max(length);
    }

    /* What z is multiplied by; beyond the rank, 0 where that is not 1. */
    __device__ __forceinline__ double unit_of(uint32_t r) const
    {
        return !unit ? 1 : r < a.rank ? __ldg(unit + r) : 0;
    }

    /* Entry r of a vector (R) that all rows have in common; beyond the rank, any. */
    __device__ __forceinline__ double common_at(const double *array, uint32_t r) const
    {
        return __ldg(array + min(r, a.rank - 1));
    }

    /* Solves the short rows of a chunk: solve() solves those of the present window. False where it
     * says so. */
    template <typename F> __device__ __forceinline__ bool walk(uint32_t chunk, F &&solve)
    {
        const uint64_t end = __ldg(a.chunk + chunk + 1);
        goes_on = __ldg(a.continued + chunk + 1);
        uint64_t at = __ldg(a.chunk + chunk);
        uint32_t before = NO_ROW;
        sum = {};
        if (a.mttkrp.base)
            base = base_of(a.mttkrp, __ldg(a.block + chunk));
        for (bool is_first = true; at < end; is_first = false) {
            const int size = end - at < WARP ? static_cast<int>(end - at) : WARP;
            read(at + min(lane, size - 1));
            if (is_first && __ldg(a.continued + chunk))
                before = __shfl_sync(ALL, number, 0);
            at += find_rows(size, at + size == end, &before);
            fetch_nonzero(a.mttkrp, a.mttkrp.precision, min(at + lane, end - 1)); /* the next's */
            if (!solved)
                continue;
            __syncwarp();
            const bool done = solve();
            __syncwarp();
            if (!done)
                return false;
        }
        return true;
    }

    __device__ __forceinline__ row_totals totals() const
    {
        const double violated = warp_max(sum.violation);
        return {warp_sum(sum.misfit), warp_sum(sum.size), warp_sum(sum.penalty), violated, 0};
    }

    template <typename T>
    __device__ __forceinline__ vector<T> read(const void *rows, uint64_t i, uint32_t v) const
    {
        return __ldg(static_cast<const vector<T> *>(rows) + i * a.mttkrp.vectors + v);
    }

    template <typename T, int WIDTH>
    __device__ __forceinline__ static void multiply(double (&x)[WIDTH], const vector<T> &by)
    {
        const T *entry = reinterpret_cast<const T *>(&by);
        EACH_UNROLLED(e, WIDTH)
            x[e] *= static_cast<double>(entry[e]);
    }

    /* Of rows of entries of type T: lanes take vectors, of several rows at once. */
    template <typename T> struct lanes_of {
        static constexpr int WIDTH = VECTOR_BYTES / sizeof(T), VECTORS = COLUMNS / WIDTH;
        static constexpr int AT_ONCE = WARP / VECTORS;
    };

    /* Multiplies z by this lane's part of the rows that LOADS nonzeros gather, from nonzero `from`
     * on, by the gathers `first` to `first` + GATHERS - 1: all these rows are on their way at once.
     */
    template <typename T, int GATHERS, int LOADS, int WIDTH>
    __device__ __forceinline__ void multiply_rows(double (&z)[LOADS][WIDTH], int first,
                                                  int from) const
    {
        constexpr int VECTORS = lanes_of<T>::VECTORS, AT_ONCE = lanes_of<T>::AT_ONCE;
        const uint32_t v = min(lane % VECTORS, static_cast<int>(a.mttkrp.vectors) - 1);
        const int spare = __ffs(static_cast<int>(solved)) - 1; /* read where nothing is needed */
        vector<T> part[GATHERS][LOADS];
        EACH_UNROLLED(n, GATHERS) {
            const mttkrp_gather &gather = a.mttkrp.gather[first + n];
            const uint32_t mine = coordinate_at(gather.field, index, base);
            EACH_UNROLLED(k, LOADS) {
                const int j = from + k * AT_ONCE;
                const uint32_t i = __shfl_sync(ALL, mine, solved >> j & 1 ? j : spare);
                part[n][k] = read<T>(gather.rows, i, v);
            }
        }
        EACH_UNROLLED(n, GATHERS)
            EACH_UNROLLED(k, LOADS)
                multiply<T>(z[k], part[n][k]);
    }

    /* Fills z of the nonzeros that are solved. */
    template <typename T> __device__ __forceinline__ void gather() const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        constexpr int AT_ONCE = lanes_of<T>::AT_ONCE, LOADS = VECTORS < 8 ? VECTORS : 8;
        const int r = lane % VECTORS * WIDTH;
        double start[WIDTH];
        EACH_UNROLLED(e, WIDTH)
            start[e] = unit_of(r + e);
#pragma unroll 1
        for (int from = lane / VECTORS; from < WARP; from += LOADS * AT_ONCE) {
            double z[LOADS][WIDTH];
            EACH_UNROLLED(k, LOADS)
                EACH_UNROLLED(e, WIDTH)
                    z[k][e] = start[e];
            if (a.mttkrp.gathers == 2) {
                multiply_rows<T, 2>(z, 0, from);
            } else {
#pragma unroll 1
                for (int n = 0; n < a.mttkrp.gathers; n++)
                    multiply_rows<T, 1>(z, n, from);
            }
            EACH_UNROLLED(k, LOADS)
                EACH_UNROLLED(e, WIDTH)
                    shared.z[(from + k * AT_ONCE) * LD + r + e] = z[k][e];
        }
    }

    __device__ __forceinline__ void gather_all() const
    {
        if (a.mttkrp.precision == PRECISION_SINGLE)
            gather<float>();
        else
            gather<double>();
        __syncwarp();
    }

    /* old (slot, component) = the old rows of those that are solved. */
    template <typename T> __device__ __forceinline__ void gather_old(double *old) const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        const uint32_t v = min(lane % VECTORS, static_cast<int>(a.mttkrp.vectors) - 1);
        const int r = lane % VECTORS * WIDTH;
        double now[WIDTH];
        EACH_UNROLLED(e, WIDTH)
            now[e] = r + e < static_cast<int>(a.rank) ? __ldg(a.common.now + r + e) : 0;
#pragma unroll 4
        for (int s = lane / VECTORS; s < rows; s += lanes_of<T>::AT_ONCE) {
            double x[WIDTH];
            EACH_UNROLLED(e, WIDTH)
                x[e] = now[e];
            multiply<T>(x, read<T>(a.old, shared.row[s].number, v));
            EACH_UNROLLED(e, WIDTH)
                old[s * LD + r + e] = x[e];
        }
    }

    /* Writes the new rows: entries_of(s, r, x) gives entries r to r + WIDTH - 1 of that of slot s;
     * what it gives beyond the rank counts nothing. */
    template <typename T, typename F> __device__ __forceinline__ void write_as(F &&entries_of) const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        const uint32_t v = lane % VECTORS, r = v * WIDTH;
        if (r >= a.rank)
            return;
        for (int s = lane / VECTORS; s < rows; s += lanes_of<T>::AT_ONCE) {
            double entry[WIDTH];
            vector<T> part;
            T *x = reinterpret_cast<T *>(&part);
            entries_of(s, r, entry);
            EACH_UNROLLED(e, WIDTH)
                x[e] = r + e < a.rank ? static_cast<T>(entry[e]) : 0;
            static_cast<vector<T> *>(
                a.mttkrp.m)[static_cast<uint64_t>(shared.row[s].number) * a.mttkrp.vectors + v] =
                part;
        }
    }

    template <typename F> __device__ __forceinline__ void write(F &&entries_of) const
    {
        if (a.mttkrp.precision == PRECISION_SINGLE)
            write_as<float>(entries_of);
        else
            write_as<double>(entries_of);
    }

    /* <x, y> of R entries each. */
    __device__ __forceinline__ double inner(const double *x, const double *y) const
    {
        double even = 0, odd = 0;
        uint32_t r = 0;
#pragma unroll 4
        for (; r + 2 <= a.rank; r += 2) {
            even = fma(x[r], y[r], even);
            odd = fma(x[r + 1], y[r + 1], odd);
        }
        return r < a.rank ? fma(x[r], y[r], even) + odd : even + odd;
    }

    /* x[e] = the sum of weight[i] z_(r + e) over the nonzeros of a row; z: as in the room. */
    template <int WIDTH>
    __device__ __forceinline__ static void sums_of(const short_row &row, const double *weight,
                                                   const double *z, uint32_t r, double (&x)[WIDTH])
    {
        EACH_UNROLLED(e, WIDTH)
            x[e] = 0;
#pragma unroll 2
        for (int i = row.first; i < row.first + row.length; i++)
            EACH_UNROLLED(e, WIDTH)
                x[e] = fma(weight[i], z[i * LD + r + e], x[e]);
    }
};
