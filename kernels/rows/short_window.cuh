/* Rows of few nonzeros. A warp takes 32 consecutive nonzeros, a window, and solves the short rows
 * that lie in it as a whole, all at once: their systems need no matrix of R x R. */
#ifndef BLCO_SHORT_WINDOW_CUH
#define BLCO_SHORT_WINDOW_CUH

#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/rows/row_args.h"
#include "kernels/rows/row_warp.cuh"
#include "numerics/vector.cuh"

/* A warp's room. SLOTS: how many rows of a window are improved at once; 0 where old rows are not
 * needed. The strides keep the lanes of a column apart. */
template <int COLUMNS, int SLOTS> struct short_room {
    static constexpr int LD = COLUMNS + 1;
    static constexpr int OF_ROWS = SLOTS > 0 ? SLOTS *LD : 1;
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

template <int COLUMNS_OF, int SLOTS> struct short_window {
    static constexpr int COLUMNS = COLUMNS_OF;
    using room_of = short_room<COLUMNS, SLOTS>;
    static constexpr int LD = room_of::LD;

    const row_systems_args &a;
    room_of &room;
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

    __device__ __forceinline__ short_window(const row_systems_args &args, room_of &of)
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
        const uint32_t over = __ballot_sync(ALL, SLOTS > 0 && row.solved && slot >= SLOTS);
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

    /* Fills the rows as they are: of slot k, row k. */
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

    /* Fills the room for the solver. */
    __device__ __forceinline__ void fill() const
    {
        if (single)
            gather<float>();
        else
            gather<double>();
        if (SLOTS > 0 && single)
            gather_rows<float>();
        if (SLOTS > 0 && !single)
            gather_rows<double>();
        __syncwarp();
    }

    /* Solves the short rows of a span: solve() solves those of the present window, whose room is
     * filled. False where it says so. */
    template <typename F> __device__ __forceinline__ bool walk(uint32_t span, F &&solve)
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
            if (!solved)
                continue;
            fill();
            const bool done = solve();
            __syncwarp();
            if (!done)
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

#endif
