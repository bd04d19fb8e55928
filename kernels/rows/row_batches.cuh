/* Reads the nonzeros of a chunk batch by batch: up to 8 nonzeros of one row at a time. The rows
 * that they gather are copied into one of two stages in shared memory, without passing through
 * registers. Or window by window, where a run begins (row_run). All warps of a thread block read
 * the same, and share the copies. */
#pragma once

#include <cuda_pipeline_primitives.h>
#include <math.h>

#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"
#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

constexpr int BATCH = 8; /* nonzeros at a time */

/* 32 nonzeros from a place on, one in each lane. */
struct window {
    index_words<ANY> index;
    double value;
    uint32_t row; /* not before it is the present window */
};

/* A window on its way, of which a lane reads its own nonzero only; shared. */
struct coming_window {
    uint64_t index[WARP]; /* the first word */
    double value[WARP];   /* or a float in the place of each */
};

/* Up to BATCH nonzeros of one row, whose gathered rows are in a stage or on their way there. */
struct batch {
    double value; /* of nonzero `lane % BATCH`; NaN: not there */
    int count;    /* 0: there is none */
};

/* Consecutive nonzeros. */
struct chunk_of_rows {
    uint64_t begin, end;
    uint32_t block; /* in which they lie                    */
    bool continued; /* the first row begins before the chunk */
    bool goes_on;   /* the last row ends after it           */
    int skipped; /* rows of up to so many nonzeros, which lie in the chunk as a whole, are none of
                  * its batches */
};

