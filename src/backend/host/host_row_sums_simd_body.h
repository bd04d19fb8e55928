/* The body of the MTTKRP kernels, compiled once for each vector length: host_row_sums_simdL.c
 * defines SIMD_WIDTH (doubles in a vector), says for which processors, and includes this file.
 *
 * Columns that two vectors of a tile share are computed twice, alike, and handed on once. Products
 * and sums are rounded alike for every SIMD_WIDTH. */
#include <stdbool.h>
#include <stddef.h>

#include "backend/host/host_row_sums.h"
#include "backend/host/simd_vector.h"

struct tile {
    uint64_t last;  /* the column of the last vector                      */
    vec_bits fresh; /* which of its width are not in the one before it    */
};

INLINE void hand_on_row(const struct row_sums *w, const struct tile *t, uint64_t row,
                        const vec *sum, int vectors)
{
    if (w->sink == ROW_STORE) {
        double *to = row_store(w, row);
        for (int v = 0; v < vectors; v++)
            store(to + column_of(t->last, v, vectors), sum[v]);
        return;
    }
    double *to = w->m + (row - w->low) * w->rank + w->column;
    if (w->sink != ROW_ADD)
        row_lock(row);
    for (int v = 0; v < vectors; v++) {
        vec x = sum[v];
        if (v + 1 == vectors)
            x = (vec)((vec_bits)x & t->fresh);
        double *p = to + column_of(t->last, v, vectors);
        store(p, load(p) + x);
    }
    if (w->sink != ROW_ADD)
        row_unlock(row);
}

/* Nonzeros are decoded some at a time, in loops that vectorise. Where the rows of the operands are
 * too many for the cache, those of nonzeros AHEAD are asked for in time. */
#define AHEAD         32
#define CACHE_LINE    8 /* doubles */
#define BATCH         128
#define DISTANT_BATCH 256

/* A batch, as compact as its kind allows, which shows in the time: at (others x batch) are the rows
 * of the operands, row (batch) those of M. */
struct decoded {
    const double *at[(MAX_ORDER - 1) * DISTANT_BATCH];
    uint64_t row[DISTANT_BATCH];
};

/* Where the operand's rows lie: a shift is much cheaper than a product in vectors of 64-bit
 * numbers. */
static void decode_rows(const struct row_operand *o, uint64_t rank, uint64_t first, uint64_t count,
                        const double **restrict at)
{
    const uint64_t *word = o->word + first, mask = o->mask;
    const double *rows = o->rows + o->base * rank;
    const int shift = o->shift;
    if ((rank & (rank - 1)) == 0) {
        const int left = __builtin_ctzll(rank);
        for (uint64_t j = 0; j < count; j++)
            at[j] = rows + (((word[j] >> shift) & mask) << left);
    } else {
        for (uint64_t j = 0; j < count; j++)
            at[j] = rows + ((word[j] >> shift) & mask) * rank;
    }
}

static void decode_target(const struct row_operand *o, uint64_t first, uint64_t count,
                          uint64_t *restrict row)
{
    const uint64_t *word = o->word + first, mask = o->mask, base = o->base;
    const int shift = o->shift;
    for (uint64_t j = 0; j < count; j++)
        row[j] = base | ((word[j] >> shift) & mask);
}

/* Nonzeros [first, first + count), at most a batch. */
static void decode(const struct row_sums *w, uint64_t first, uint64_t count, uint64_t batch,
                   struct decoded *d)
{
    decode_target(&w->target, first, count, d->row);
    for (int n = 0; n < w->others; n++)
        decode_rows(&w->other[n], w->rank, first, count, d->at + (uint64_t)n * batch);
}

/* Asks for the rows of decoded nonzeros [j, j + n). */
INLINE void prefetch_rows(const struct decoded *d, const struct tile *t, uint64_t j, uint64_t n,
                          uint64_t batch, int others)
{
    for (uint64_t i = j; i < j + n; i++)
        for (int o = 0; o < others; o++)
            for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c += CACHE_LINE)
                __builtin_prefetch(d->at[(uint64_t)o * batch + i] + c);
}

/* sum += the product of decoded nonzero j. */
INLINE void add_product(vec *sum, const struct decoded *d, const struct tile *t, uint64_t j,
                        double value, uint64_t batch, int others, int vectors)
{
    for (int v = 0; v < vectors; v++) {
        uint64_t c = column_of(t->last, v, vectors);
        vec product = others > 0 ? value * load(d->at[(uint64_t)(others - 1) * batch + j] + c)
                                 : (vec){0} + value;
        for (int n = others - 2; n >= 0; n--)
            product *= load(d->at[(uint64_t)n * batch + j] + c);
        sum[v] += product;
    }
}

/* The one kernel body. `others`, `vectors` and, where `exact`, the tile are constants, so that
 * loops over them unroll and a tile's products and sums live in registers. A row is summed twice,
 * by every other nonzero, since a sum must wait for the addition before it. */
