#include "model/factor_columns.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "numerics/column_scale.h"

/* The rows of a portion of the work. The number depends on the shape alone. It is small enough for
 * the portion to stay in cache over two passes, and large enough for the partial results to be
 * small beside the portion. */
static uint64_t portion_rows(uint64_t rank)
{
    uint64_t rows = 16384 / rank;
    return rows < 256 ? 256 : rows;
}

/* What a portion tells of the columns; the scratch for it is laid out for vector instructions. */
struct partial {
    double *largest; /* (R) */
    double *scale;   /* (R): scratch */
    double *sum;     /* (R) */
};

static struct partial partial_at(double *partials, uint64_t portion, uint64_t rank)
{
    double *base = partials + portion * 3 * rank;
    return (struct partial){base, base + rank, base + 2 * rank};
}

static void sum_portion(const double *a, uint64_t rows, uint64_t rank, struct partial p)
{
    memset(p.largest, 0, rank * sizeof *p.largest);
    memset(p.sum, 0, rank * sizeof *p.sum);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = a[i * rank + r];
            p.largest[r] = fabs(x) > fabs(p.largest[r]) ? x : p.largest[r];
        }
    for (uint64_t r = 0; r < rank; r++)
        p.scale[r] = column_scale(p.largest[r]);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = a[i * rank + r] * p.scale[r];
            p.sum[r] += x * x;
        }
}

/* The column's sum, were its entries scaled by `scale`. A sum of 0 stays 0, also where the square
 * of the ratio overflows. */
static double rescaled_sum(const struct column *c, double scale)
{
    double ratio = scale / column_scale(c->largest);
    return c->sum == 0 ? 0 : c->sum * ratio * ratio;
}

void column_add(struct column *to, const struct column *from)
{
    double difference = fabs(from->largest) - fabs(to->largest);
    const struct column *large =
        difference > 0 || (difference == 0 && from->first < to->first) ? from : to;
    double scale = column_scale(large->largest);
    *to = (struct column){large->largest, rescaled_sum(to, scale) + rescaled_sum(from, scale),
                          large->first};
}

double column_norm(const struct column *c)
{
    return sqrt(c->sum) / column_scale(c->largest);
}

/* Of entries of equal magnitude the one in the row of the lowest number counts: first (R) = that
 * row's number. */
static void settle_ties(const double *a, uint64_t rows, uint64_t rank, const uint64_t *row,
                        struct partial p, uint64_t *first)
{
    for (uint64_t r = 0; r < rank; r++)
        first[r] = UINT64_MAX;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = a[i * rank + r];
            if (fabs(x) == fabs(p.largest[r]) && row[i] < first[r]) {
                p.largest[r] = x;
                first[r] = row[i];
            }
        }
}

/* Rows that lie in portions, and what the portions tell. */
struct portions {
    const double *a;     /* (rows x R)                                                         */
    const uint64_t *row; /* (rows): their numbers, or NULL: they are `first` and so on         */
    uint64_t rows, rank, first;
    uint64_t step;    /* rows of a portion         */
    double *partials; /* (portions x 3 x R)        */
    uint64_t *firsts; /* (portions x R), with `row` */
};

static void measure_portion(const struct portions *q, uint64_t s)
{
    uint64_t begin = s * q->step, rows = least_of(q->step, q->rows - begin);
    const double *a = q->a + begin * q->rank;
    struct partial p = partial_at(q->partials, s, q->rank);
    sum_portion(a, rows, q->rank, p);
    if (q->row)
        settle_ties(a, rows, q->rank, q->row + begin, p, q->firsts + s * q->rank);
}

static void add_portion(const struct portions *q, uint64_t s, struct column *column)
{
    struct partial p = partial_at(q->partials, s, q->rank);
    for (uint64_t r = 0; r < q->rank; r++) {
        uint64_t first = q->row ? q->firsts[s * q->rank + r] : q->first + s * q->step;
        column_add(&column[r], &(struct column){p.largest[r], p.sum[r], first});
    }
}