template <typename T, int COLUMNS> struct row_batches {
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T);
    static constexpr int VECTORS = COLUMNS / WIDTH; /* of a row                                 */
    static constexpr int WARPS = warps_of_row<COLUMNS / TILE_SIDE>;
    static constexpr int AT_ONCE = BATCH < WARPS * WARP / VECTORS ? BATCH : WARPS * WARP / VECTORS;
    static constexpr int STEPS = BATCH / AT_ONCE; /* copies of a batch's rows                 */
    /* Entries from one row in a stage to the next: those of four nonzeros lie in different banks.
     */
    static constexpr int LD = sizeof(T) == sizeof(double) ? COLUMNS + 4
                              : COLUMNS == TILE_SIDE      ? COLUMNS
                                                          : COLUMNS + 8;

    const mttkrp_args &a;
    T *stage; /* (2 x gathers x BATCH x LD); shared                           */
    const uint32_t lane;
    const bool narrow;    /* indices of one word, no bases                                */
    const uint32_t *base; /* of the block, or NULL                                        */
    uint64_t first, end;  /* of the window; of the chunk                                   */
    bool goes_on;         /* the chunk's last row, after its end                           */
    int skipped;          /* as in struct chunk_of_rows                                    */
    uint32_t previous;    /* the row of the last batch                                    */
    int from, size;       /* lanes of the window that are still to come: [from, size)     */
    int same;             /* lanes [from, same) have the row of the last batch            */
    uint32_t heads;       /* bit i: lane i has another row than lane i - 1                */
    window now, next;

    __device__ __forceinline__ row_batches(const mttkrp_args &args, T *stages)
        : a(args), stage(stages), lane(lane_of_thread<WARPS>()),
          narrow(!args.index[1] && !args.base), base(nullptr)
    {
    }

    /* At the first nonzero of a chunk that has some. */
    __device__ __forceinline__ void begin(const chunk_of_rows &chunk)
    {
        end = chunk.end;
        goes_on = chunk.goes_on;
        skipped = chunk.skipped;
        base = base_of(a, chunk.block);
        previous = NO_ROW;
        now = next = narrow ? read<true>(chunk.begin) : read<false>(chunk.begin);
        begin_window(chunk.begin);
        if (chunk.continued)
            previous = __shfl_sync(ALL, now.row, 0);
    }

    /* Coordinates of one word without a base have NARROW. */
    template <bool NARROW>
    __device__ __forceinline__ uint32_t row_number(const mttkrp_field &f,
                                                   const index_words<ANY> &index) const
    {
        if constexpr (NARROW)
            return static_cast<uint32_t>(index.word[0] >> f.shift) & f.mask;
        return coordinate_at(f, index, base);
    }

    template <bool NARROW> __device__ __forceinline__ window read(uint64_t at) const
    {
        const uint64_t i = at + lane < end ? at + lane : end - 1;
        window w;
        w.index = index_at<NARROW>(a, i);
        w.value = value_at(a, precision_of<T>, i);
        return w;
    }

    /* Nonzero `lane + by` of those in the present window and the next one. */
    template <typename X> __device__ __forceinline__ X slid(X low, X high, int by) const
    {
        const int from = static_cast<int>(lane) + by;
        const X a = __shfl_sync(ALL, low, from), b = __shfl_sync(ALL, high, from);
        return from < WARP ? a : b;
    }

    /* The window goes on from its lane `from`, so that a short row lies in it as a whole. */
    __device__ __forceinline__ void slide()
    {
        if (from < WARP) {
            for (int k = 0; k < (narrow ? 1 : 2); k++)
                now.index.word[k] = slid(now.index.word[k], next.index.word[k], from);
            now.value = slid(now.value, next.value, from);
        } else {
            now = next;
        }
        begin_window(first + from);
    }

    __device__ __forceinline__ void begin_window(uint64_t at)
    {
        if (narrow)
            begin_window_of<true>(at);
        else
            begin_window_of<false>(at);
    }

    /* The nonzeros of the window from `at` on are in `now`. */
    template <bool NARROW> __device__ __forceinline__ void begin_window_of(uint64_t at)
    {
        first = at;
        from = 0;
        size = end - first < WARP ? static_cast<int>(end - first) : WARP;
        now.row = row_number<NARROW>(a.output, now.index);
        const uint32_t before = __shfl_up_sync(ALL, now.row, 1);
        heads = __ballot_sync(ALL, static_cast<int>(lane) < size && lane > 0 && now.row != before);
        same = __shfl_sync(ALL, now.row, 0) == previous ? end_of_row(0) : 0;
        if (first + WARP < end)
            next = read<NARROW>(first + WARP);
    }

    /* The lane after the last one that has the row of this lane. */
    __device__ __forceinline__ int end_of_row(int place) const
    {
        const uint32_t later = heads >> place >> 1;
        return later ? place + __ffs(static_cast<int>(later)) : size;
    }

    /* Whether a later window has the next nonzeros, or a row that begins now may not lie in this
     * one as a whole. */
    __device__ __forceinline__ bool needs_window() const
    {
        return first + size < end &&
               (from == size || (size - from <= max(BATCH, skipped) && heads >> from & 1));
    }

    __device__ __forceinline__ bool is_of_run(const window &w, uint32_t row) const
    {
        return row_number<true>(a.output, w.index) == row && row_term_known(w.value);
    }

    /* Whether the next 32 nonzeros have this row, which is that of lane `from` or of the last
     * batch, and known values: then they become the window. Indices have one word. */
    __device__ __forceinline__ bool begin_run(uint32_t row)
    {
        const bool of_run =
            static_cast<int>(lane) < from ? is_of_run(next, row) : is_of_run(now, row);
        if (!__all_sync(ALL, same == WARP && first + from + WARP <= end && of_run))
            return false;
        previous = row;
        if (from > 0)
            slide();
        return true;
    }

    /* The next window is on its way through shared memory, as registers have no room for it; all of
     * it belongs to the run, or the run ends before it. */
    __device__ __forceinline__ void pass_window(coming_window &next) const
    {
        const uint64_t at = first + WARP + lane, i = at < end ? at : end - 1;
        __pipeline_memcpy_async(next.index + lane, a.index[0] + i, sizeof *next.index);
        if (has_wide_values(a, precision_of<T>))
            __pipeline_memcpy_async(next.value + lane, static_cast<const double *>(a.value) + i,
                                    sizeof(double));
        else
            __pipeline_memcpy_async(next.value + lane, static_cast<const float *>(a.value) + i,
                                    sizeof(float));
        __pipeline_commit();
    }
    __device__ __forceinline__ bool run_goes_on(uint32_t row, const coming_window &next)
    {
        __pipeline_wait_prior(0);
        const double *value = next.value + lane;
        first += WARP;
        now.index.word[0] = next.index[lane];
        now.value =
            has_wide_values(a, precision_of<T>) ? *value : *reinterpret_cast<const float *>(value);
        return __all_sync(ALL, first + WARP <= end && is_of_run(now, row));
    }
    __device__ __forceinline__ T *rows_of(int which, int gather) const
    {
        return stage + (which * a.gathers + gather) * BATCH * LD;
    }

    /* Starts to copy the rows that nonzeros [from, from + count) of the window gather. What is in
     * place of others, or of columns after the last, is a number and counts nothing. */
    template <int GATHERS, bool NARROW>
    __device__ __forceinline__ void copy_rows(int which, int count) const
    {
        const int gathers = GATHERS == ANY ? a.gathers : GATHERS;
        const uint32_t v = threadIdx.x % VECTORS, row_bytes = a.vectors * VECTOR_BYTES;
        const int place = static_cast<int>(threadIdx.x / VECTORS) % AT_ONCE;
        T *to = rows_of(which, 0) + place * LD + v * WIDTH;
#pragma unroll(GATHERS == ANY ? 1 : GATHERS)
        for (int k = 0; k < gathers; k++, to += BATCH * LD) {
            const mttkrp_gather &gather = a.gather[k];
            const uint32_t mine = row_number<NARROW>(gather.field, now.index);
            const char *rows =
                static_cast<const char *>(gather.rows) + min(v, a.vectors - 1) * VECTOR_BYTES;
            uint64_t i[STEPS];
            EACH_UNROLLED(s, STEPS)
                i[s] = __shfl_sync(ALL, mine, from + s * AT_ONCE + place);
            EACH_UNROLLED(s, STEPS)
                if (s * AT_ONCE < count)
                    copy_vector(to + s * AT_ONCE * LD, rows + i[s] * row_bytes);
                else
                    *reinterpret_cast<uint4 *>(to + s * AT_ONCE * LD) = {};
        }
    }

    /* The first lane, from `from` on, whose row is not one of those that are skipped; `size` if
     * there is none. */
    __device__ __forceinline__ int first_kept() const
    {
        const int mine = static_cast<int>(lane), after = end_of_row(mine);
        const bool begins = mine == from ? now.row != previous : heads >> lane & 1;
        const bool is_whole = after < size || (first + size == end && !goes_on);
        const bool is_kept = begins ? !is_whole || after - mine > skipped : mine == from;
        const uint32_t kept = __ballot_sync(ALL, mine >= from && mine < size && is_kept);
        return kept ? __ffs(static_cast<int>(kept)) - 1 : size;
    }

    /* Goes to the next nonzero that is not skipped; false where there is none. *row = its row. */
    __device__ __forceinline__ bool find_next(uint32_t *row)
    {
        while (from >= same) {
            if (needs_window())
                slide();
            if (from >= size)
                return false;
            const int kept = skipped > 0 ? first_kept() : from;
            if (kept > from)
                previous = __shfl_sync(ALL, now.row, kept - 1);
            else
                same = end_of_row(from);
            from = kept;
        }
        *row = __shfl_sync(ALL, now.row, from);
        return true;
    }

    /* Up to BATCH nonzeros of this row, that of lane `from`, whose rows go to stage `which`. */
    __device__ __forceinline__ batch take_batch(int which, uint32_t row)
    {
        const int k = static_cast<int>(lane) % BATCH;
        const double value = __shfl_sync(ALL, now.value, from + k);
        const int count = min(same - from, BATCH);
        previous = row;
        if (narrow && a.gathers == 2)
            copy_rows<2, true>(which, count);
        else if (narrow)
            copy_rows<ANY, true>(which, count);
        else
            copy_rows<ANY, false>(which, count);
        from += count;
        return {k < count ? value : NAN, count};
    }
};
