#include "backend/host/host_dense.h"

#include <string.h>

#include <omp.h>

#include "backend/host/host_dense_simd.h"
#include "base/memory.h"

#define MAX_PARTS        64
#define MIN_PART_ENTRIES 32768 /* fewer entries than this are not worth a part   */
#define PANEL_ENTRIES    4096  /* of a panel, about ...                          */
#define MIN_PANEL_ROWS   32    /* ... but no fewer rows                          */
#define COLUMNS          8     /* whose inner products are summed at a time      */

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

/* How rows of A come from those of M: by V^+, or nonnegative ones. */
struct row_step {
    const struct host_dense_inverse *inverse; /* NULL where nonneg is not */
    const struct host_nonneg *nonneg;
    uint64_t rank;
};

/* The new rows of a panel (rows x R), in `buffer` of step_room doubles. */
static const double *step_panel(const struct row_step *step, const double *m, const double *a,
                                uint64_t rows, double *buffer)
{
    uint64_t rank = step->rank, panel = panel_rows(rank) * rank;
    const double *x = m;
    if (step->nonneg) {
        host_nonneg_rows(step->nonneg, m, a, buffer, rows, buffer + panel);
        return buffer;
    }
    for (int f = 0; f < step->inverse->factors; f++) {
        host_dense_times_square(x, step->inverse->factor[f], buffer, rows, rank);
        x = buffer;
        buffer += panel;
    }
    return x;
}

/* Doubles of `buffer`. */
static uint64_t step_room(const struct row_step *step)
{
    uint64_t panel = panel_rows(step->rank) * step->rank;
    return panel + (step->nonneg ? host_nonneg_room(step->rank) : panel);
}

/* A panel of A (rows x R) from M's, by way of `buffer`, since A and M may be the same array; its
 * part of G and `inner` is added. */
static void update_panel(const struct row_step *step, const double *m, double *a, uint64_t rows,
                         double *g, double *inner, double *buffer)
{
    uint64_t rank = step->rank;
    const double *x = step_panel(step, m, a, rows, buffer);
    add_gram(x, g, rows, rank);
    add_inner(m, x, inner, rows, rank);
    memcpy(a, x, rows * rank * sizeof *a);
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

enum status host_dense_gram(const double *a, uint64_t rows, uint64_t rank, double *g,
                            struct error *error)
{
    struct parts s = cut(rows, least_part_rows(rank));
    uint64_t stride = rank * rank;
    double *sums = memory_zeros(s.count, stride * sizeof *sums, error);
    if (!sums)
        return error->status;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        uint64_t end = part_begin(&s, k + 1), most = panel_rows(rank);
        for (uint64_t i = part_begin(&s, k); i < end; i += most)
            add_gram(a + i * rank, sums + k * stride, end - i < most ? end - i : most, rank);
    }
    sum_parts(sums, s.count, stride);
    store_gram(g, sums, rank);
    memory_free(sums);
    return STATUS_OK;
}

static enum status update(const struct row_step *step, const double *m, double *a, uint64_t rows,
                          double *g, double *inner, struct error *error)
{
    uint64_t rank = step->rank, most = panel_rows(rank);
    struct parts s = cut(rows, least_part_rows(rank));
    uint64_t stride = rank * rank + rank, room = step_room(step);
    double *sums = memory_zeros(s.count, stride * sizeof *sums, error);
    double *buffer =
        sums ? memory_array((size_t)omp_get_max_threads(), room * sizeof *buffer, error) : NULL;
    if (buffer) {
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
        for (uint64_t k = 0; k < s.count; k++) {
            double *own = buffer + (uint64_t)omp_get_thread_num() * room;
            double *gram_sum = sums + k * stride, *inner_sum = gram_sum + rank * rank;
            uint64_t end = part_begin(&s, k + 1);
            for (uint64_t i = part_begin(&s, k); i < end; i += most)
                update_panel(step, m + i * rank, a + i * rank, end - i < most ? end - i : most,
                             gram_sum, inner_sum, own);
        }
        sum_parts(sums, s.count, stride);
        store_gram(g, sums, rank);
        memcpy(inner, sums + rank * rank, rank * sizeof *inner);
    }
    memory_free(buffer);
    memory_free(sums);
    return error->status;
}

enum status host_dense_update(const struct host_dense_inverse *inverse, const double *m, double *a,
                              uint64_t rows, double *g, double *inner, struct error *error)
{
    const struct row_step step = {.inverse = inverse, .rank = inverse->rank};
    return update(&step, m, a, rows, g, inner, error);
}

enum status host_dense_update_nonneg(const struct host_nonneg *nonneg, const double *m, double *a,
                                     uint64_t rows, double *g, double *inner, struct error *error)
{
    const struct row_step step = {.nonneg = nonneg, .rank = nonneg->rank};
    return update(&step, m, a, rows, g, inner, error);
}

void host_dense_scale_columns(double *a, uint64_t rows, uint64_t rank, const double *scale)
{
#pragma omp parallel for schedule(static) if (rows > least_part_rows(rank))
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            a[i * rank + r] *= scale[r];
}
