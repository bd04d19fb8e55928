/* Columns in which two vectors of a tile overlap are computed twice, with the same result, and
 * stored or added once. Products and sums are rounded alike for every SIMD_WIDTH. */
#include "backend/host/host_row_sums.h"

#include <stdbool.h>
#include <stddef.h>

#include "backend/host/simd_vector.h"

struct tile {
    uint64_t last; /* first column of the last vector                          */
#if SIMD_WIDTH > 1
    vec_bits fresh; /* all ones for its columns that no vector before it has    */
#endif
};

/* The last vector of a tile, with 0 in the columns that the vector before it has, too. */
INLINE vec fresh_columns(const struct tile *t, vec x)
{
#if SIMD_WIDTH > 1
    return (vec)((vec_bits)x & t->fresh);
#else
    (void)t;
    return x;
#endif
}

INLINE struct tile tile_of(uint64_t width, int vectors)
{
    struct tile t = {.last = width - SIMD_WIDTH};
#if SIMD_WIDTH > 1
    for (int c = 0; c < SIMD_WIDTH; c++)
        t.fresh[c] = -(entry_bits)(t.last + (uint64_t)c >= (uint64_t)(vectors - 1) * SIMD_WIDTH);
#else
    (void)vectors;
#endif
    return t;
}

INLINE void put_row(const struct host_row_sums *s, const struct tile *t, uint64_t row,
                    const vec *sum, int vectors)
{
    if (s->sink == HOST_ROW_STORE) {
        entry *to = host_row_store(s, row);
        EACH_VECTOR(v, vectors)
            store(to + column_of(t->last, v, vectors), sum[v]);
        return;
    }
    entry *to = host_row_added(s, row);
    if (s->sink != HOST_ROW_ADD)
        host_row_lock(row);
    EACH_VECTOR(v, vectors) {
        vec x = v + 1 == vectors ? fresh_columns(t, sum[v]) : sum[v];
        entry *p = to + column_of(t->last, v, vectors);
        store(p, load(p) + x);
    }
    if (s->sink != HOST_ROW_ADD)
        host_row_unlock(row);
}

/* The processor reads ahead along arrays, but not far enough where rows of factors come in between:
 * coordinates and values are prefetched STREAM_AHEAD nonzeros before their use. */
#define STREAM_AHEAD 64
#define LINE_BYTES   64                           /* of the cache */
#define CACHE_LINE   (LINE_BYTES / sizeof(entry)) /* entries */
#define KEEP_NNZ     128                          /* of a row, whose sum in floats is then kept */

/* What a kernel reads; `narrow` is a constant. */
struct reading {
    const entry *rows[MAX_ORDER - 1];
    const void *coordinate[MAX_ORDER - 1], *value;
    uint64_t rank, last, ahead; /* last: after the last nonzero; ahead: of the sum */
    bool narrow;
};

INLINE const entry *row_at(const struct reading *r, int n, uint64_t i)
{
    const void *of = r->coordinate[n];
    return r->rows[n] +
           (r->narrow ? ((const uint16_t *)of)[i] : ((const uint32_t *)of)[i]) * r->rank;
}

INLINE entry value_at(const struct reading *r, uint64_t i)
{
    const void *of = r->value;
    return r->narrow ? (entry)((const float *)of)[i] : (entry)((const double *)of)[i];
}

/* Called for every second nonzero of a row; prefetches each cache line once. */
INLINE void prefetch_stream(const struct reading *r, uint64_t i, int others)
{
    const uint64_t value = r->narrow ? sizeof(float) : sizeof(double);
    const uint64_t coordinate = r->narrow ? sizeof(uint16_t) : sizeof(uint32_t);
    const uint64_t at = i + STREAM_AHEAD;
    if (i % (LINE_BYTES / value) > 1)
        return;
    __builtin_prefetch((const char *)r->value + at * value);
    if (i % (LINE_BYTES / coordinate) > 1)
        return;
    for (int n = 0; n < others; n++)
        __builtin_prefetch((const char *)r->coordinate[n] + at * coordinate);
}

