/* The last two vectors of a tile may overlap: the columns that both have are computed twice, with
 * the same result. Products and sums are rounded alike for every SIMD_WIDTH. */
#include "backend/host/host_row_sums.h"

#include <stdbool.h>

#include "backend/host/simd_vector.h"

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
    uint64_t rank, column;      /* column: the first of the last vector                       */
    uint64_t ahead, prefetched; /* rows of nonzero i + ahead are prefetched if i < prefetched */
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

INLINE void prefetch_rows(const struct reading *r, uint64_t i, int others, int vectors, bool near)
{
    if (near || i >= r->prefetched)
        return;
    for (int n = 0; n < others; n++)
        for (uint64_t c = 0; c < (uint64_t)vectors * SIMD_WIDTH; c += CACHE_LINE)
            __builtin_prefetch(row_at(r, n, i + r->ahead) + c);
}

/* sum += the product of nonzero i. */
INLINE void add_product(vec *sum, const struct reading *r, uint64_t i, int others, int vectors)
{
    const entry value = value_at(r, i);
    vec product[4];
    EACH_VECTOR(v, vectors)
        product[v] = (vec){0} + value;
    for (int n = others - 1; n >= 0; n--) {
        const entry *row = row_at(r, n, i);
        EACH_VECTOR(v, vectors)
            product[v] *= load(row + column_of(r->column, v, vectors));
    }
    EACH_VECTOR(v, vectors)
        sum[v] += product[v];
}

/* Adds nonzeros [i, end) of a row, by turns to two sums, since a sum must wait for the addition
 * before it. */
INLINE void add_products(vec *sum, vec *other_sum, const struct reading *r, uint64_t i,
                         uint64_t end, int others, int vectors, bool near)
{
    for (; i + 1 < end; i += 2) {
        prefetch_stream(r, i, others);
        prefetch_rows(r, i, others, vectors, near);
        prefetch_rows(r, i + 1, others, vectors, near);
        add_product(sum, r, i, others, vectors);
        add_product(other_sum, r, i + 1, others, vectors);
    }
    if (i < end) {
        prefetch_rows(r, i, others, vectors, near);
        add_product(sum, r, i, others, vectors);
    }
}

/* s->sum += the tile `part`. */
APART void keep_part(struct host_row_sums *s, const entry *part)
{
    for (uint64_t c = 0; c < s->width; c++)
        s->sum[c] += (double)part[c];
}

/* part += s->sum, which becomes 0. */
APART void take_kept(struct host_row_sums *s, entry *part)
{
    for (uint64_t c = 0; c < s->width; c++) {
        part[c] = (entry)(s->sum[c] + (double)part[c]);
        s->sum[c] = 0;
    }
}

/* Row `row` of M += the tile `part`, under its lock. */
APART void add_locked(struct host_row_sums *s, uint64_t row, const entry *part)
{
    entry *to = host_row_added(s, row);
    host_row_lock(row);
    for (uint64_t c = 0; c < s->width; c++)
        to[c] += part[c];
    host_row_unlock(row);
}

INLINE void store_tile(entry *to, const vec *x, uint64_t column, int vectors)
{
    EACH_VECTOR(v, vectors)
        store(to + column_of(column, v, vectors), x[v]);
}

/* s->sum += both sums, which become 0. */
INLINE void keep_sums(struct host_row_sums *s, uint64_t column, vec *sum, vec *other_sum,
                      int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    EACH_VECTOR(v, vectors)
        sum[v] += other_sum[v];
    store_tile(part, sum, column, vectors);
    keep_part(s, part);
    EACH_VECTOR(v, vectors)
        sum[v] = other_sum[v] = (vec){0};
}

/* Stores or adds the sum of `row`, a part of which may be in s->sum, and starts that of `next`. */
INLINE void change_row(struct host_row_sums *s, uint64_t column, uint64_t row, uint64_t next,
                       bool *kept, vec *sum, vec *other_sum, int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    EACH_VECTOR(v, vectors)
        sum[v] += other_sum[v];
    if (*kept) {
        store_tile(part, sum, column, vectors);
        take_kept(s, part);
        EACH_VECTOR(v, vectors)
            sum[v] = load(part + column_of(column, v, vectors));
    }
    *kept = false;
    if (s->sink == HOST_ROW_STORE) {
        store_tile(host_row_store(s, row), sum, column, vectors);
        if (next > row + 1)
            host_row_sums_zero(s, row + 1, next);
    } else if (s->sink == HOST_ROW_ADD) {
        entry *to = host_row_added(s, row);
        EACH_VECTOR(v, vectors)
            sum[v] += load(to + column_of(column, v, vectors));
        store_tile(to, sum, column, vectors);
    } else {
        store_tile(part, sum, column, vectors);
        add_locked(s, row, part);
    }
    EACH_VECTOR(v, vectors)
        sum[v] = other_sum[v] = (vec){0};
}

