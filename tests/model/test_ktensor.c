/* The model: random starts and the standard form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "support/models.h"
#include "model/ktensor.h"
#include "support/naive.h"
#include "support/naive_rows.h"
#include "support/small_tensors.h"

static uint64_t entries(const struct ktensor *k)
{
    uint64_t product = 1;
    for (int n = 0; n < k->shape.order; n++)
        product *= k->shape.dims[n];
    return product;
}

/* The tensor's entry number `at`; the index of mode 0 changes fastest. */
static long double entry(const struct ktensor *k, uint64_t at)
{
    long double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        long double product = k->lambda[r];
        uint64_t rest = at;
        for (int n = 0; n < k->shape.order; n++) {
            product *= k->factor[n][rest % k->shape.dims[n] * k->rank + r];
            rest /= k->shape.dims[n];
        }
        sum += product;
    }
    return sum;
}

static void assert_same_tensor(const struct ktensor *a, const struct ktensor *b)
{
    long double largest = 0, difference = 0;
    for (uint64_t at = 0; at < entries(a); at++) {
        largest = fmaxl(largest, fabsl(entry(a, at)));
        difference = fmaxl(difference, fabsl(entry(a, at) - entry(b, at)));
    }
    assert_true(difference <= 1e-13L * largest);
}

/* The column's 2-norm, and its first entry of largest magnitude. */
static double column(const struct ktensor *k, int n, uint64_t r, double *largest)
{
    long double sum = 0;
    *largest = 0;
    for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
        double x = k->factor[n][i * k->rank + r];
        sum += (long double)x * x;
        if (fabs(x) > fabs(*largest))
            *largest = x;
    }
    return (double)sqrtl(sum);
}

static void test_create(void **state)
{
    (void)state;
    struct ktensor k = model_create(3, (uint64_t[]){2, 3, 4}, 5);
    assert_int_equal(k.shape.order, 3);
    assert_int_equal(k.rank, 5);
    assert_int_equal(k.shape.dims[2], 4);
    for (int r = 0; r < 5; r++)
        assert_true(k.lambda[r] == 1);
    ktensor_free(&k);
    ktensor_free(&k);
    assert_null(k.lambda);

    const struct {
        int order;
        uint64_t dim, rank;
        enum status status;
    } bad[] = {
        {0, 3, 2, STATUS_INPUT},
        {17, 3, 2, STATUS_INPUT},
        {2, 3, 0, STATUS_INPUT},
        {2, 3, UINT64_MAX, STATUS_MEMORY},
        {2, UINT32_MAX, UINT64_MAX / 8, STATUS_MEMORY},
        {2, UINT32_MAX, (UINT64_C(1) << 32) + 8, STATUS_MEMORY},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t dims[17];
        for (int n = 0; n < 17; n++)
            dims[n] = bad[i].dim;
        struct error error = {0};
        assert_int_equal(ktensor_create(&k, SHAPE(bad[i].order, dims), bad[i].rank, &error),
                         bad[i].status);
        assert_null(k.lambda);
        assert_int_equal(k.shape.order, 0);
    }
}

/* A part of a model starts from the same entries as the whole. */
static void test_randomise_a_part(void **state)
{
    (void)state;
    static const struct part part = {
        .whole = {3, {9, 5, 1}}, .here = {3, {4, 5, 1}}, .first = {3, 0, 0}};
    struct error error = {0};
    struct ktensor whole, some;
    struct part all = part_all(&part.whole);
    assert_true(shape_equal(&all.here, &part.whole) && all.first[0] == 0);
    assert_int_equal(ktensor_create_part(&whole, &all, 5, &error), STATUS_OK);
    assert_int_equal(ktensor_create_part(&some, &part, 5, &error), STATUS_OK);
    for (int init = KTENSOR_RANDOM; init <= KTENSOR_NORMAL; init++) {
        ktensor_randomise(&whole, (enum ktensor_init)init, 11);
        ktensor_randomise(&some, (enum ktensor_init)init, 11);
        for (int n = 0; n < 3; n++)
            assert_memory_equal(some.factor[n], whole.factor[n] + part.first[n] * 5,
                                part.here.dims[n] * 5 * sizeof *some.factor[n]);
    }
    ktensor_free(&whole);
    ktensor_free(&some);
}

