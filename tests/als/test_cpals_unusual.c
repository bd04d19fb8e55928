/* CP-ALS on one rank and on several in unusual cases: singular systems, numbers that are not
 * finite, signals, no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/rank_runs.h"

/* The threads of each rank. */
static void test_thread_count(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {70, 900, 400};
    int before = omp_get_max_threads();
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 20000, 8, 1);
    for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++) {
        double fit[4];
        for (int threads = 1; threads <= 3; threads++) {
            struct ktensor k;
            struct backend_options machine = {.problem.rank = 10, .conflict = c};
            struct cpals_options options = {.max_iterations = 10};
            omp_set_num_threads(threads * under_test.ranks);
            fit[threads] = run_random(&x, &machine, 1, &options, &k).fit;
            ktensor_free(&k);
        }
        assert_true(fabs(fit[2] - fit[1]) < 1e-10);
        assert_true(fabs(fit[3] - fit[1]) < 1e-10);
    }
    omp_set_num_threads(before);
    coo_free(&x);
}

/* For order 1, A = M (V + ridge)^-1 = x / (1 + ridge) at rank 1. */
static void test_ridge(void **state)
{
    use_ranks(state);
    const uint64_t dims[] = {20};
    struct backend_options machine = {.problem.rank = 1, .problem.rules = same_ridge(0.25)};
    struct cpals_options options = {.max_iterations = 3};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(1, dims), 15, 8, 0);
    struct cpals_result result = run_random(&x, &machine, 1, &options, &k);
    assert_true(fabs(result.fit - 1.0 / 1.25) < 1e-12);
    assert_true(fabs(k.lambda[0] - sqrt(coo_norm_sq(&x)) / 1.25) < 1e-12);
    ktensor_free(&k);
    coo_free(&x);
}

/* A ridge changes the fit, and on every number of ranks alike. */
static void test_ridge_of_a_tensor(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {30, 20, 25};
    const struct backend_options with = {.problem.rank = 4, .problem.rules = same_ridge(2)},
                                 without = {.problem.rank = 4};
    const struct cpals_options options = {.max_iterations = 4};
    struct error error = {0};
    struct cpals_result alone;
    struct coo x;
    struct ktensor k, same;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 8, 0);
    double fit = run_random(&x, &with, 3, &options, &k).fit;
    ktensor_free(&k);
    double other = run_random(&x, &without, 3, &options, &k).fit;
    assert_int_equal(ktensor_create(&same, &x.shape, 4, &error), STATUS_OK);
    ktensor_randomise(&same, KTENSOR_RANDOM, 3);
    assert_int_equal(run_alone(under_test.kind, &x, &same, &with, &options, &alone, &error),
                     STATUS_OK);
    assert_true(fabs(fit - alone.fit) < 1e-12);
    assert_true(fabs(fit - other) > 1e-6);
    ktensor_free(&k);
    ktensor_free(&same);
    coo_free(&x);
}

/* More components than the lengths allow: V is singular in every update. */
static void test_singular(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {3, 2, 2};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 12, 8, 0);
    const struct backend_options machine = {.problem.rank = 20};
    const struct cpals_options options = {.max_iterations = 200, .tolerance = 1e-9};
    struct cpals_result result = run_random(&x, &machine, 1, &options, &k);
    assert_true(result.fit > 0.9999 && result.fit <= 1.0);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-6L);
    ktensor_free(&k);
    coo_free(&x);
}

/* A component that begins as zero in two modes becomes zero, and the others go the way that they go
 * without it: V has a row and a column of zeros in every update. */
static void test_zero_column(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {30, 20, 25};
    const struct cpals_options options = {.max_iterations = 6};
    struct cpals_result result[2];
    struct coo x;
    struct ktensor k[2];
    naive_random_coo(&x, SHAPE(3, dims), 3000, 8, 0);
    for (int i = 0; i < 2; i++) { /* two components and one of zeros */
        uint64_t rank = 2 + (uint64_t)i;
        const struct backend_options machine = {.problem.rank = rank};
        struct error error = {0};
        uint64_t seed = 11;
        assert_int_equal(ktensor_create(&k[i], SHAPE(3, dims), rank, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            for (uint64_t at = 0; at < dims[n] * rank; at++)
                k[i].factor[n][at] = at % rank < 2 ? (double)(naive_random(&seed) >> 11) / 0x1p53
                                                   : n == 0; /* zero in modes 2 and 3 */
        assert_int_equal(run_from(&x, &k[i], &machine, &options, &result[i], &error), STATUS_OK);
    }
    assert_true(fabs(result[1].fit - result[0].fit) < 1e-12);
    assert_true(fabsl(naive_fit(&x, &k[1]) - (long double)result[1].fit) < 1e-12L);
    for (int r = 0; r < 2; r++)
        assert_true(fabs(k[1].lambda[r] / k[0].lambda[r] - 1) < 1e-9);
    assert_true(k[1].lambda[2] == 0);
    for (int i = 0; i < 2; i++)
        ktensor_free(&k[i]);
    coo_free(&x);
}

static void test_not_finite(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {6, 7, 8};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    for (int i = 0; i < 3; i++) {
        struct error error = {0};
        struct cpals_result result;
        struct backend_options machine = {.problem.rank = 2};
        struct cpals_options options = {.max_iterations = 3};
        struct ktensor k;
        assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 2, &error), STATUS_OK);
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        k.factor[1][4] = bad[i];
        assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_NUMERICAL);
        assert_memory_equal(error.message, "iteration 1: mode 1: ", 21);

        double value = x.value[7];
        x.value[7] = bad[i];
        error = (struct error){0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        /* an entry that is nan is unknown, which a problem without weights does not take */
        assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error),
                         isnan(bad[i]) ? STATUS_INPUT : STATUS_NUMERICAL);
        x.value[7] = value;
        ktensor_free(&k);
    }
    coo_free(&x);
}

static void test_interrupted(void **state)
{
    use_ranks(state);
    const uint64_t dims[] = {6, 7, 8};
    const volatile sig_atomic_t interrupted = 1;
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.problem.rank = 2};
    struct cpals_options options = {.max_iterations = 9, .interrupted = &interrupted};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 2, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_int_equal(result.stop, CPALS_INTERRUPTED);
    assert_int_equal(result.iterations, 1);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-12L);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_allocation_fails(void **state)
{
    use_ranks(state);
    const uint64_t dims[] = {6, 7, 8};
    const struct backend_options machine = {.problem.rank = 2};
    const struct cpals_options options = {.max_iterations = 2};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    assert_true(fail_every_allocation(&x, &machine, &options) > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_thread_count),      ON_RANKS(test_ridge),
        ON_RANKS(test_ridge_of_a_tensor), ON_RANKS(test_singular),
        ON_RANKS(test_zero_column),       ON_RANKS(test_not_finite),
        ON_RANKS(test_interrupted),       ON_RANKS_OF(test_allocation_fails, backend_host, 1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