/* The one kernel body. `others`, unless it is s->others, `vectors` and, where `exact`, the tile are
 * constants, so that loops over them unroll and a tile's products and sums live in registers;
 * `near`: rows are not prefetched. Sums of floats are kept (in s->sum, in double precision) after
 * every KEEP_NNZ nonzeros. */
INLINE void row_sums_body(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,
                          uint64_t first, uint64_t last, int others, int vectors, bool exact,
                          bool near, bool narrow)
{
    const bool is_single = sizeof(entry) == sizeof(float);
    const bool each = s->sink == HOST_ROW_ATOMIC_EACH;
    struct reading r = {.value = x->value,
                        .rank = s->rank,
                        .column = (exact ? (uint64_t)vectors * SIMD_WIDTH : s->width) - SIMD_WIDTH,
                        .ahead = s->ahead,
                        .prefetched = !near && last > s->ahead ? last - s->ahead : 0,
                        .narrow = narrow};
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
            change_row(s, r.column, row, next, &kept, sum, other_sum, vectors);
        row = next;
        for (;;) {
            const bool keep = is_single && end - i > KEEP_NNZ;
            const uint64_t to = keep ? i + KEEP_NNZ : end;
            add_products(sum, other_sum, &r, i, to, others, vectors, near);
            i = to;
            if (!keep)
                break;
            keep_sums(s, r.column, sum, other_sum, vectors);
            kept = true;
        }
    }
    keep_sums(s, r.column, sum, other_sum, vectors);
    s->row = row;
}

/* The list of specialisations: orders 3 to 5 and any other; tiles of 1 to 4 vectors, which overlap
 * or do not (other orders have one body for both); factors' rows in cache and distant, which are
 * prefetched; wide and narrow nonzeros. */
#define KERNEL(name, others, vectors, near, narrow)                                                \
    static void name(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,     \
                     uint64_t first, uint64_t last)                                                \
    {                                                                                              \
        if (SIMD_WIDTH == 1 || (vectors) == 1 ||                                                   \
            (__builtin_constant_p(others) && s->width == SIMD_WIDTH * (vectors)))                  \
            row_sums_body(s, x, stretch, first, last, others, vectors, true, near, narrow);        \
        else                                                                                       \
            row_sums_body(s, x, stretch, first, last, others, vectors, false, near, narrow);       \
    }
#define TILES(name, others, near, narrow)                                                          \
    KERNEL(name##_1, others, 1, near, narrow)                                                      \
    KERNEL(name##_2, others, 2, near, narrow)                                                      \
    KERNEL(name##_3, others, 3, near, narrow)                                                      \
    KERNEL(name##_4, others, 4, near, narrow)
#define TILE_ROW(name)                                                                             \
    {                                                                                              \
        name##_1, name##_2, name##_3, name##_4                                                     \
    }
#ifdef ANY_KERNEL /* stands in for all others: its body is theirs */
TILES(any, s->others, s->ahead == 0, x->narrow)
#define ORDERS(name) TILE_ROW(any), TILE_ROW(any), TILE_ROW(any), TILE_ROW(any)
#else
#define ALL_TILES(name, near, narrow)                                                              \
    TILES(name##_3, 2, near, narrow)                                                               \
    TILES(name##_4, 3, near, narrow)                                                               \
    TILES(name##_5, 4, near, narrow)                                                               \
    TILES(name##_any, s->others, near, narrow)
ALL_TILES(near, true, false)
ALL_TILES(distant, false, false)
ALL_TILES(narrow_near, true, true)
ALL_TILES(narrow_distant, false, true)
#define ORDERS(name)                                                                               \
    TILE_ROW(name##_3), TILE_ROW(name##_4), TILE_ROW(name##_5), TILE_ROW(name##_any)
#endif

const struct host_row_sums_kernels SIMD_NAME(host_row_sums) = {
    {{{ORDERS(near)}, {ORDERS(distant)}}, {{ORDERS(narrow_near)}, {ORDERS(narrow_distant)}}}};