/* Neither threads nor the shape around it change entry (n, i, r) of a seed. */
static void test_randomise_is_a_function_of_its_place(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    for (enum ktensor_init init = KTENSOR_RANDOM; init <= KTENSOR_NORMAL; init++) {
        struct ktensor a = model_create(3, (uint64_t[]){1000, 7, 33}, 5);
        struct ktensor b = model_create(3, (uint64_t[]){1000, 7, 33}, 5);
        struct ktensor c = model_create(4, (uint64_t[]){10, 9, 40, 2}, 8);
        ktensor_randomise(&a, init, 11);
        omp_set_num_threads(1);
        ktensor_randomise(&b, init, 11);
        ktensor_randomise(&c, init, 11);
        omp_set_num_threads(threads);
        assert_true(model_same_bits(&a, &b));
        for (int n = 0; n < 3; n++)
            for (uint64_t i = 0; i < 7; i++)
                for (uint64_t r = 0; r < 5; r++)
                    assert_true(a.factor[n][i * 5 + r] == c.factor[n][i * 8 + r]);
        ktensor_randomise(&b, init, 12);
        assert_false(model_same_bits(&a, &b));
        assert_true(a.factor[0][0] != a.factor[1][0] && a.factor[0][0] != a.factor[0][5]);
        ktensor_free(&a);
        ktensor_free(&b);
        ktensor_free(&c);
    }
}

struct moments {
    double mean, variance, kurtosis, least, largest, lag; /* lag: correlation of neighbours */
};

static struct moments moments_of(const double *x, uint64_t count, uint64_t distance)
{
    struct moments m = {.least = x[0], .largest = x[0]};
    double fourth = 0;
    for (uint64_t i = 0; i < count; i++) {
        m.mean += x[i] / (double)count;
        m.least = fmin(m.least, x[i]);
        m.largest = fmax(m.largest, x[i]);
    }
    for (uint64_t i = 0; i < count; i++) {
        double d = x[i] - m.mean;
        m.variance += d * d / (double)count;
        fourth += d * d * d * d / (double)count;
        if (i + distance < count)
            m.lag += d * (x[i + distance] - m.mean) / (double)count;
    }
    m.kurtosis = fourth / (m.variance * m.variance);
    m.lag /= m.variance;
    return m;
}

/* With 200000 entries the bounds are five standard errors or more. */
static void test_moments(void **state)
{
    (void)state;
    struct ktensor k = model_create(1, (uint64_t[]){50000}, 4);
    for (uint64_t distance = 1; distance <= 4; distance++) {
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        struct moments u = moments_of(k.factor[0], 200000, distance);
        assert_true(fabs(u.mean - 0.5) < 0.0033);
        assert_true(fabs(u.variance - 1.0 / 12) < 0.0009);
        assert_true(fabs(u.kurtosis - 1.8) < 0.02);
        assert_true(u.least >= 0 && u.least < 1e-4 && u.largest < 1 && u.largest > 1 - 1e-4);
        assert_true(fabs(u.lag) < 0.0112);
        ktensor_randomise(&k, KTENSOR_NORMAL, 1);
        struct moments g = moments_of(k.factor[0], 200000, distance);
        assert_true(fabs(g.mean) < 0.0112);
        assert_true(fabs(g.variance - 1) < 0.016);
        assert_true(fabs(g.kurtosis - 3) < 0.055);
        assert_true(g.least < -3.5 && g.least > -7 && g.largest > 3.5 && g.largest < 7);
        assert_true(fabs(g.lag) < 0.0112);
    }
    ktensor_free(&k);
}