INLINE void prefetch_rows(const struct reading *r, const struct tile *t, uint64_t i, int others)
{
    if (i + r->ahead >= r->last)
        return;
    for (int n = 0; n < others; n++)
        for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c += CACHE_LINE)
            __builtin_prefetch(row_at(r, n, i + r->ahead) + c);
}

/* sum += the product of nonzero i. */
INLINE void add_product(vec *sum, const struct reading *r, const struct tile *t, uint64_t i,
                        int others, int vectors)
{
    const entry value = value_at(r, i);
    EACH_VECTOR(v, vectors) {
        uint64_t c = column_of(t->last, v, vectors);
        vec product = others > 0 ? value * load(row_at(r, others - 1, i) + c) : (vec){0} + value;
        for (int n = others - 2; n >= 0; n--)
            product *= load(row_at(r, n, i) + c);
        sum[v] += product;
    }
}

/* s->sum += both sums, which become 0. */
INLINE void keep_sums(struct host_row_sums *s, const struct tile *t, vec *sum, vec *other_sum,
                      int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    EACH_VECTOR(v, vectors) {
        store(part + column_of(t->last, v, vectors), sum[v] + other_sum[v]);
        sum[v] = other_sum[v] = (vec){0};
    }
    for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c++)
        s->sum[c] += (double)part[c];
}

/* sum += s->sum, which becomes 0. */
INLINE void take_kept(struct host_row_sums *s, const struct tile *t, vec *sum, int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    EACH_VECTOR(v, vectors)
        store(part + column_of(t->last, v, vectors), sum[v]);
    for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c++) {
        part[c] = (entry)(s->sum[c] + (double)part[c]);
        s->sum[c] = 0;
    }
    EACH_VECTOR(v, vectors)
        sum[v] = load(part + column_of(t->last, v, vectors));
}

/* Stores or adds the sum of `row`, a part of which may be in s->sum, and starts that of `next`. */
INLINE void change_row(struct host_row_sums *s, const struct tile *t, uint64_t row, uint64_t next,
                       bool *kept, vec *sum, vec *other_sum, int vectors)
{
    EACH_VECTOR(v, vectors)
        sum[v] += other_sum[v];
    if (*kept)
        take_kept(s, t, sum, vectors);
    *kept = false;
    put_row(s, t, row, sum, vectors);
    if (s->sink == HOST_ROW_STORE && next > row + 1)
        host_row_sums_zero(s, row + 1, next);
    EACH_VECTOR(v, vectors)
        sum[v] = other_sum[v] = (vec){0};
}

/* Adds nonzeros [i, end) of a row, by turns to two sums, since a sum must wait for the addition
 * before it. */
INLINE void add_products(vec *sum, vec *other_sum, const struct reading *r, const struct tile *t,
                         uint64_t i, uint64_t end, int others, int vectors, bool distant)
{
    for (; i + 1 < end; i += 2) {
        prefetch_stream(r, i, others);
        if (distant) {
            prefetch_rows(r, t, i, others);
            prefetch_rows(r, t, i + 1, others);
        }
        add_product(sum, r, t, i, others, vectors);
        add_product(other_sum, r, t, i + 1, others, vectors);
    }
    if (i < end) {
        if (distant)
            prefetch_rows(r, t, i, others);
        add_product(sum, r, t, i, others, vectors);
    }
}

/* The one kernel body. `others`, `vectors` and, where `exact`, the tile are constants, so that
 * loops over them unroll and a tile's products and sums live in registers. Sums of floats are kept
 * (in s->sum, in double precision) after every KEEP_NNZ nonzeros. */
