/* Columns of unit norm, any two of which have the cosine that was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "generate/collinear_columns.h"

static double *columns(uint64_t rows, uint64_t count, double cosine, uint64_t seed, uint64_t stream)
{
    double *a = calloc(rows * count, sizeof *a);
    assert_non_null(a);
    collinear_columns(a, rows, count, cosine, seed, stream);
    return a;
}

static double inner(const double *x, const double *y, uint64_t rows)
{
    long double sum = 0;
    for (uint64_t i = 0; i < rows; i++)
        sum += (long double)x[i] * y[i];
    return (double)sum;
}

static void test_cosines(void **state)
{
    (void)state;
    static const double cosines[] = {0, 0.3, 0.9, COLLINEAR_MOST};
    static const struct {
        uint64_t rows, count;
    } cases[] = {{1, 1}, {2, 2}, {7, 7}, {100, 3}, {2000, 20}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < sizeof cosines / sizeof *cosines; i++) {
            uint64_t rows = cases[c].rows, count = cases[c].count;
            double *a = columns(rows, count, cosines[i], 3, c);
            for (uint64_t r = 0; r < count; r++)
                for (uint64_t s = 0; s <= r; s++) {
                    double expected = r == s ? 1 : cosines[i];
                    if (!(fabs(inner(a + r * rows, a + s * rows, rows) - expected) < 1e-13))
                        fail_msg("%ju x %ju, columns %ju and %ju: %.16g, expected %g",
                                 (uintmax_t)rows, (uintmax_t)count, (uintmax_t)r, (uintmax_t)s,
                                 inner(a + r * rows, a + s * rows, rows), expected);
                }
            free(a);
        }
}

/* The same seed and stream give the same columns, others give others. */
static void test_seeds(void **state)
{
    (void)state;
    double *a = columns(9, 4, 0.5, 1, 2), *same = columns(9, 4, 0.5, 1, 2);
    double *seed = columns(9, 4, 0.5, 2, 2), *stream = columns(9, 4, 0.5, 1, 3);
    assert_memory_equal(a, same, 36 * sizeof *a);
    for (int e = 0; e < 36; e++)
        assert_true(a[e] != seed[e] && a[e] != stream[e]);
    free(a);
    free(same);
    free(seed);
    free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cosines),
                                       cmocka_unit_test(test_seeds)};
    return cmocka_run_group_tests_name("collinear_columns", tests, NULL, NULL);
}