static void assert_arranged(const struct ktensor *k)
{
    for (uint64_t r = 0; r < k->rank; r++) {
        assert_true(k->lambda[r] >= 0 && !signbit(k->lambda[r]));
        assert_true(r == 0 || k->lambda[r - 1] >= k->lambda[r]);
        for (int n = 0; n < k->shape.order; n++) {
            double largest, norm = column(k, n, r, &largest);
            assert_true(fabs(norm - 1) < 1e-14);
            assert_true(n == k->shape.order - 1 || largest > 0);
        }
    }
}

static void test_arrange_keeps_the_tensor(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 3, 5, 1, 6, 2};
    for (int order = 1; order <= 6; order++)
        for (uint64_t rank = 1; rank <= 9; rank += 2) {
            struct ktensor k = model_random(order, dims, rank, 5 + rank), before = model_copy(&k);
            struct error error = {0};
            assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
            assert_arranged(&k);
            assert_same_tensor(&k, &before);
            ktensor_free(&k);
            ktensor_free(&before);
        }
}

/* All eight sign patterns of three modes and both signs of lambda: an even number of negative signs
 * leaves none, an odd number leaves the last mode's. */
static void test_arrange_signs(void **state)
{
    (void)state;
    for (int pattern = 0; pattern < 16; pattern++) {
        struct ktensor k = model_create(3, (uint64_t[]){3, 2, 3}, 1);
        for (int n = 0; n < 3; n++) {
            double sign = pattern >> n & 1 ? -1 : 1;
            for (uint64_t i = 0; i < k.shape.dims[n]; i++)
                k.factor[n][i] = sign * (i == 1 ? 4.0 : -1.0);
        }
        k.lambda[0] = pattern & 8 ? -2 : 2;
        struct error error = {0};
        assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
        int odd = __builtin_popcount((unsigned)pattern) & 1;
        assert_true(fabs(k.lambda[0] - 2 * 18 * sqrt(17)) < 1e-11);
        assert_true(k.factor[0][1] > 0 && k.factor[1][1] > 0);
        assert_true(odd ? k.factor[2][1] < 0 : k.factor[2][1] > 0);
        ktensor_free(&k);
    }
}

static void test_arrange_order(void **state)
{
    (void)state;
    struct ktensor k = model_create(2, (uint64_t[]){5, 1}, 5);
    for (uint64_t i = 0; i < 5; i++)
        for (uint64_t r = 0; r < 5; r++)
            k.factor[0][i * 5 + r] = i == r ? 1 : 0;
    for (uint64_t r = 0; r < 5; r++)
        k.factor[1][r] = 1;
    memcpy(k.lambda, (double[]){2, -7, 3, 2, 9}, 5 * sizeof(double));
    struct error error = {0};
    assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
    const double lambda[] = {9, 7, 3, 2, 2};
    const uint64_t came_from[] = {4, 1, 2, 0, 3}; /* of equals, the first stays first */
    for (uint64_t r = 0; r < 5; r++) {
        assert_true(k.lambda[r] == lambda[r]);
        assert_true(k.factor[0][came_from[r] * 5 + r] == 1);
        assert_true(k.factor[1][r] == (r == 1 ? -1 : 1));
    }
    ktensor_free(&k);
}

static void test_arrange_zero_columns(void **state)
{
    (void)state;
    struct ktensor k = model_random(3, (uint64_t[]){4, 3, 2}, 4, 3);
    for (uint64_t i = 0; i < 3; i++)
        k.factor[1][i * 4 + 2] = 0;
    k.lambda[0] = -0.0;
    struct ktensor before = model_copy(&k);
    struct error error = {0};
    assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
    assert_same_tensor(&k, &before);
    assert_true(k.lambda[1] > 0 && k.lambda[2] == 0 && k.lambda[3] == 0);
    assert_false(signbit(k.lambda[2]) || signbit(k.lambda[3]));
    double largest;
    assert_true(column(&k, 1, 3, &largest) == 0);
    assert_true(fabs(column(&k, 0, 3, &largest) - 1) < 1e-14);
    assert_true(fabs(column(&k, 1, 2, &largest) - 1) < 1e-14);
    ktensor_free(&k);
    ktensor_free(&before);
}

