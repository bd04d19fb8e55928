#include "backend/host/host_dense.h"

#include <string.h>

#include <omp.h>

#include "backend/host/host_dense_simd.h"
#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"

#define MAX_PARTS        64
#define MIN_PART_ENTRIES 8192 /* fewer entries than this are not worth a part   */
#define PANEL_ENTRIES    4096 /* of a panel, about ...                          */
#define MIN_PANEL_ROWS   32   /* ... but no fewer rows                          */
#define COLUMNS          8    /* whose inner products are summed at a time      */

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

/* How rows of A are made from those of M: by V^+, or by HALS. */
struct row_step {
    const struct host_dense_inverse *inverse; /* NULL if nonneg is not    */
    const struct host_nonneg *nonneg;
    uint64_t rank;
    enum precision precision; /* of the entries of M and A */
};

/* The new rows of a panel (rows x R), in `buffer` of step_room doubles. */
static double *step_panel(const struct row_step *step, const double *m, const double *a,
                          uint64_t rows, double *buffer)
{
    uint64_t rank = step->rank, panel = panel_rows(rank) * rank;
    if (step->nonneg) {
        host_nonneg_rows(step->nonneg, m, a, buffer, rows, buffer + panel);
        return buffer;
    }
    host_dense_times_square(m, step->inverse->factor[0], buffer, rows, rank);
    if (step->inverse->factors == 1)
        return buffer;
    host_dense_times_square(buffer, step->inverse->factor[1], buffer + panel, rows, rank);
    return buffer + panel;
}

/* Doubles of the buffer of step_panel. */
static uint64_t step_room(const struct row_step *step)
{
    uint64_t panel = panel_rows(step->rank) * step->rank;
    return panel + (step->nonneg ? host_nonneg_room(step->rank) : panel);
}

/* Doubles of the buffer of update_panel: before step_panel's, panels of M and A as doubles. */
static uint64_t update_room(const struct row_step *step)
{
    uint64_t panel = panel_rows(step->rank) * step->rank;
    return step_room(step) + (step->precision == PRECISION_SINGLE ? 2 * panel : 0);
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

/* Makes a panel of A from M's, by way of `buffer`, since A and M may be the same array. Adds the
 * panel's part of G and of `inner`, from the entries as they are stored, rounded. */
static void update_panel(const struct row_step *step, const struct host_dense_rows *panel,
                         double *g, double *inner, double *buffer)
{
    const uint64_t rank = step->rank, entries = panel->rows * rank;
    const bool single = step->precision == PRECISION_SINGLE;
    double *of_m = buffer, *of_a = of_m + panel_rows(rank) * rank;
    double *room = single ? of_a + panel_rows(rank) * rank : buffer;
    const double *from = as_doubles(panel->m, of_m, entries, step->precision);
    const double *old = step->nonneg ? as_doubles(panel->a, of_a, entries, step->precision) : NULL;
    double *x = step_panel(step, from, old, panel->rows, room);
    if (single) {
        for (uint64_t i = 0; i < entries; i++)
            x[i] = (double)(float)x[i];
    }
    add_gram(x, g, panel->rows, rank);
    add_inner(from, x, inner, panel->rows, rank);
    host_entries_write(panel->a, x, entries, step->precision);
}

/* Rows [first, first + count) of *rows. */
static struct host_dense_rows panel_of(const struct host_dense_rows *rows, uint64_t rank,
                                       uint64_t first, uint64_t count)
{
    return (struct host_dense_rows){.m = host_entry_of(rows->m, first * rank, rows->precision),
                                    .a = host_entry(rows->a, first * rank, rows->precision),
                                    .rows = count,
                                    .precision = rows->precision};
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

/* The upper triangle of G += A' A of A (rows x R), in panels. `buffer` has room for a panel of
 * doubles. */
static void add_part_gram(const void *a, uint64_t rows, uint64_t rank, enum precision precision,
                          double *g, double *buffer)
{
    const uint64_t most = panel_rows(rank);
    for (uint64_t i = 0; i < rows; i += most) {
        uint64_t count = least_of(rows - i, most);
        const void *panel = host_entry_of(a, i * rank, precision);
        add_gram(as_doubles(panel, buffer, count * rank, precision), g, count, rank);
    }
}

enum status host_dense_gram(const void *a, uint64_t rows, uint64_t rank, enum precision precision,
                            double *g, struct error *error)
{
    struct parts s = cut(rows, least_part_rows(rank));
    uint64_t stride = rank * rank;
    uint64_t room = precision == PRECISION_SINGLE ? panel_rows(rank) * rank : 0;
    double *sums = memory_zeros(s.count, (stride + room) * sizeof *sums, error);
    if (!sums)
        return error->status;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        uint64_t begin = part_begin(&s, k), end = part_begin(&s, k + 1);
        add_part_gram(host_entry_of(a, begin * rank, precision), end - begin, rank, precision,
                      sums + k * stride, sums + s.count * stride + k * room);
    }
    sum_parts(sums, s.count, stride);
    store_gram(g, sums, rank);
    memory_free(sums);
    return STATUS_OK;
}

static enum status update(const struct row_step *step, const struct host_dense_rows *rows,
                          double *g, double *inner, struct error *error)
{
    uint64_t rank = step->rank, most = panel_rows(rank);
    struct parts s = cut(rows->rows, least_part_rows(rank));
    uint64_t stride = rank * rank + rank, room = update_room(step);
    double *sums = memory_zeros(s.count, stride * sizeof *sums, error);
    double *buffer = memory_array((size_t)omp_get_max_threads(), room * sizeof *buffer, error);
    if (!sums || !buffer)
        goto done;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        double *own = buffer + (uint64_t)omp_get_thread_num() * room;
        double *gram_sum = sums + k * stride, *inner_sum = gram_sum + rank * rank;
        uint64_t end = part_begin(&s, k + 1);
        for (uint64_t i = part_begin(&s, k); i < end; i += most) {
            const struct host_dense_rows panel = panel_of(rows, rank, i, least_of(end - i, most));
            update_panel(step, &panel, gram_sum, inner_sum, own);
        }
    }
    sum_parts(sums, s.count, stride);
    store_gram(g, sums, rank);
    memcpy(inner, sums + rank * rank, rank * sizeof *inner);
done:
    memory_free(buffer);
    memory_free(sums);
    return error->status;
}

enum status host_dense_update(const struct host_dense_inverse *inverse,
                              const struct host_dense_rows *rows, double *g, double *inner,
                              struct error *error)
{
    const struct row_step step = {
        .inverse = inverse, .rank = inverse->rank, .precision = rows->precision};
    return update(&step, rows, g, inner, error);
}

enum status host_dense_update_nonneg(const struct host_nonneg *nonneg,
                                     const struct host_dense_rows *rows, double *g, double *inner,
                                     struct error *error)
{
    const struct row_step step = {
        .nonneg = nonneg, .rank = nonneg->rank, .precision = rows->precision};
    return update(&step, rows, g, inner, error);
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
