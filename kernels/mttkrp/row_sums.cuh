/* Sums a run of nonzeros in the registers of a lane group, and adds or stores the sums in M. */
#pragma once

#include <stdint.h>

#include "numerics/vector.cuh"

constexpr uint32_t NO_ROW = UINT32_MAX;

/* Partial sums at the ends of the runs of one chunk. */
template <typename V, int LANE_GROUPS, int LANES> struct run_ends {
    static constexpr int COUNT = 2 * LANE_GROUPS;
    uint32_t row[COUNT]; /* NO_ROW where there is none */
    V sum[COUNT][LANES];
};

/* A row of a table of 16-byte vectors; `column` points into its row 0. One multiply-add. */
template <typename V>
__device__ __forceinline__ V *row_of(V *column, uint32_t row, uint32_t row_bytes)
{
    return reinterpret_cast<V *>(reinterpret_cast<uintptr_t>(column) +
                                 static_cast<uint64_t>(row) * row_bytes);
}

/* One lane's part of the sums of a run. */
template <typename V, int LANES> struct row_sums {
    V *m; /* this lane's column of M */
    uint32_t row_bytes;
    bool active; /* false where the row ends before this lane */
    bool ordered;
    const uint32_t *unshared; /* see mttkrp_args */
    uint32_t row, head_row;
    V sum, head;

    __device__ __forceinline__ bool is_unshared(uint32_t r) const
    {
        return unshared && (__ldg(unshared + r / 32) >> r % 32 & 1);
    }

    __device__ __forceinline__ void add(uint32_t to, V x) const
    {
        if (active)
            atomic_add(row_of(m, to, row_bytes), x);
    }
    __device__ __forceinline__ void store(uint32_t to, V x) const
    {
        if (active)
            __stcs(row_of(m, to, row_bytes), x); /* not read soon: the caches are for the factors */
    }

    /* The present row is complete in this run: adds or stores it. The run's first row is kept for
     * join_ends. */
    __device__ __forceinline__ void move_to(uint32_t next_row)
    {
        if (row == NO_ROW) {
        } else if (head_row == NO_ROW) {
            head_row = row;
            head = sum;
        } else if (ordered || is_unshared(row)) {
            store(row, sum);
        } else {
            add(row, sum);
        }
        row = next_row;
        sum = splat<V>(0);
    }

    /* Sums the ends of neighbouring runs that belong to the same row. */
    template <int LANE_GROUPS>
    __device__ void join_ends(run_ends<V, LANE_GROUPS, LANES> &ends) const
    {
        constexpr int COUNT = run_ends<V, LANE_GROUPS, LANES>::COUNT;
        int lane = threadIdx.x % LANES, lane_group = threadIdx.x / LANES;
        if (lane == 0) {
            ends.row[2 * lane_group] = head_row;
            ends.row[2 * lane_group + 1] = row;
        }
        ends.sum[2 * lane_group][lane] = head;
        ends.sum[2 * lane_group + 1][lane] = sum;
        __syncthreads();
        for (int e = 2 * lane_group; e < 2 * lane_group + 2; e++) {
            uint32_t r = ends.row[e];
            int before = e - 1, after = e + 1;
            while (before >= 0 && ends.row[before] == NO_ROW)
                before--;
            if (r == NO_ROW || (before >= 0 && ends.row[before] == r))
                continue; /* no row here, or an earlier end sums it */
            V total = ends.sum[e][lane];
            for (; after < COUNT && (ends.row[after] == r || ends.row[after] == NO_ROW); after++)
                if (ends.row[after] == r)
                    total = total + ends.sum[after][lane];
            if ((ordered && before >= 0 && after < COUNT) || is_unshared(r))
                store(r, total);
            else
                add(r, total);
        }
    }
};
