/* Short rows of counts that take the diagonal step. Lane groups take a row each: many small groups
 * those of few nonzeros, some larger ones the others. */
#ifndef BLCO_SHORT_DIAGONAL_CUH
#define BLCO_SHORT_DIAGONAL_CUH

#include "kernels/rows/diagonal_group.cuh"

constexpr int DIAGONAL_FEW = 8; /* nonzeros of a row */

template <typename T, int COLUMNS> struct short_diagonal : short_rows {
    static constexpr int SMALL = COLUMNS > 32 ? COLUMNS / 4 : 8; /* lanes */
    static constexpr int LARGE = COLUMNS > 32 ? COLUMNS / 2 : 16;
    using few = diagonal_group<T, SMALL, COLUMNS / SMALL, DIAGONAL_FEW>;
    using many = diagonal_group<T, LARGE, COLUMNS / LARGE, ROW_SHORT_DIAGONAL>;
    using room_of = diagonal_room<COLUMNS>;
    room_of &room;

    __device__ __forceinline__ short_diagonal(const row_systems_args &args, room_of &of)
        : short_rows(args, of.row), room(of)
    {
        for (int r = lane; r < COLUMNS; r += WARP) {
            const bool there = r < static_cast<int>(a.rank);
            room.now[r] = there ? a.common.now[r] : 0;
            room.out[r] = there ? a.common.out[r] : 0;
            room.linear[r] = there ? a.common.linear[r] : 0;
            room.unit[r] = there ? a.common.unit[r] : 0;
            room.ridge[r] = there ? a.common.ridge[r] : 0;
            room.inverse[r] = there ? 1 / (a.common.unit[r] * a.of_count) : 0;
        }
        __syncwarp();
    }

    /* The rows of these slots. */
    template <typename GROUP, int LANES> __device__ __forceinline__ void improve(uint32_t slots)
    {
        const GROUP group(*this, room);
#pragma unroll 1
        while (slots) {
            uint32_t own = slots; /* begins with that of the lane's group */
#pragma unroll
            for (int g = 0; g < WARP / LANES; g++) {
                own = g < lane / LANES ? own & (own - 1) : own;
                slots &= slots - 1;
            }
            const short_row of = own ? room.row[__ffs(static_cast<int>(own)) - 1] : short_row{};
            sum.violation = fmax(sum.violation, group.improve(of, own != 0));
        }
    }

    __device__ __forceinline__ bool solve()
    {
        const int nonzeros = lane < rows ? room.row[lane].length : 0;
        const uint32_t all = __ballot_sync(ALL, nonzeros > 0);
        const uint32_t small = __ballot_sync(ALL, nonzeros > 0 && nonzeros <= DIAGONAL_FEW);
        improve<few, SMALL>(small);
        improve<many, LARGE>(all & ~small);
        return true;
    }
};

#endif
