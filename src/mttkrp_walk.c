#include "mttkrp_walk.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* The compiler makes a version for each vector width and the loader takes the machine's; sanitizers
 * cannot instrument what the loader calls that early. Products and sums are rounded alike in all.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) &&                            \
    !defined(__SANITIZE_ADDRESS__)
#define VERSIONS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VERSIONS
#endif

#define INLINE static inline __attribute__((always_inline))

/* Rows [from, to) of M, which no nonzero has. */
static void zero_gap(const struct walk *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        memset(w->m + i * w->rank + w->column, 0, w->width * sizeof *w->m);
}

/* One lock for a row is many times cheaper than an atomic addition for each of its entries. Rows
 * that share a lock only wait for each other. */
#define LOCKS 4096
static atomic_bool lock[LOCKS];

static void lock_row(uint64_t row)
{
    while (atomic_exchange_explicit(&lock[row % LOCKS], 1, memory_order_acquire))
        sched_yield();
}

static void unlock_row(uint64_t row)
{
    atomic_store_explicit(&lock[row % LOCKS], 0, memory_order_release);
}

INLINE void hand_on(const struct walk *w, uint64_t row, const double *sum, uint64_t tile)
{
    if (w->sink == WALK_STORE) {
        double *to = row == w->low    ? w->low_row
                     : row == w->high ? w->high_row
                                      : w->m + row * w->rank;
        to += w->column;
        for (uint64_t r = 0; r < tile; r++)
            to[r] = sum[r];
        return;
    }
    double *to = w->m + (row - w->low) * w->rank + w->column;
    if (w->sink != WALK_ADD)
        lock_row(row);
    for (uint64_t r = 0; r < tile; r++)
        to[r] += sum[r];
    if (w->sink != WALK_ADD)
        unlock_row(row);
}

/* sum += the products of nonzeros [first, last), which lie in one row of M. */
INLINE void add_segment(double *restrict sum, const struct walk_operand *o, const double *value,
                        uint64_t rank, uint64_t first, uint64_t last, int others, uint64_t tile)
{
    for (uint64_t i = first; i < last; i++) {
        const double *a[MAX_ORDER - 1];
        for (int n = 0; n < others; n++)
            a[n] = o[n].rows + walk_coordinate(&o[n], i) * rank;
        double product[WALK_MAX_TILE];
        for (uint64_t r = 0; r < tile; r++)
            product[r] = value[i];
        for (int n = 0; n < others; n++)
            for (uint64_t r = 0; r < tile; r++)
                product[r] *= a[n][r];
        for (uint64_t r = 0; r < tile; r++)
            sum[r] += product[r];
    }
}

/* The one kernel body. `others` and `tile` are constants where it pays, so that loops over them
 * unroll and a tile's products and sums live in registers. */
INLINE void walk_body(struct walk *w, uint64_t first, uint64_t last, int others, uint64_t tile)
{
    double sum[WALK_MAX_TILE];
    struct walk_operand o[MAX_ORDER - 1];
    const struct walk_operand target = w->target;
    const double *value = w->value;
    const uint64_t rank = w->rank;
    const int each = w->sink == WALK_ATOMIC_EACH;
    uint64_t row = w->row;
    for (int n = 0; n < others; n++)
        o[n] = w->other[n];
    for (uint64_t r = 0; r < tile; r++)
        sum[r] = w->sum[r];

    for (uint64_t i = first; i < last;) {
        uint64_t next = walk_coordinate(&target, i), end = i + 1;
        if (next != row || each) {
            hand_on(w, row, sum, tile);
            if (w->sink == WALK_STORE && next > row + 1)
                zero_gap(w, row + 1, next);
            for (uint64_t r = 0; r < tile; r++)
                sum[r] = 0.0;
            row = next;
        }
        while (end < last && !each && walk_coordinate(&target, end) == row)
            end++;
        add_segment(sum, o, value, rank, i, end, others, tile);
        i = end;
    }
    w->row = row;
    for (uint64_t r = 0; r < tile; r++)
        w->sum[r] = sum[r];
}

/* The list of specialisations: orders 3 to 5 and any other, by tiles of 32, 16, 8 and fewer. */
#define KERNEL(name, others, tile)                                                                 \
    VERSIONS static void name(struct walk *w, uint64_t first, uint64_t last)                       \
    {                                                                                              \
        walk_body(w, first, last, others, tile);                                                   \
    }
#define KERNELS(name, others)                                                                      \
    KERNEL(name##_32, others, 32)                                                                  \
    KERNEL(name##_16, others, 16)                                                                  \
    KERNEL(name##_8, others, 8)                                                                    \
    KERNEL(name##_rest, others, w->width)

KERNELS(walk_3, 2)
KERNELS(walk_4, 3)
KERNELS(walk_5, 4)
KERNELS(walk_any, w->others)

typedef void kernel(struct walk *w, uint64_t first, uint64_t last);

#define ROW(name)                                                                                  \
    {                                                                                              \
        name##_32, name##_16, name##_8, name##_rest                                                \
    }

static kernel *const kernels[4][4] = {ROW(walk_3), ROW(walk_4), ROW(walk_5), ROW(walk_any)};

uint64_t walk_tile_width(uint64_t left)
{
    return left >= 32 ? 32 : left >= 16 ? 16 : left >= 8 ? 8 : left;
}

void walk_nonzeros(struct walk *w, uint64_t first, uint64_t last)
{
    int order = w->others >= 2 && w->others <= 4 ? w->others - 2 : 3;
    int tile = w->width == 32 ? 0 : w->width == 16 ? 1 : w->width == 8 ? 2 : 3;
    kernels[order][tile](w, first, last);
}

void walk_begin(struct walk *w, uint64_t row)
{
    w->row = row;
    memset(w->sum, 0, sizeof w->sum);
    if (w->sink == WALK_STORE)
        zero_gap(w, w->zero_from, row);
}

void walk_end(struct walk *w)
{
    hand_on(w, w->row, w->sum, w->width);
    if (w->sink == WALK_STORE)
        zero_gap(w, w->row + 1, w->zero_to);
}