INLINE void row_sums_body(struct row_sums *w, uint64_t first, uint64_t last, int others,
                          int vectors, bool exact, bool distant)
{
    struct tile t = {.last = (exact ? (uint64_t)vectors * SIMD_WIDTH : w->width) - SIMD_WIDTH};
    for (int lane = 0; lane < SIMD_WIDTH; lane++)
        t.fresh[lane] = -(int64_t)(t.last + (uint64_t)lane >= (uint64_t)(vectors - 1) * SIMD_WIDTH);
    /* The present row; no row at all where each nonzero is handed on by itself. */
    const uint64_t each = w->sink == ROW_ATOMIC_EACH ? UINT64_MAX : 0;
    uint64_t row = w->row, same = row | each;
    vec sum[4], other_sum[4];
    for (int v = 0; v < vectors; v++) {
        sum[v] = load(w->sum + column_of(t.last, v, vectors));
        other_sum[v] = (vec){0};
    }
    const uint64_t batch = distant ? DISTANT_BATCH : BATCH;
    struct decoded d;
    for (uint64_t begin = first; begin < last; begin += batch) {
        const double *value = w->value + begin;
        uint64_t count = last - begin < batch ? last - begin : batch;
        decode(w, begin, count, batch, &d);
        if (distant)
            prefetch_rows(&d, &t, 0, count < AHEAD ? count : AHEAD, batch, others);
        for (uint64_t j = 0; j < count; j++) {
            for (; j + 1 < count && d.row[j] == same && d.row[j + 1] == same; j += 2) {
                if (distant && j + 2 + AHEAD <= count)
                    prefetch_rows(&d, &t, j + AHEAD, 2, batch, others);
                add_product(sum, &d, &t, j, value[j], batch, others, vectors);
                add_product(other_sum, &d, &t, j + 1, value[j + 1], batch, others, vectors);
            }
            if (j == count)
                break;
            if (distant && j + AHEAD < count)
                prefetch_rows(&d, &t, j + AHEAD, 1, batch, others);
            if (d.row[j] != same) {
                uint64_t next = d.row[j];
                for (int v = 0; v < vectors; v++)
                    sum[v] += other_sum[v];
                hand_on_row(w, &t, row, sum, vectors);
                if (w->sink == ROW_STORE && next > row + 1)
                    row_sums_zero(w, row + 1, next);
                for (int v = 0; v < vectors; v++)
                    sum[v] = other_sum[v] = (vec){0};
                row = next;
                same = row | each;
            }
            add_product(sum, &d, &t, j, value[j], batch, others, vectors);
        }
    }
    w->row = row;
    for (int v = 0; v < vectors; v++)
        store(w->sum + column_of(t.last, v, vectors), sum[v] + other_sum[v]);
}

/* The list of specialisations: orders 3 to 5 and any other, tiles of 1 to 4 vectors that need not
 * overlap, and of 2 to 4 that do, rows in cache and distant ones. */
#define KERNEL(name, others, vectors, exact, distant)                                              \
    static void name(struct row_sums *w, uint64_t first, uint64_t last)                            \
    {                                                                                              \
        row_sums_body(w, first, last, others, vectors, exact, distant);                            \
    }
#define KERNELS(name, others, distant)                                                             \
    KERNEL(name##_1, others, 1, true, distant)                                                     \
    KERNEL(name##_2, others, 2, true, distant)                                                     \
    KERNEL(name##_3, others, 3, true, distant)                                                     \
    KERNEL(name##_4, others, 4, true, distant)                                                     \
    KERNEL(name##_2_overlap, others, 2, false, distant)                                            \
    KERNEL(name##_3_overlap, others, 3, false, distant)                                            \
    KERNEL(name##_4_overlap, others, 4, false, distant)

KERNELS(order_3, 2, false)
KERNELS(order_4, 3, false)
KERNELS(order_5, 4, false)
KERNELS(order_any, w->others, false)
KERNELS(distant_3, 2, true)
KERNELS(distant_4, 3, true)
KERNELS(distant_5, 4, true)
KERNELS(distant_any, w->others, true)

#define ROW(name)                                                                                  \
    {                                                                                              \
        {name##_1, name##_2, name##_3, name##_4},                                                  \
        {                                                                                          \
            NULL, name##_2_overlap, name##_3_overlap, name##_4_overlap                             \
        }                                                                                          \
    }
#define TABLE_OF(width)   host_row_sums_simd##width
#define TABLE_NAME(width) TABLE_OF(width)

const struct row_sum_kernels TABLE_NAME(SIMD_WIDTH) = {
    {{ROW(order_3), ROW(order_4), ROW(order_5), ROW(order_any)},
     {ROW(distant_3), ROW(distant_4), ROW(distant_5), ROW(distant_any)}}};