enum status factor_columns_measure(const double *a, uint64_t rows, uint64_t rank, uint64_t first,
                                   const uint64_t *row, struct column *column, struct error *error)
{
    uint64_t step = portion_rows(rank), count = (rows + step - 1) / step;
    struct portions q = {
        .a = a, .row = row, .rows = rows, .rank = rank, .first = first, .step = step};
    q.partials = memory_array(count * 3, rank * sizeof *q.partials, error);
    if (q.partials && row)
        q.firsts = memory_array(count, rank * sizeof *q.firsts, error);
    if (error->status == STATUS_OK) {
#pragma omp parallel for schedule(static)
        for (uint64_t s = 0; s < count; s++)
            measure_portion(&q, s);
        for (uint64_t r = 0; r < rank; r++)
            column[r] = (struct column){0, 0, row ? UINT64_MAX : first};
        for (uint64_t s = 0; s < count; s++)
            add_portion(&q, s, column);
    }
    memory_free(q.partials);
    memory_free(q.firsts);
    return error->status;
}

#define TILE 8 /* columns of A that are multiplied in one pass over B */

#define ROWS                                                                                       \
    4 /* rows of B that are added to C at a time, so that C is read and written less often */

/* c (width x Rb) += a' b of some rows. */
VECTOR_CLONES static void product_tile(const double *a, uint64_t rank_a, const double *b,
                                       uint64_t rank_b, uint64_t rows, uint64_t width, double *c)
{
    memset(c, 0, width * rank_b * sizeof *c);
    uint64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) {
        const double *b0 = b + i * rank_b, *b1 = b0 + rank_b, *b2 = b1 + rank_b, *b3 = b2 + rank_b;
        for (uint64_t t = 0; t < width; t++) {
            const double *x = a + i * rank_a + t;
            double x0 = x[0], x1 = x[rank_a], x2 = x[2 * rank_a], x3 = x[3 * rank_a];
            for (uint64_t s = 0; s < rank_b; s++)
                c[t * rank_b + s] += (x0 * b0[s] + x1 * b1[s]) + (x2 * b2[s] + x3 * b3[s]);
        }
    }
    for (; i < rows; i++)
        for (uint64_t t = 0; t < width; t++)
            for (uint64_t s = 0; s < rank_b; s++)
                c[t * rank_b + s] += a[i * rank_a + t] * b[i * rank_b + s];
}

/* The number of portions of the rows. All partial products together take at most about 32 MB. */
static uint64_t product_portions(uint64_t rows, uint64_t size)
{
    uint64_t portions = least_of(rows / 4096 + 1, (UINT64_C(1) << 22) / size);
    return portions < 1 ? 1 : least_of(portions, 256);
}

enum status factor_columns_products(const double *a, uint64_t rank_a, const double *b,
                                    uint64_t rank_b, uint64_t rows, double *c, struct error *error)
{
    uint64_t size = rank_a * rank_b, portions = product_portions(rows, size);
    uint64_t step = (rows + portions - 1) / portions, tiles = (rank_a + TILE - 1) / TILE;
    double *partials = memory_array(portions, size * sizeof *partials, error);
    if (!partials)
        return error->status;
#pragma omp parallel for collapse(2) schedule(static)
    for (uint64_t s = 0; s < portions; s++)
        for (uint64_t t = 0; t < tiles; t++) {
            uint64_t first = least_of(s * step, rows), r = t * TILE;
            product_tile(a + first * rank_a + r, rank_a, b + first * rank_b, rank_b,
                         least_of(step, rows - first), least_of(TILE, rank_a - r),
                         partials + s * size + r * rank_b);
        }
    memset(c, 0, size * sizeof *c);
    for (uint64_t s = 0; s < portions; s++)
        for (uint64_t i = 0; i < size; i++)
            c[i] += partials[s * size + i];
    memory_free(partials);
    return STATUS_OK;
}

void factor_columns_multiply(const double *a, uint64_t rows, uint64_t rank, const double *w,
                             double *c)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++) {
        double *row = c + i * rank;
        memset(row, 0, rank * sizeof *row);
        for (uint64_t s = 0; s < rank; s++)
            for (uint64_t r = 0; r < rank; r++)
                row[r] += a[i * rank + s] * w[s * rank + r];
    }
}

void factor_columns_rearrange(double *a, uint64_t rows, uint64_t rank, const uint64_t *from,
                              const double *divisor, double *buffer)
{
#pragma omp parallel
    {
        double *old = buffer + (uint64_t)omp_get_thread_num() * rank;
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < rows; i++) {
            double *row = a + i * rank;
            memcpy(old, row, rank * sizeof *old);
            for (uint64_t r = 0; r < rank; r++)
                row[r] = old[from[r]] / divisor[r];
        }
    }
}
