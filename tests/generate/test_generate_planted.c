/* Tensors with a planted model: the rank, the noise and the number of nonzeros that were asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "support/generated.h"

static struct coo planted(const struct generate_plant *plant, uint64_t seed)
{
    struct error error = {0};
    struct coo x;
    if (generate_planted(&x, plant, seed, UINT64_MAX, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return x;
}

/* Strictly ascending in lexicographic order, hence distinct, and within the lengths. */
static void check_lexicographic(const struct coo *x)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        int n = 0;
        while (i > 0 && n < x->shape.order && x->index[n][i] == x->index[n][i - 1])
            n++;
        if (i > 0 && (n == x->shape.order || x->index[n][i] < x->index[n][i - 1]))
            fail_msg("nonzero %ju does not follow the one before", (uintmax_t)i);
        for (n = 0; n < x->shape.order; n++)
            assert_true(x->index[n][i] < x->shape.dims[n]);
    }
}

static const struct generate_plant plant = {
    {4, {40, 30, 20, 25}}, 60000, 6, 0.2, false, 0, 0, false};

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    struct coo x = planted(&plant, 9);
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        struct coo y = planted(&plant, 9);
        assert_true(same_tensor(&x, &y));
        coo_free(&y);
    }
    omp_set_num_threads(before);
    coo_free(&x);
}

static void test_seeds_differ(void **state)
{
    (void)state;
    struct coo x = planted(&plant, 1), y = planted(&plant, 2);
    assert_false(same_tensor(&x, &y));
    coo_free(&x);
    coo_free(&y);
}

/* An unfolding, rows x columns, dense. */
struct unfolding {
    uint64_t rows, columns;
    long double *a; /* owned */
};

static struct unfolding unfold(const struct coo *x, int mode)
{
    struct unfolding u = {.rows = x->shape.dims[mode], .columns = 1};
    for (int n = 0; n < x->shape.order; n++)
        u.columns *= n == mode ? 1 : x->shape.dims[n];
    u.a = calloc(u.rows * u.columns, sizeof *u.a);
    assert_non_null(u.a);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t column = 0;
        for (int n = 0; n < x->shape.order; n++)
            column = n == mode ? column : column * x->shape.dims[n] + x->index[n][i];
        u.a[x->index[mode][i] * u.columns + column] = x->value[i];
    }
    return u;
}

/* The rank of the mode's unfolding, by elimination with full pivoting. */
static int unfolding_rank(const struct coo *x, int mode)
{
    const struct unfolding u = unfold(x, mode);
    const uint64_t rows = u.rows, columns = u.columns;
    long double *a = u.a;
    long double first = 0;
    int rank = 0;
    for (;; rank++) {
        uint64_t pivot = 0;
        for (uint64_t e = 0; e < rows * columns; e++)
            if (fabsl(a[e]) > fabsl(a[pivot]))
                pivot = e;
        first = rank == 0 ? fabsl(a[pivot]) : first;
        if (fabsl(a[pivot]) <= 1e-12L * first)
            break;
        uint64_t p = pivot / columns, q = pivot % columns;
        for (uint64_t i = 0; i < rows; i++) {
            long double factor = i == p ? 0 : a[i * columns + q] / a[pivot];
            for (uint64_t j = 0; factor != 0 && j < columns; j++)
                a[i * columns + j] -= factor * a[p * columns + j];
        }
        for (uint64_t j = 0; j < columns; j++)
            a[p * columns + j] = 0;
        for (uint64_t i = 0; i < rows; i++)
            a[i * columns + q] = 0;
    }
    free(a);
    return rank;
}

static void test_planted_rank(void **state)
{
    (void)state;
    static const struct generate_plant plants[] = {
        {{3, {20, 14, 16}}, 900, 4, 0, false, 0, 0, false},
        {{3, {9, 8, 7}}, 504, 5, 0, false, 0, 0, false},
        {{4, {8, 6, 7, 5}}, 300, 3, 0, false, 0, 0, false},
        {{2, {30, 40}}, 200, 2, 0, false, 0, 0, false},
        {{3, {12, 9, 10}}, 300, 1, 0, false, 0, 0, false}};
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct coo x = planted(&plants[i], 4);
        check_lexicographic(&x);
        check_near((double)x.nnz / (double)plants[i].nnz, 1, 0.3); /* few places, little choice */
        for (uint64_t e = 0; e < x.nnz; e++)
            assert_true(x.value[e] > 0);
        for (int n = 0; n < x.shape.order; n++)
            assert_int_equal(unfolding_rank(&x, n), plants[i].rank);
        coo_free(&x);
    }
}

