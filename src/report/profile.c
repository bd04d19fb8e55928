#include "report/profile.h"

#include <math.h>

#include "base/memory.h"
#include "base/uint128.h"

#define PAIRS    16384 /* of rows that profile_smoothness looks at, at most */
#define ROUNDING 1e-12 /* a column that differs from its mean by less is constant */

void profile_free(struct profile *p)
{
    memory_free(p->low);
    memory_free(p->high);
    *p = (struct profile){0};
}

/* The rows [first, end) of A become a column of the profiles. */
static void take_rows(double *low, double *high, const double *a, uint64_t first, uint64_t end,
                      uint64_t rank)
{
    for (uint64_t r = 0; r < rank; r++)
        low[r] = high[r] = NAN;
    for (uint64_t i = first; i < end; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = a[i * rank + r];
            if (!isfinite(x))
                continue;
            low[r] = x >= low[r] ? low[r] : x;
            high[r] = x <= high[r] ? high[r] : x;
        }
}

static uint64_t first_row(const struct profile *p, uint64_t column, uint64_t rows)
{
    return (uint64_t)((uint128)column * rows / p->columns);
}

enum status profile_take(struct profile *p, const double *a, uint64_t rows, uint64_t rank,
                         uint64_t columns, struct error *error)
{
    *p = (struct profile){.columns = columns < rows ? columns : rows};
    p->low = memory_array(p->columns * rank, sizeof *p->low, error);
    p->high = memory_array(p->columns * rank, sizeof *p->high, error);
    if (error->status != STATUS_OK) {
        profile_free(p);
        return error->status;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t c = 0; c < p->columns; c++)
        take_rows(p->low + c * rank, p->high + c * rank, a, first_row(p, c, rows),
                  first_row(p, c + 1, rows), rank);
    return STATUS_OK;
}

/* The first row of pair k of those that are spread evenly over the rows. */
static uint64_t pair_row(uint64_t k, uint64_t pairs, uint64_t rows)
{
    return (uint64_t)((uint128)k * (rows - 1) / pairs);
}

/* The correlation of pairs of neighbouring rows in column r; NaN where there is none. */
static double column_smoothness(const double *a, uint64_t rows, uint64_t rank, uint64_t r)
{
    uint64_t pairs = rows - 1 < PAIRS ? rows - 1 : PAIRS;
    double mean[2] = {0}, square[2] = {0}, product = 0;
    for (uint64_t k = 0; k < pairs; k++) {
        const double *pair = a + pair_row(k, pairs, rows) * rank + r;
        mean[0] += pair[0] / (double)pairs;
        mean[1] += pair[rank] / (double)pairs;
    }
    for (uint64_t k = 0; k < pairs; k++) {
        const double *pair = a + pair_row(k, pairs, rows) * rank + r;
        double x = pair[0] - mean[0], y = pair[rank] - mean[1];
        square[0] += x * x;
        square[1] += y * y;
        product += x * y;
    }
    for (int k = 0; k < 2; k++)
        if (sqrt(square[k] / (double)pairs) <= ROUNDING * fabs(mean[k]))
            return NAN;
    return product / sqrt(square[0] * square[1]);
}

double profile_smoothness(const double *a, uint64_t rows, uint64_t rank)
{
    double sum = 0;
    uint64_t count = 0;
#pragma omp parallel for schedule(static, 1) ordered
    for (uint64_t r = 0; r < rank; r++) {
        double smoothness = column_smoothness(a, rows, rank, r);
#pragma omp ordered /* the same sum whatever the number of threads */
        if (isfinite(smoothness)) {
            sum += smoothness;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : 0;
}