INLINE void row_sums_body(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,
                          uint64_t first, uint64_t last, int others, int vectors, bool exact,
                          bool distant, bool narrow)
{
    const struct tile t = tile_of(exact ? (uint64_t)vectors * SIMD_WIDTH : s->width, vectors);
    const bool is_single = sizeof(entry) == sizeof(float);
    const bool each = s->sink == HOST_ROW_ATOMIC_EACH;
    struct reading r = {
        .value = x->value, .rank = s->rank, .last = last, .ahead = s->ahead, .narrow = narrow};
    for (int n = 0; n < others; n++) {
        r.rows[n] = s->rows[n];
        r.coordinate[n] = x->coordinate[n];
    }
    vec sum[4], other_sum[4];
    EACH_VECTOR(v, vectors)
        sum[v] = other_sum[v] = (vec){0};
    uint64_t row = s->row;
    bool kept = true;
    for (uint64_t i = first; i < last; stretch++) {
        const uint64_t next = x->row[stretch],
                       end = x->end[stretch] < last ? x->end[stretch] : last;
        if (next != row || each)
            change_row(s, &t, row, next, &kept, sum, other_sum, vectors);
        row = next;
        for (;;) {
            const bool keep = is_single && end - i > KEEP_NNZ;
            const uint64_t to = keep ? i + KEEP_NNZ : end;
            add_products(sum, other_sum, &r, &t, i, to, others, vectors, distant);
            i = to;
            if (!keep)
                break;
            keep_sums(s, &t, sum, other_sum, vectors);
            kept = true;
        }
    }
    keep_sums(s, &t, sum, other_sum, vectors);
    s->row = row;
}

/* The list of specialisations: orders 3 to 5 and any other; tiles of 1 to 4 vectors that do not
 * overlap, and of 2 to 4 that do; factors' rows in cache and distant, which are prefetched; wide
 * and narrow nonzeros. */
#define KERNEL(name, others, vectors, exact, distant, narrow)                                      \
    static void name(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,     \
                     uint64_t first, uint64_t last)                                                \
    {                                                                                              \
        row_sums_body(s, x, stretch, first, last, others, vectors, exact, distant, narrow);        \
    }
#define KERNELS(name, others, distant, narrow)                                                     \
    KERNEL(name##_1, others, 1, true, distant, narrow)                                             \
    KERNEL(name##_2, others, 2, true, distant, narrow)                                             \
    KERNEL(name##_3, others, 3, true, distant, narrow)                                             \
    KERNEL(name##_4, others, 4, true, distant, narrow)                                             \
    OVERLAPS(name, others, distant, narrow)
#if SIMD_WIDTH == 1
#define OVERLAPS(name, others, distant, narrow)
#define OVERLAP_ROW(name) NULL, NULL, NULL, NULL
#else
#define OVERLAPS(name, others, distant, narrow)                                                    \
    KERNEL(name##_2_overlap, others, 2, false, distant, narrow)                                    \
    KERNEL(name##_3_overlap, others, 3, false, distant, narrow)                                    \
    KERNEL(name##_4_overlap, others, 4, false, distant, narrow)
#define OVERLAP_ROW(name) NULL, name##_2_overlap, name##_3_overlap, name##_4_overlap
#endif
#define ORDERS(name, distant, narrow)                                                              \
    KERNELS(name##_3, 2, distant, narrow)                                                          \
    KERNELS(name##_4, 3, distant, narrow)                                                          \
    KERNELS(name##_5, 4, distant, narrow)                                                          \
    KERNELS(name##_any, s->others, distant, narrow)

ORDERS(near, false, false)
ORDERS(distant, true, false)
ORDERS(narrow_near, false, true)
ORDERS(narrow_distant, true, true)

#define ROW(name)                                                                                  \
    {                                                                                              \
        {name##_1, name##_2, name##_3, name##_4},                                                  \
        {                                                                                          \
            OVERLAP_ROW(name)                                                                      \
        }                                                                                          \
    }
#define ORDER_ROWS(name)                                                                           \
    {                                                                                              \
        ROW(name##_3), ROW(name##_4), ROW(name##_5), ROW(name##_any)                               \
    }
const struct host_row_sums_kernels SIMD_NAME(host_row_sums) = {
    {{ORDER_ROWS(near), ORDER_ROWS(distant)},
     {ORDER_ROWS(narrow_near), ORDER_ROWS(narrow_distant)}}};