/* Squares of these overflow, or vanish. A denormal number has few digits to keep. */
static void test_arrange_extreme_magnitudes(void **state)
{
    (void)state;
    const struct {
        double magnitude, lambda, tolerance;
    } c[] = {{1e300, 1, 1e-14},
             {1.2e308, 1, 1e-14},
             {1e160, 1, 1e-14},
             {1e-300, 1e4, 1e-14},
             {1e-320, 1e4, 1e-3}};
    for (size_t m = 0; m < sizeof c / sizeof c[0]; m++) {
        struct ktensor k = model_create(2, (uint64_t[]){700, 2}, 1);
        for (uint64_t i = 0; i < 700; i++)
            k.factor[0][i] = i == 3 || i == 600 ? c[m].magnitude : 0;
        k.factor[1][0] = 3e-4;
        k.factor[1][1] = -4e-4;
        k.lambda[0] = c[m].lambda;
        struct error error = {0};
        assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
        double lambda = c[m].magnitude * (5e-4 * c[m].lambda);
        assert_true(fabs(k.factor[0][3] - sqrt(0.5)) < c[m].tolerance);
        assert_true(fabs(k.lambda[0] / lambda - sqrt(2)) < c[m].tolerance);
        ktensor_free(&k);
    }
}

/* Factor matrices of several portions; every bit is the same for any number of threads. */
static void test_arrange_does_not_depend_on_threads(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    struct ktensor start = model_random(3, (uint64_t[]){20000, 3, 5001}, 17, 8), one = {0};
    for (int t = 1; t <= 4; t++) {
        omp_set_num_threads(t);
        struct ktensor k = model_copy(&start);
        struct error error = {0};
        assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
        assert_arranged(&k);
        double score;
        assert_int_equal(ktensor_score(&start, &k, 1, &score, NULL, &error), STATUS_OK);
        assert_true(fabs(score - 1) < 1e-12);
        if (t == 1) {
            one = k;
        } else {
            assert_true(model_same_bits(&k, &one));
            ktensor_free(&k);
        }
    }
    omp_set_num_threads(threads);
    ktensor_free(&one);
    ktensor_free(&start);
}

/* The k-th allocation fails, for every k: an error, no leak, and the model is what it was. */
static void test_allocation_fails(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 3, 2};
    struct ktensor start = model_random(3, dims, 3, 1);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        memory_hook_set(k);
        struct ktensor made;
        enum status status = ktensor_create(&made, SHAPE(3, dims), 2, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(made.lambda == NULL, fired);
        ktensor_free(&made);
    }
    for (long k = 0, fired = 1; fired; k++) {
        struct ktensor arranged = model_copy(&start);
        struct error error = {0};
        memory_hook_set(k);
        enum status status = ktensor_arrange(&arranged, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(model_same_bits(&arranged, &start), fired);
        ktensor_free(&arranged);
    }
    ktensor_free(&start);
}

/* Columns of a fixed mode keep their bits and all components their places; of a nonnegative mode no
 * sign is changed. What the model stands for stays the same. */
