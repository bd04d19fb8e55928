/* Rows of few nonzeros. A warp takes 32 consecutive nonzeros, a window, and finds the short rows
 * that lie in it as a whole. */
#ifndef BLCO_SHORT_ROWS_CUH
#define BLCO_SHORT_ROWS_CUH

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_warp.cuh"

/* A row that is solved in a window. */
struct short_row {
    uint32_t number;
    int first, length; /* its nonzeros: lanes [first, first + length) */
};

struct short_rows {
    static constexpr int MOST_WARPS = 12; /* of a processor: more leave too few registers */
    const row_systems_args &a;
    short_row *const row; /* (WARP) those that are solved, by slots; shared memory */
    const int lane;
    const uint32_t *base; /* of the span's block, or NULL        */
    bool goes_on;         /* the span's last row, after its end  */
    index_words<ANY> index;
    double value;
    uint32_t number;   /* of the row of the lane's nonzero */
    uint32_t solved;   /* bit i: the row of lane i is solved here: it is whole, and short */
    int slot;          /* of the row of the lane's nonzero, if it is solved               */
    int first, length; /* ... and its lanes; a length of 0 where it is not              */
    int rows;          /* that are solved                  */
    row_totals sum;    /* the lane's part                  */

    __device__ __forceinline__ short_rows(const row_systems_args &args, short_row *of)
        : a(args), row(of), lane(threadIdx.x), base(nullptr)
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

    /* Finds the rows of a window of `size` nonzeros, which may be the span's last. A row `before`
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
            row[slot] = {number, lane, length};
        *before = ends ? __shfl_sync(ALL, number, size - 1) : NO_ROW;
        return end;
    }

    /* The most nonzeros of a row that is solved. */
    __device__ __forceinline__ int longest() const
    {
        return warp_max(length);
    }

    /* Entry r of a vector (R) that all rows have in common; beyond the rank, any. */
    __device__ __forceinline__ double common_at(const double *of, uint32_t r) const
    {
        return __ldg(of + min(r, a.rank - 1));
    }

    /* Solves the short rows of a span: solve() solves those of the present window. False where it
     * says so. */
    template <typename F> __device__ __forceinline__ bool walk(uint32_t span, F &&solve)
    {
        const uint64_t end = __ldg(a.span + span + 1);
        goes_on = __ldg(a.continued + span + 1);
        uint64_t at = __ldg(a.span + span);
        uint32_t before = NO_ROW;
        sum = {};
        if (a.mttkrp.base)
            base = base_of(a.mttkrp, __ldg(a.block + span));
        for (bool is_first = true; at < end; is_first = false) {
            const int size = end - at < WARP ? static_cast<int>(end - at) : WARP;
            read(at + min(lane, size - 1));
            if (is_first && __ldg(a.continued + span))
                before = __shfl_sync(ALL, number, 0);
            at += find_rows(size, at + size == end, &before);
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
};

#endif