static void test_planted_noise(void **state)
{
    (void)state;
    struct generate_plant clean = plant;
    clean.noise = 0;
    struct coo x = planted(&clean, 2), y = planted(&plant, 2);
    assert_int_equal(x.nnz, y.nnz);
    check_near((double)x.nnz / (double)clean.nnz, 1, 0.1);
    double noise = 0, norm = 0, sum = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        for (int n = 0; n < x.shape.order; n++)
            assert_int_equal(x.index[n][i], y.index[n][i]);
        double difference = y.value[i] - x.value[i];
        noise += difference * difference;
        sum += difference;
        norm += x.value[i] * x.value[i];
    }
    check_near(sqrt(noise / norm), 0.2, 0.003);
    assert_true(fabs(sum) <
                4 * sqrt(noise)); /* mean zero: |sum| is sqrt(noise) in the mean square */
    coo_free(&x);
    coo_free(&y);
}

/* ||X_(n) X_(n)'||^2 of the mode's unfolding, and the squared norm of x. */
static void unfolding_squares(const struct coo *x, int mode, double *product_sq, double *norm_sq)
{
    const struct unfolding u = unfold(x, mode);
    *product_sq = *norm_sq = 0;
    for (uint64_t i = 0; i < u.rows; i++)
        for (uint64_t j = 0; j < u.rows; j++) {
            long double sum = 0;
            for (uint64_t c = 0; c < u.columns; c++)
                sum += u.a[i * u.columns + c] * u.a[j * u.columns + c];
            *product_sq += (double)(sum * sum);
            *norm_sq += i == j ? (double)sum : 0;
        }
    free(u.a);
}

/* With Grams (1 - c) I + c 1 1' of all N modes, X_(n) X_(n)' has the eigenvalues
 * (1 - c) (1 - c^(N-1)), R - 1 times, and (1 + (R-1) c) (1 + (R-1) c^(N-1)). */
static void test_collinear(void **state)
{
    (void)state;
    static const double cosines[] = {0, 0.5, 0.95, 0.9999};
    static const struct generate_plant shapes[] = {
        {{3, {12, 9, 10}}, 1080, 4, 0, false, 0, 0, false},
        {{3, {40, 30, 20}}, 1000, 5, 0, false, 0, 0, false},
        {{4, {6, 5, 7, 8}}, 1680, 5, 0, false, 0, 0, false},
        {{2, {20, 30}}, 300, 3, 0, false, 0, 0, false},
        {{3, {9, 9, 9}}, 729, 1, 0, false, 0, 0, false},
        {{3, {3, 3, 3}}, 27, 3, 0, false, 0, 0, false}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t c = 0; c < sizeof cosines / sizeof *cosines; c++) {
            struct generate_plant of = shapes[i];
            of.collinear = true;
            of.collinearity = cosines[c];
            struct coo x = planted(&of, 8);
            double others = (double)of.rank - 1;
            double power = pow(cosines[c], x.shape.order - 1);
            double low = (1 - cosines[c]) * (1 - power);
            double high = (1 + others * cosines[c]) * (1 + others * power);
            check_lexicographic(&x);
            check_near((double)x.nnz / (double)of.nnz, 1, 0.1);
            for (int n = 0; n < x.shape.order; n++) {
                double product_sq, norm_sq;
                unfolding_squares(&x, n, &product_sq, &norm_sq);
                check_near(norm_sq / (others * low + high), 1, 1e-12);
                check_near(product_sq / (others * low * low + high * high), 1, 1e-12);
                if (cosines[c] < 0.9)
                    assert_int_equal(unfolding_rank(&x, n), of.rank);
            }
            coo_free(&x);
        }
}