static void test_arrange_rules(void **state)
{
    (void)state;
    static const uint64_t dims[] = {4, 3, 5, 2};
    struct ktensor k = model_random(4, dims, 3, 9), before;
    struct error error = {0};
    k.fixed[1] = k.nonneg[3] = true;
    for (uint64_t e = 0; e < dims[3] * 3; e++)
        k.factor[3][e] = fabs(k.factor[3][e]);
    before = model_copy(&k);
    assert_int_equal(ktensor_arrange(&k, &error), STATUS_OK);
    assert_memory_equal(k.factor[1], before.factor[1], dims[1] * 3 * sizeof(double));
    for (uint64_t r = 0; r < 3; r++) {
        double ratio = before.lambda[r] / k.lambda[r];
        assert_true(k.lambda[r] > 0);
        for (int n = 0; n < 4; n++) {
            ratio *= before.factor[n][r] / k.factor[n][r];
            double norm = 0;
            for (uint64_t i = 0; i < dims[n]; i++)
                norm += k.factor[n][i * 3 + r] * k.factor[n][i * 3 + r];
            assert_true(n == 1 || fabs(norm - 1) < 1e-14);
        }
        assert_true(fabs(ratio - 1) < 1e-13);
        assert_true(k.factor[3][r] >= 0 && k.factor[3][3 + r] >= 0);
    }
    ktensor_free(&k);
    ktensor_free(&before);
}

/* --- The values of a model at coordinates, against sums in long double. --- */

#define ENTRIES 1100 /* more than a thread takes at a time */

/* Entries in no order, of which some stand more than once. */
static void draw(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t *seed)
{
    small_tensor(x, shape->order, shape->dims, nnz);
    for (uint64_t i = 0; i < nnz; i++) {
        uint32_t at[MAX_ORDER];
        for (int n = 0; n < shape->order; n++)
            at[n] = (uint32_t)(naive_random(seed) % shape->dims[n]);
        add_nonzero(x, at, NAN);
    }
}

static void check(const struct ktensor *k, uint64_t *seed)
{
    static double value[ENTRIES], alone[ENTRIES];
    struct coo x;
    draw(&x, &k->shape, ENTRIES, seed);
    const int threads = omp_get_max_threads();
    memset(value, 0xff, sizeof value);
    omp_set_num_threads(3);
    ktensor_at(value, k, &x);
    omp_set_num_threads(1);
    ktensor_at(alone, k, &x);
    omp_set_num_threads(threads);
    assert_memory_equal(value, alone, sizeof value);
    const double most = ((double)k->rank + k->shape.order + 1) * 0x1p-53;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        uint32_t at[MAX_ORDER];
        naive_rows_at(&x, i, at);
        assert_true(ktensor_value(k, at) == value[i]);
        long double terms, expected = naive_model_terms(k, at, &terms);
        if (!(fabsl(value[i] - expected) <= most * terms))
            fail_msg("order %d, rank %ju, entry %ju: %.17g, expected %.17Lg", k->shape.order,
                     (uintmax_t)k->rank, (uintmax_t)i, value[i], expected);
    }
    coo_free(&x);
}

static void every_order_and_rank(void **state)
{
    (void)state;
    static const uint64_t dims[MAX_ORDER] = {7, 40, 1, 3, 300, 2, 5, 4, 1, 9, 2, 3, 1, 6, 2, 8};
    static const uint64_t ranks[] = {1, 3, 4, 5, 8, 12, 13, 33};
    uint64_t seed = 1;
    for (int order = 1; order <= MAX_ORDER; order++)
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            struct ktensor k = model_random(order, dims, ranks[i], i);
            check(&k, &seed);
            ktensor_free(&k);
        }
}

static void no_entries(void **state)
{
    (void)state;
    struct ktensor k = model_random(2, (const uint64_t[]){3, 4}, 5, 1);
    const struct coo x = {.shape = k.shape};
    ktensor_at(NULL, &k, &x);
    ktensor_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrange_rules),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_randomise_is_a_function_of_its_place),
        cmocka_unit_test(test_randomise_a_part),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_arrange_keeps_the_tensor),
        cmocka_unit_test(test_arrange_signs),
        cmocka_unit_test(test_arrange_order),
        cmocka_unit_test(test_arrange_zero_columns),
        cmocka_unit_test(test_arrange_extreme_magnitudes),
        cmocka_unit_test(test_arrange_does_not_depend_on_threads),
        cmocka_unit_test(test_allocation_fails),
        cmocka_unit_test(every_order_and_rank),
        cmocka_unit_test(no_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
