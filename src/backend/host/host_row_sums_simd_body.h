/* The body of the MTTKRP kernels: each host_row_sums_simdL*.c and host_row_sums_singleL*.c defines
 * SIMD_WIDTH (entries in a vector) and, for floats, SIMD_SINGLE, says for which processors, and
 * includes this file once; no other file does.
 *
 * Columns that two vectors of a tile share are computed twice, alike, and stored or added once.
 * Products and sums are rounded alike for every SIMD_WIDTH. */
#include <stdbool.h>
#include <stddef.h>

#include "backend/host/host_row_sums.h"
#include "backend/host/simd_vector.h"

struct tile {
    uint64_t last; /* first column of the last vector                          */
#if SIMD_WIDTH > 1
    vec_bits fresh; /* all ones for its columns that no vector before it has    */
#endif
};

/* The last vector of a tile, without the columns that the one before it has, too. */
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
        for (int v = 0; v < vectors; v++)
            store(to + column_of(t->last, v, vectors), sum[v]);
        return;
    }
    entry *to = host_row_added(s, row);
    if (s->sink != HOST_ROW_ADD)
        host_row_lock(row);
    for (int v = 0; v < vectors; v++) {
        vec x = v + 1 == vectors ? fresh_columns(t, sum[v]) : sum[v];
        entry *p = to + column_of(t->last, v, vectors);
        store(p, load(p) + x);
    }
    if (s->sink != HOST_ROW_ADD)
        host_row_unlock(row);
}

/* Nonzeros are decoded some at a time, in loops that vectorise. Where the operands' rows are
 * too many for the cache, they are prefetched AHEAD nonzeros before their use. */
#define AHEAD              32
#define CACHE_LINE         (64 / ENTRY_BYTES) /* entries */
#define DECODE_NNZ         128
#define DISTANT_DECODE_NNZ 256

/* Up to `most` decoded nonzeros: DECODE_NNZ, or DISTANT_DECODE_NNZ where distant. Arrays as compact
 * as `most` allows show in the time. */
struct decoded {
    const entry *at[(MAX_ORDER - 1) * DISTANT_DECODE_NNZ]; /* (others x most): operands' rows */
    uint64_t row[DISTANT_DECODE_NNZ];                      /* (most): rows of M */
};

/* at[j] = the operand's row of nonzero first + j. A shift is much cheaper than a product in vectors
 * of 64-bit numbers. */
static void decode_rows(const struct host_row_operand *o, uint64_t rank, uint64_t first,
                        uint64_t count, const entry **restrict at)
{
    const uint64_t *word = o->word + first, mask = o->mask;
    const entry *rows = (const entry *)o->rows + o->base * rank;
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

static void decode_target(const struct host_row_operand *o, uint64_t first, uint64_t count,
                          uint64_t *restrict row)
{
    const uint64_t *word = o->word + first, mask = o->mask, base = o->base;
    const int shift = o->shift;
    for (uint64_t j = 0; j < count; j++)
        row[j] = base | ((word[j] >> shift) & mask);
}

/* Nonzeros [first, first + count), count <= most. */
static void decode(const struct host_row_sums *s, uint64_t first, uint64_t count, uint64_t most,
                   struct decoded *d)
{
    decode_target(&s->target, first, count, d->row);
    for (int n = 0; n < s->others; n++)
        decode_rows(&s->other[n], s->rank, first, count, d->at + (uint64_t)n * most);
}

/* Prefetches the operands' rows of decoded nonzeros [j, j + n). */
INLINE void prefetch_rows(const struct decoded *d, const struct tile *t, uint64_t j, uint64_t n,
                          uint64_t most, int others)
{
    for (uint64_t i = j; i < j + n; i++)
        for (int o = 0; o < others; o++)
            for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c += CACHE_LINE)
                __builtin_prefetch(d->at[(uint64_t)o * most + i] + c);
}

/* sum += the product of decoded nonzero j. */
INLINE void add_product(vec *sum, const struct decoded *d, const struct tile *t, uint64_t j,
                        entry value, uint64_t most, int others, int vectors)
{
    for (int v = 0; v < vectors; v++) {
        uint64_t c = column_of(t->last, v, vectors);
        vec product = others > 0 ? value * load(d->at[(uint64_t)(others - 1) * most + j] + c)
                                 : (vec){0} + value;
        for (int n = others - 2; n >= 0; n--)
            product *= load(d->at[(uint64_t)n * most + j] + c);
        sum[v] += product;
    }
}

/* s->sum += sum. */
INLINE void keep_sum(struct host_row_sums *s, const struct tile *t, const vec *sum, int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    for (int v = 0; v < vectors; v++)
        store(part + column_of(t->last, v, vectors), sum[v]);
    for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c++)
        s->sum[c] += (double)part[c];
}

/* sum += s->sum, which becomes 0. */
INLINE void take_kept(struct host_row_sums *s, const struct tile *t, vec *sum, int vectors)
{
    entry part[HOST_ROW_SUMS_MAX_TILE];
    for (int v = 0; v < vectors; v++)
        store(part + column_of(t->last, v, vectors), sum[v]);
    for (uint64_t c = 0; c < t->last + SIMD_WIDTH; c++) {
        part[c] = (entry)(s->sum[c] + (double)part[c]);
        s->sum[c] = 0;
    }
    for (int v = 0; v < vectors; v++)
        sum[v] = load(part + column_of(t->last, v, vectors));
}

