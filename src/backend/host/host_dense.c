#include "backend/host/host_dense.h"

#include <string.h>

#include <omp.h>

#include "backend/host/host_dense_simd.h"
#include "backend/host/host_entries.h"
#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/memory.h"

#define MAX_PARTS        64
#define MIN_PART_ENTRIES 8192 /* fewer entries than this are not worth a part   */
#define PANEL_ENTRIES    4096 /* of a panel, about ...                          */
#define MIN_PANEL_ROWS   32   /* ... but no fewer rows                          */
#define COLUMNS          8    /* whose inner products are summed at a time      */

/* By the logarithm of the SIMD width. */
static const struct host_dense_tiles *const tiles[] = {
    &host_dense_double1,
    &host_dense_double2,
#if SIMD_X86
    &host_dense_double4,
    &host_dense_double8,
#endif
};

void host_dense_multiply(const struct host_dense_product *p, bool upper)
{
    for (uint64_t column = 0, width; column < p->rank; column += width) {
        width = simd_tile_width(p->rank - column, PRECISION_DOUBLE);
        uint64_t simd = simd_width(width, PRECISION_DOUBLE), vectors = (width + simd - 1) / simd;
        struct host_dense_product part = *p;
        if (upper && part.rows > column + width)
            part.rows = column + width;
        tiles[__builtin_ctzll(simd)]->tile[vectors - 1](&part, column, width);
    }
}

void host_dense_times_square(const double *x, const double *t, double *c, uint64_t rows,
                             uint64_t rank)
{
    const struct host_dense_product p = {.c = c,
                                         .x = x,
                                         .y = t,
                                         .x_row = rank,
                                         .x_term = 1,
                                         .rows = rows,
                                         .terms = rank,
                                         .rank = rank};
    host_dense_multiply(&p, false);
}

/* The rows of a matrix, cut into parts of equally many, the unit that a thread takes. Their number
 * follows from the matrix alone, never from the number of threads. */
struct parts {
    uint64_t count;
    uint64_t rows; /* of a part; the last ones may have fewer */
    uint64_t total;
};

static struct parts cut(uint64_t rows, uint64_t least)
{
    struct parts s = {.count = rows / least, .total = rows};
    if (s.count > MAX_PARTS)
        s.count = MAX_PARTS;
    if (s.count < 1)
        s.count = 1;
    s.rows = (rows + s.count - 1) / s.count;
    return s;
}

static uint64_t part_begin(const struct parts *s, uint64_t k)
{
    uint64_t begin = k * s->rows;
    return begin < s->total ? begin : s->total;
}

/* The fewest rows of a part: enough work for a thread, and no fewer rows than its Gram has. */
static uint64_t least_part_rows(uint64_t rank)
{
    uint64_t least = MIN_PART_ENTRIES / rank + 1;
    return least > rank ? least : rank;
}

static uint64_t panel_rows(uint64_t rank)
{
    uint64_t rows = PANEL_ENTRIES / rank;
    return rows > MIN_PANEL_ROWS ? rows : MIN_PANEL_ROWS;
}

/* The upper triangle of G += A' A. */
static void add_gram(const double *a, double *g, uint64_t rows, uint64_t rank)
{
    struct host_dense_product p = host_dense_gram_product(g, a, rows, rank);
    p.add = true;
    host_dense_multiply(&p, true);
}

/* inner[r] += sum over i of M(i,r) A(i,r). */
static void add_inner(const double *m, const double *a, double *inner, uint64_t rows, uint64_t rank)
{
    uint64_t r = 0;
    for (; r + COLUMNS <= rank; r += COLUMNS) {
        double sum[COLUMNS] = {0};
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t j = 0; j < COLUMNS; j++)
                sum[j] += m[i * rank + r + j] * a[i * rank + r + j];
        for (uint64_t j = 0; j < COLUMNS; j++)
            inner[r + j] += sum[j];
    }
    for (; r < rank; r++)
        for (uint64_t i = 0; i < rows; i++)
            inner[r] += m[i * rank + r] * a[i * rank + r];
}

/* A panel (entries) as doubles: those of `from`, or a copy in `buffer`. */
static const double *as_doubles(const void *from, double *buffer, uint64_t entries,
                                enum precision precision)
{
    if (precision == PRECISION_DOUBLE)
        return from;
    host_entries_read(buffer, from, entries, precision);
    return buffer;
}

/* How rows are made: by one of the two; the other is NULL. */
struct row_step {
    const struct host_dense_inverse *inverse;
    const struct host_nonneg *nonneg;
};

/* Makes rows [first, first + count) of A, a panel at most, from M's, by way of `buffer`, since A
 * and M may be the same array. Adds the panel's part of G and of `inner`, from the entries as they
 * are stored, rounded. */
