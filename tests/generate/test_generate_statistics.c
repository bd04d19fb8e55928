/* Skewed tensors have the statistics that were asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "generate/generate.h"
#include "support/generated.h"

/* The probability of at least `least` in `n` trials. */
static double binomial_tail(int n, double p, int least)
{
    double sum = 0;
    for (int k = least; k <= n; k++)
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
                   (k < n ? (n - k) * log1p(-p) : 0));
    return sum;
}

/* Several parts, of which each is made by itself: together they have what the whole would have,
 * though the frequent fibers of the pool are full. */
static void test_parts_make_a_whole(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {3000, 2500, 60}},
        600000,
        {.exponent = {0.2, 0, 0}, .pool = 40000, .pool_modes = 3, .pool_exponent = 1.0}};
    struct coo x = skewed(&spec, 1);
    unsigned char *count = calloc(3000 * 2500, 1);
    double first_half = 0, full = 0, fibers = 0;
    assert_non_null(count);
    for (uint64_t i = 0; i < x.nnz; i++) {
        first_half += x.index[2][i] < 30;
        count[x.index[0][i] * 2500 + x.index[1][i]]++;
    }
    check_near(first_half / (double)x.nnz, 0.5, 0.005);
    for (int i = 0; i < 3000 * 2500; i++) {
        full += count[i] >= 54;
        fibers += count[i] > 0;
    }
    free(count);
    coo_free(&x);

    /* A fiber of weight w has 60 (1 - exp(-c w / 60)) nonzeros, c such that these sum up to nnz. */
    double c = 600000, sum = 600000, expected_full = 0, expected_fibers = 0;
    for (int i = 0; i < 100; i++) {
        c *= 600000 / sum;
        sum = expected_full = expected_fibers = 0;
        for (int rank = 1; rank <= 40000; rank++) {
            double draws = c * log1p(1. / rank) / log(40001.);
            double filled = -expm1(-draws / 60);
            sum += 60 * filled;
            expected_full += filled > 0.6 ? binomial_tail(60, filled, 54) : 0;
            expected_fibers += -expm1(-draws);
        }
    }
    check_near(full / expected_full, 1, 0.05);
    check_near(fibers / expected_fibers, 1, 0.02);
}

static uint64_t *slice_counts(const struct coo *x, int mode)
{
    uint64_t *count = calloc(x->shape.dims[mode], sizeof *count);
    assert_non_null(count);
    for (uint64_t i = 0; i < x->nnz; i++)
        count[x->index[mode][i]]++;
    return count;
}

static int descending(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Slope of log frequency over log rank, by least squares over the ranks from `first` to `last`. */
static double rank_frequency_slope(const struct coo *x, int mode, int first, int last)
{
    uint64_t *count = slice_counts(x, mode);
    qsort(count, x->shape.dims[mode], sizeof *count, descending);
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int rank = first; rank <= last; rank++) {
        double lx = log(rank), ly = log((double)count[rank - 1]);
        n++;
        sx += lx;
        sy += ly;
        sxx += lx * lx;
        sxy += lx * ly;
    }
    free(count);
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void test_zipf_exponents(void **state)
{
    (void)state;
    struct generate_spec spec = {{3, {2000, 2000, 60000}}, 400000, {.exponent = {0.8, 1.2, 0}}};
    struct coo x = skewed(&spec, 1);
    check_near(rank_frequency_slope(&x, 0, 5, 300), -0.8, 0.06);
    check_near(rank_frequency_slope(&x, 1, 5, 200), -1.2, 0.06);
    uint64_t *count = slice_counts(&x, 2);
    double chi = 0, mean = (double)x.nnz / 60000;
    for (int i = 0; i < 60000; i++)
        chi += ((double)count[i] - mean) * ((double)count[i] - mean) / mean;
    check_near(chi / 60000, 1, 0.03); /* uniform: 1 with a deviation of sqrt(2/60000) */
    free(count);

    /* Labels are shuffled: neither half of the indices has most of the nonzeros. */
    uint64_t *first = slice_counts(&x, 0);
    uint64_t low = 0, largest = 0;
    for (int i = 0; i < 2000; i++) {
        low += i < 1000 ? first[i] : 0;
        largest = first[i] > first[largest] ? (uint64_t)i : largest;
    }
    assert_true(low > x.nnz / 3 && low < x.nnz * 2 / 3);
    assert_true(largest > 10);
    free(first);
    coo_free(&x);
}

static void test_even_mode(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {1000, 1000, 10000}}, 40000, {.exponent = {0.5, 0.5, GENERATE_EVEN}}};
    struct coo x = skewed(&spec, 1);
    uint64_t *count = slice_counts(&x, 2);
    for (int i = 0; i < 10000; i++)
        assert_true(count[i] >= 2 && count[i] <= 5);
    free(count);
    coo_free(&x);
}

/* How many different (mode a, mode b) pairs there are, and how many of all nonzeros have one whose
 * index in mode b is the next. */
static void count_pairs(const struct coo *x, int a, int b, uint64_t *pairs, uint64_t *followed)
{
    unsigned char *seen = calloc(x->shape.dims[a] * (x->shape.dims[b] + 1), 1);
    assert_non_null(seen);
    for (uint64_t i = 0; i < x->nnz; i++)
        seen[x->index[a][i] * (x->shape.dims[b] + 1) + x->index[b][i]] = 1;
    *pairs = *followed = 0;
    for (uint64_t i = 0; i < x->shape.dims[a] * (x->shape.dims[b] + 1); i++)
        *pairs += seen[i];
    for (uint64_t i = 0; i < x->nnz; i++)
        *followed += seen[x->index[a][i] * (x->shape.dims[b] + 1) + x->index[b][i] + 1];
    free(seen);
}

static void test_fibers_from_the_pool(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {1000, 1000, 2000}}, 20000, {.pool = 60, .pool_modes = 3, .pool_exponent = 0.3}};
    struct coo x = skewed(&spec, 5);
    uint64_t pairs, followed;
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true(pairs >= 55 && pairs <= 60);
    coo_free(&x);
}

static void test_runs(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {2, {5000, 8000}}, 60000, {.run_mode = 1, .run_fraction = 0.9, .run_length = 6}};
    uint64_t pairs, followed;
    struct coo x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    check_near((double)followed / (double)x.nnz, 0.9 * 5 / 6, 0.03);
    coo_free(&x);

    spec.skew.run_scattered = true;
    x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true((double)followed / (double)x.nnz < 0.02);
    coo_free(&x);

    spec.skew.run_fraction = 0;
    x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true((double)followed / (double)x.nnz < 0.02);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_make_a_whole),
        cmocka_unit_test(test_zipf_exponents),
        cmocka_unit_test(test_even_mode),
        cmocka_unit_test(test_fibers_from_the_pool),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
