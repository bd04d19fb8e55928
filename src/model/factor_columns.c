#include "model/factor_columns.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "numerics/column_scale.h"

/* Statistics of the columns from a chunk; the scratch is laid out for vector instructions. */
struct partial {
    double *largest; /* (R) */
    double *scale;   /* (R): scratch */
    double *sum;     /* (R) */
};

static struct partial partial_at(double *partials, uint64_t chunk, uint64_t rank)
{
    double *base = partials + chunk * 3 * rank;
    return (struct partial){base, base + rank, base + 2 * rank};
}

static void sum_chunk(const double *a, uint64_t rows, uint64_t rank, struct partial p)
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

/* Among the entries of the largest magnitude, takes that in the row with the lowest number: first
 * (R) = this number. */
static void take_lowest_rows(const double *a, uint64_t rows, uint64_t rank, const uint64_t *row,
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

enum status factor_columns_measure(const struct factor_rows *rows, struct column *column,
                                   struct error *error)
{
    /* The rows of a chunk depend on the shape alone. They are so few that the chunk stays in cache
     * over two passes, and so many that the partial results are small beside it. */
    const uint64_t rank = rows->rank, step = 16384 / rank < 256 ? 256 : 16384 / rank;
    const uint64_t count = (rows->rows + step - 1) / step;
    double *partials = memory_array(count * 3, rank * sizeof *partials, error);
    uint64_t *firsts = memory_array(rows->row ? count : 0, rank * sizeof *firsts, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t s = 0; s < count; s++) {
        const uint64_t begin = s * step, some = least_of(step, rows->rows - begin);
        const double *a = rows->a + begin * rank;
        const struct partial p = partial_at(partials, s, rank);
        sum_chunk(a, some, rank, p);
        if (rows->row)
            take_lowest_rows(a, some, rank, rows->row + begin, p, firsts + s * rank);
    }
    for (uint64_t r = 0; r < rank; r++)
        column[r] = (struct column){0, 0, rows->row ? UINT64_MAX : rows->first};
    for (uint64_t s = 0; s < count; s++) {
        const struct partial p = partial_at(partials, s, rank);
        for (uint64_t r = 0; r < rank; r++) {
            const uint64_t first = rows->row ? firsts[s * rank + r] : rows->first + s * step;
            column_add(&column[r], &(struct column){p.largest[r], p.sum[r], first});
        }
    }
done:
    memory_free(partials, firsts);
    return error->status;
}

#define TILE 8 /* columns of A that are multiplied in one pass over B */

#define ROWS 4 /* of B, added to C at a time, so that C is read and written less often */

/* c (width x Rb) = the first `width` columns of A, transposed, times b (rows x Rb). */
VECTOR_CLONES static void product_tile(const struct factor_rows *x, const double *b,
                                       uint64_t rank_b, uint64_t width, double *c)
{
    const double *a = x->a;
    const uint64_t rows = x->rows, rank_a = x->rank;
    memset(c, 0, width * rank_b * sizeof *c);
    uint64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) {
        const double *b0 = b + i * rank_b, *b1 = b0 + rank_b, *b2 = b1 + rank_b, *b3 = b2 + rank_b;
        for (uint64_t t = 0; t < width; t++) {
            const double *y = a + i * rank_a + t;
            double x0 = y[0], x1 = y[rank_a], x2 = y[2 * rank_a], x3 = y[3 * rank_a];
            for (uint64_t s = 0; s < rank_b; s++)
                c[t * rank_b + s] += (x0 * b0[s] + x1 * b1[s]) + (x2 * b2[s] + x3 * b3[s]);
        }
    }
    for (; i < rows; i++)
        for (uint64_t t = 0; t < width; t++)
            for (uint64_t s = 0; s < rank_b; s++)
                c[t * rank_b + s] += a[i * rank_a + t] * b[i * rank_b + s];
}

enum status factor_columns_products(const struct factor_rows *a, const struct factor_rows *b,
                                    double *c, struct error *error)
{
    const uint64_t rows = a->rows, size = a->rank * b->rank;
    /* All partial products together take at most about 32 MB. */
    const uint64_t fit = least_of(rows / 4096 + 1, (UINT64_C(1) << 22) / size);
    const uint64_t chunks = fit < 1 ? 1 : least_of(fit, 256);
    const uint64_t tiles = (a->rank + TILE - 1) / TILE;
    const uint64_t step = (rows + chunks - 1) / chunks;
    double *partials = memory_array(chunks, size * sizeof *partials, error);
    TRY(error->status);
#pragma omp parallel for collapse(2) schedule(static)
    for (uint64_t s = 0; s < chunks; s++)
        for (uint64_t t = 0; t < tiles; t++) {
            const uint64_t first = least_of(s * step, rows), r = t * TILE;
            const struct factor_rows x = {.a = a->a + first * a->rank + r,
                                          .rows = least_of(step, rows - first),
                                          .rank = a->rank};
            product_tile(&x, b->a + first * b->rank, b->rank, least_of(TILE, a->rank - r),
                         partials + s * size + r * b->rank);
        }
    memset(c, 0, size * sizeof *c);
    for (uint64_t s = 0; s < chunks; s++)
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