static void update_panel(const struct row_step *step, const struct host_dense_rows *rows,
                         uint64_t rank, uint64_t first, uint64_t count, double *g, double *inner,
                         double *buffer)
{
    const enum precision precision = rows->precision;
    const uint64_t entries = count * rank, most = panel_rows(rank) * rank;
    const bool single = precision == PRECISION_SINGLE;
    void *a = host_entry(rows->a, first * rank, precision);
    double *of_m = buffer, *of_a = of_m + most, *x = single ? of_a + most : buffer;
    const double *from =
        as_doubles(host_entry_of(rows->m, first * rank, precision), of_m, entries, precision);
    if (step->nonneg) {
        host_nonneg_rows(step->nonneg, from, as_doubles(a, of_a, entries, precision), x, count,
                         x + most);
    } else {
        host_dense_times_square(from, step->inverse->factor[0], x, count, rank);
        if (step->inverse->factors > 1) {
            host_dense_times_square(x, step->inverse->factor[1], x + most, count, rank);
            x += most;
        }
    }
    for (uint64_t i = 0; single && i < entries; i++)
        x[i] = (double)(float)x[i];
    add_gram(x, g, count, rank);
    add_inner(from, x, inner, count, rank);
    host_entries_write(a, x, entries, precision);
}

/* Adds the parts' sums, `stride` numbers each, to the first part's. */
static void sum_parts(double *sums, uint64_t parts, uint64_t stride)
{
    for (uint64_t k = 1; k < parts; k++)
        for (uint64_t i = 0; i < stride; i++)
            sums[i] += sums[k * stride + i];
}

static void store_gram(double *g, const double *upper, uint64_t rank)
{
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = i; j < rank; j++)
            g[i * rank + j] = g[j * rank + i] = upper[i * rank + j];
}

enum status host_dense_gram(const void *a, uint64_t rows, uint64_t rank, enum precision precision,
                            double *g, struct error *error)
{
    const struct parts s = cut(rows, least_part_rows(rank));
    const uint64_t most = panel_rows(rank);
    uint64_t stride = rank * rank;
    uint64_t room = precision == PRECISION_SINGLE ? most * rank : 0;
    double *sums = memory_zeros(s.count, (stride + room) * sizeof *sums, error);
    TRY(error->status);
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        const uint64_t end = part_begin(&s, k + 1);
        double *buffer = sums + s.count * stride + k * room;
        for (uint64_t i = part_begin(&s, k); i < end; i += most) {
            const uint64_t count = least_of(end - i, most);
            const void *panel = host_entry_of(a, i * rank, precision);
            add_gram(as_doubles(panel, buffer, count * rank, precision), sums + k * stride, count,
                     rank);
        }
    }
    sum_parts(sums, s.count, stride);
    store_gram(g, sums, rank);
    memory_free(sums);
    return STATUS_OK;
}

enum status host_dense_update(const struct host_dense_inverse *inverse,
                              const struct host_nonneg *nonneg, const struct host_dense_rows *rows,
                              double *g, double *inner, struct error *error)
{
    const struct row_step step = {inverse, nonneg};
    const uint64_t rank = inverse ? inverse->rank : nonneg->rank, most = panel_rows(rank);
    const struct parts s = cut(rows->rows, least_part_rows(rank));
    const uint64_t stride = rank * rank + rank, panel = most * rank;
    const uint64_t room = (rows->precision == PRECISION_SINGLE ? 3 : 1) * panel + /* a buffer */
                          (nonneg ? host_nonneg_room(rank) : panel);
    double *sums = memory_zeros(s.count, stride * sizeof *sums, error);
    double *buffer = memory_array((size_t)omp_get_max_threads(), room * sizeof *buffer, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        double *own = buffer + (uint64_t)omp_get_thread_num() * room;
        double *gram_sum = sums + k * stride, *inner_sum = gram_sum + rank * rank;
        const uint64_t end = part_begin(&s, k + 1);
        for (uint64_t i = part_begin(&s, k); i < end; i += most)
            update_panel(&step, rows, rank, i, least_of(end - i, most), gram_sum, inner_sum, own);
    }
    sum_parts(sums, s.count, stride);
    store_gram(g, sums, rank);
    memcpy(inner, sums + rank * rank, rank * sizeof *inner);
done:
    memory_free(buffer, sums);
    return error->status;
}

void host_dense_scale_columns(void *a, uint64_t rows, uint64_t rank, enum precision precision,
                              const double *scale)
{
#pragma omp parallel for schedule(static) if (rows > least_part_rows(rank))
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            if (precision == PRECISION_SINGLE)
                ((float *)a)[i * rank + r] *= (float)scale[r];
            else
                ((double *)a)[i * rank + r] *= scale[r];
}