static void test_collinear_noise(void **state)
{
    (void)state;
    struct generate_plant of = {{3, {40, 40, 40}}, 64000, 5, 0, true, 0.9, 0, false};
    struct coo x = planted(&of, 2);
    of.noise = 0.05;
    struct coo y = planted(&of, 2);
    double noise = 0;
    assert_int_equal(x.nnz, 64000);
    for (uint64_t i = 0; i < x.nnz; i++)
        noise += (y.value[i] - x.value[i]) * (y.value[i] - x.value[i]);
    check_near(sqrt(noise / coo_norm_sq(&x)), 0.05, 0.001);
    coo_free(&x);
    coo_free(&y);
}

/* Counts: at the places of the model, each number as often as Poisson variables with the model's
 * values for their rates have it, within five standard deviations. */
static void test_counts(void **state)
{
    (void)state;
    static const double means[] = {0.03, 1, 7.5, 33, 100};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        struct generate_plant of = {{3, {30, 25, 20}}, 4000, 1, 0, false, 0, 0, false};
        struct coo x = planted(&of, 6);
        of.counts = means[m];
        struct coo y = planted(&of, 6);
        double sum = 0;
        for (uint64_t i = 0; i < x.nnz; i++)
            sum += x.value[i];
        for (int k = 1; k < 300; k++) {
            double found = 0, expected = 0;
            for (uint64_t i = 0; i < y.nnz; i++)
                found += y.value[i] == k;
            for (uint64_t i = 0; i < x.nnz; i++) {
                const double rate = means[m] * (double)x.nnz / sum * x.value[i];
                expected += exp(k * log(rate) - rate - lgamma(k + 1.0));
            }
            if (!(fabs(found - expected) <= 5 * sqrt(expected) + 3))
                fail_msg("mean %g: %d drawn %g times, expected %g", means[m], k, found, expected);
        }
        for (uint64_t i = 0; i < y.nnz; i++)
            assert_true(y.value[i] >= 1 && y.value[i] == floor(y.value[i]));
        assert_true(y.nnz <= x.nnz);
        of.clipped = true; /* the same places */
        struct coo z = planted(&of, 6);
        assert_true(z.nnz == y.nnz);
        for (uint64_t i = 0; i < z.nnz; i++)
            assert_true(z.value[i] == 1 && z.index[0][i] == y.index[0][i] &&
                        z.index[2][i] == y.index[2][i]);
        coo_free(&x);
        coo_free(&y);
        coo_free(&z);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct generate_plant plants[] = {
        {{2, {3, 3}}, 10, 1, 0, false, 0, 0, false},
        {{2, {30, 30}}, 3, 4, 0, false, 0, 0, false},
        {{2, {30, 30}}, 30, 0, 0, false, 0, 0, false},
        {{2, {3, 3}}, 5, 1, -1, false, 0, 0, false},
        {{2, {3, 3}}, 5, 1, INFINITY, false, 0, 0, false},
        {{1, {3}}, MAX_NNZ + 1, 1, 0, false, 0, 0, false},
        {{2, {30, 30}}, 900, 3, 0, true, 1, 0, false},
        {{2, {30, 30}}, 900, 3, 0, true, -0.1, 0, false},
        {{2, {30, 30}}, 900, 3, 0, true, NAN, 0, false},
        {{2, {30, 4}}, 120, 5, 0, true, 0.5, 0, false}};
    struct coo x;
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct error error = {0};
        assert_int_equal(generate_planted(&x, &plants[i], 1, UINT64_MAX, NULL, &error),
                         STATUS_INPUT);
        assert_true(error.message[0] && x.nnz == 0 && !x.value);
    }
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const struct generate_plant smalls[] = {
        {{3, {8, 7, 6}}, 90, 2, 0.1, false, 0, 0, false},
        {{3, {8, 7, 6}}, 90, 2, 0.1, true, 0.5, 0, false}};
    int fired = 1;
    for (long k = 0, of = 0; of < 2; k = fired ? k + 1 : 0, of += !fired) {
        struct error error = {0};
        struct coo x = {0};
        memory_hook_set(k);
        enum status status = generate_planted(&x, &smalls[of], 1, UINT64_MAX, NULL, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(x.value == NULL, fired);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_planted_rank),
        cmocka_unit_test(test_planted_noise),
        cmocka_unit_test(test_collinear),
        cmocka_unit_test(test_collinear_noise),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
