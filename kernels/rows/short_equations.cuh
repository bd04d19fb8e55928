/* Short rows where unlisted entries are unknown and there is a ridge: an equation for each nonzero
 * of a row. */
#ifndef BLCO_SHORT_EQUATIONS_CUH
#define BLCO_SHORT_EQUATIONS_CUH

#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"

template <int COLUMNS> struct short_equations : short_window<COLUMNS, 0> {
    using window = short_window<COLUMNS, 0>;
    using window::a, window::room, window::lane, window::row, window::value, window::sum,
        window::LD, window::each_row, window::write, window::short_window;
    static constexpr int MOST = ROW_SHORT_EQUATIONS;
    static constexpr double LIMIT = 1e8; /* of K, which costs as many digits */

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
    __device__ __forceinline__ bool solve()
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
};

#endif