/* Stores or adds the sum of `row`, of which a part may be kept, and starts that of `next`. */
INLINE void change_row(struct host_row_sums *s, const struct tile *t, uint64_t row, uint64_t next,
                       bool *kept, vec *sum, vec *other_sum, int vectors)
{
    for (int v = 0; v < vectors; v++)
        sum[v] += other_sum[v];
    if (*kept)
        take_kept(s, t, sum, vectors);
    *kept = false;
    put_row(s, t, row, sum, vectors);
    if (s->sink == HOST_ROW_STORE && next > row + 1)
        host_row_sums_zero(s, row + 1, next);
    for (int v = 0; v < vectors; v++)
        sum[v] = other_sum[v] = (vec){0};
}

/* The one kernel body. `others`, `vectors` and, where `exact`, the tile are constants, so that
 * loops over them unroll and a tile's products and sums live in registers. A row is summed twice,
 * by every other nonzero, since a sum must wait for the addition before it. Sums of floats are kept
 * (in s->sum, in double precision) after every `most` nonzeros. */
INLINE void row_sums_body(struct host_row_sums *s, uint64_t first, uint64_t last, int others,
                          int vectors, bool exact, bool distant)
{
    const struct tile t = tile_of(exact ? (uint64_t)vectors * SIMD_WIDTH : s->width, vectors);
    /* `same` is the present row; no row at all where each nonzero is added by itself. */
    const uint64_t each = s->sink == HOST_ROW_ATOMIC_EACH ? UINT64_MAX : 0;
    uint64_t row = s->row, same = row | each;
    vec sum[4], other_sum[4];
    for (int v = 0; v < vectors; v++)
        sum[v] = other_sum[v] = (vec){0};
    bool kept = IS_SINGLE;
    if (!IS_SINGLE)
        take_kept(s, &t, sum, vectors);
    const uint64_t most = distant ? DISTANT_DECODE_NNZ : DECODE_NNZ;
    struct decoded d;
    for (uint64_t begin = first; begin < last; begin += most) {
        const double *value = s->value + begin;
        uint64_t count = last - begin < most ? last - begin : most;
        decode(s, begin, count, most, &d);
        if (distant)
            prefetch_rows(&d, &t, 0, count < AHEAD ? count : AHEAD, most, others);
        for (uint64_t j = 0; j < count; j++) {
            for (; j + 1 < count && d.row[j] == same && d.row[j + 1] == same; j += 2) {
                if (distant && j + 2 + AHEAD <= count)
                    prefetch_rows(&d, &t, j + AHEAD, 2, most, others);
                add_product(sum, &d, &t, j, (entry)value[j], most, others, vectors);
                add_product(other_sum, &d, &t, j + 1, (entry)value[j + 1], most, others, vectors);
            }
            if (j == count)
                break;
            if (distant && j + AHEAD < count)
                prefetch_rows(&d, &t, j + AHEAD, 1, most, others);
            if (d.row[j] != same) {
                uint64_t next = d.row[j];
                change_row(s, &t, row, next, &kept, sum, other_sum, vectors);
                row = next;
                same = row | each;
            }
            add_product(sum, &d, &t, j, (entry)value[j], most, others, vectors);
        }
        if (IS_SINGLE || begin + count == last) {
            for (int v = 0; v < vectors; v++)
                sum[v] += other_sum[v];
            keep_sum(s, &t, sum, vectors);
            for (int v = 0; v < vectors; v++)
                sum[v] = other_sum[v] = (vec){0};
            kept = true;
        }
    }
    s->row = row;
}

/* The list of specialisations: orders 3 to 5 and any other; tiles of 1 to 4 vectors that do not
 * overlap, and of 2 to 4 that do; operands' rows in cache and distant. */
#define KERNEL(name, others, vectors, exact, distant)                                              \
    static void name(struct host_row_sums *s, uint64_t first, uint64_t last)                       \
    {                                                                                              \
        row_sums_body(s, first, last, others, vectors, exact, distant);                            \
    }
#define KERNELS(name, others, distant)                                                             \
    KERNEL(name##_1, others, 1, true, distant)                                                     \
    KERNEL(name##_2, others, 2, true, distant)                                                     \
    KERNEL(name##_3, others, 3, true, distant)                                                     \
    KERNEL(name##_4, others, 4, true, distant)                                                     \
    OVERLAPS(name, others, distant)
#if SIMD_WIDTH == 1
#define OVERLAPS(name, others, distant)
#define OVERLAP_ROW(name) NULL, NULL, NULL, NULL
#else
#define OVERLAPS(name, others, distant)                                                            \
    KERNEL(name##_2_overlap, others, 2, false, distant)                                            \
    KERNEL(name##_3_overlap, others, 3, false, distant)                                            \
    KERNEL(name##_4_overlap, others, 4, false, distant)
#define OVERLAP_ROW(name) NULL, name##_2_overlap, name##_3_overlap, name##_4_overlap
#endif

KERNELS(order_3, 2, false)
KERNELS(order_4, 3, false)
KERNELS(order_5, 4, false)
KERNELS(order_any, s->others, false)
KERNELS(distant_3, 2, true)
KERNELS(distant_4, 3, true)
KERNELS(distant_5, 4, true)
KERNELS(distant_any, s->others, true)

#define ROW(name)                                                                                  \
    {                                                                                              \
        {name##_1, name##_2, name##_3, name##_4},                                                  \
        {                                                                                          \
            OVERLAP_ROW(name)                                                                      \
        }                                                                                          \
    }
#ifdef SIMD_SINGLE
#define TABLE_OF(width) host_row_sums_single##width
#else
#define TABLE_OF(width) host_row_sums_simd##width
#endif
#define TABLE_NAME(width) TABLE_OF(width)

const struct host_row_sums_kernels TABLE_NAME(SIMD_WIDTH) = {
    {{ROW(order_3), ROW(order_4), ROW(order_5), ROW(order_any)},
     {ROW(distant_3), ROW(distant_4), ROW(distant_5), ROW(distant_any)}}};
