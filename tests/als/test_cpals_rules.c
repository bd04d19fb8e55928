/* Runs with nonnegative modes, fixed modes and a ridge of some modes, on every backend and several
 * numbers of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "support/rank_runs.h"

static const struct mode_rules all_nonneg = {.nonneg = {true, true, true, true}};

static void assert_nonneg(const struct ktensor *k, int n)
{
    for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
        assert_true(k->factor[n][e] >= 0);
}

/* Every cell of the model, which has three modes. */
static void fill_from(struct coo *x, const struct ktensor *k)
{
    struct error error = {0};
    const uint64_t *dims = k->shape.dims;
    assert_int_equal(coo_create(x, &k->shape, dims[0] * dims[1] * dims[2], &error), STATUS_OK);
    for (uint64_t c = 0; c < x->nnz; c++) {
        const uint64_t at[] = {c / dims[2] / dims[1], c / dims[2] % dims[1], c % dims[2]};
        x->value[c] = 0;
        for (uint64_t r = 0; r < k->rank; r++) {
            double product = k->lambda[r];
            for (int n = 0; n < 3; n++)
                product *= k->factor[n][at[n] * k->rank + r];
            x->value[c] += product;
        }
        for (int n = 0; n < 3; n++)
            x->index[n][c] = (uint32_t)at[n];
    }
}

/* Nonnegative factors, some of whose entries are zero. */
static void plant(struct ktensor *k, uint64_t rank)
{
    static const uint64_t dims[] = {15, 12, 18};
    struct error error = {0};
    uint64_t seed = 4;
    assert_int_equal(ktensor_create(k, SHAPE(3, dims), rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, 21);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < dims[n] * rank; e++)
            k->factor[n][e] *= naive_random(&seed) % 3 > 0;
    assert_int_equal(ktensor_arrange(k, &error), STATUS_OK);
}

static void test_planted(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 4, .problem.rules = all_nonneg};
    const struct cpals_options als = {.max_iterations = 400, .tolerance = 1e-9};
    struct error error = {0};
    struct ktensor planted;
    struct coo x;
    double best = 0, fit = 0;
    plant(&planted, 4);
    fill_from(&x, &planted);
    for (uint64_t seed = 1; seed <= 10 && best <= 0.999; seed++) {
        struct ktensor k;
        fit = run_random(&x, &options, seed, &als, &k).fit;
        assert_int_equal(ktensor_score(&k, &planted, 1, &best, NULL, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            assert_nonneg(&k, n);
        ktensor_free(&k);
    }
    assert_true(best > 0.999 && fit > 0.9999);
    ktensor_free(&planted);
    coo_free(&x);
}

/* Squared residuals, because near a fit of 1 their root is all rounding. */
static bool same_residual(long double fit, long double other)
{
    return fabsl((1 - fit) * (1 - fit) - (1 - other) * (1 - other)) < 1e-10L;
}

/* The fit never falls, is that of the model that comes out, and does not depend on the ranks; also
 * where V of a mode that may be negative is singular. */
static void test_fit(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {{3, {60, 1, 90}, 2000, 1},
                                               {3, {300, 52, 400}, 4000, 0},
                                               {3, {2, 60, 2}, 150, 0},
                                               {4, {17, 5, 90, 33}, 2500, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int some = 0; some < 2; some++) {
            const struct tensor_case *t = &cases[c];
            struct backend_options options = {.problem.rank = 6, .problem.rules = all_nonneg};
            const struct cpals_options als = {.max_iterations = 12};
            struct coo x;
            struct ktensor k, alone;
            struct cpals_result expected;
            struct error error = {0};
            options.problem.rules.nonneg[1] = some == 0;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
            struct cpals_result result = run_random(&x, &options, 3, &als, &k);
            assert_int_equal(result.trust.falls, 0);
            assert_true(result.fit > 0 && same_residual(result.fit, naive_fit(&x, &k)));
            for (int n = 0; n < t->order; n++)
                if (options.problem.rules.nonneg[n])
                    assert_nonneg(&k, n);
            assert_int_equal(ktensor_create(&alone, &x.shape, 6, &error), STATUS_OK);
            ktensor_randomise(&alone, KTENSOR_RANDOM, 3);
            assert_int_equal(
                run_alone(&backend_host, &x, &alone, &options, &als, &expected, &error), STATUS_OK);
            assert_true(same_residual(result.fit, expected.fit));
            ktensor_free(&k);
            ktensor_free(&alone);
            coo_free(&x);
        }
}

/* Fixed modes come out in the same bits, with the components in their order, whichever modes they
 * are; the others are updated. */
static void test_fixed(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {{3, {60, 21, 90}, 2000, 1},
                                               {4, {17, 5, 90, 33}, 2500, 0}};
    static const bool fixed[][MAX_ORDER] = {
        {true}, {false, true}, {false, false, true}, {true, false, true}};
    const struct cpals_options als = {.max_iterations = 6};
    for (size_t c = 0; c < 2; c++)
        for (size_t f = 0; f < sizeof fixed / sizeof *fixed; f++) {
            const struct tensor_case *t = &cases[c];
            struct backend_options options = {.problem.rank = 5};
            struct coo x;
            struct ktensor k, start;
            struct cpals_result result;
            struct error error = {0};
            memcpy(options.problem.rules.fixed, fixed[f], sizeof *fixed);
            options.problem.rules.nonneg[1] = c == 1;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
            assert_int_equal(ktensor_create(&k, &x.shape, 5, &error), STATUS_OK);
            assert_int_equal(ktensor_create(&start, &x.shape, 5, &error), STATUS_OK);
            ktensor_randomise(&k, KTENSOR_RANDOM, 3);
            ktensor_randomise(&start, KTENSOR_RANDOM, 3);
            if (run_from(&x, &k, &options, &als, &result, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            for (int n = 0; n < t->order; n++)
                assert_int_equal(
                    memcmp(k.factor[n], start.factor[n], t->dims[n] * 5 * sizeof(double)) == 0,
                    fixed[f][n]);
            assert_true(fabsl(result.fit - naive_fit(&x, &k)) < 1e-10L);
            assert_int_equal(result.trust.falls, 0);
            for (uint64_t r = 0; r < 5; r++)
                assert_true(k.lambda[r] > 0);
            ktensor_free(&k);
            ktensor_free(&start);
            coo_free(&x);
        }
}

/* New rows of one mode are found from a tensor of the same model: the other modes are fixed. */
static void test_projection(void **state)
{
    use_ranks(state);
    const struct backend_options options = {
        .problem.rank = 3, .problem.rules = {.nonneg = {true}, .fixed = {false, true, true}}};
    const struct cpals_options als = {.max_iterations = 200, .tolerance = 1e-12};
    struct error error = {0};
    struct ktensor planted, k;
    struct coo x;
    struct cpals_result result;
    plant(&planted, 3);
    fill_from(&x, &planted);
    assert_int_equal(ktensor_create(&k, &x.shape, 3, &error), STATUS_OK);
    ktensor_copy_rows(&k, &planted);
    for (uint64_t e = 0; e < x.shape.dims[0] * 3; e++)
        k.factor[0][e] = 1 + (double)(e % 7);
    if (run_from(&x, &k, &options, &als, &result, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(result.fit > 1 - 1e-6);
    for (uint64_t r = 0; r < 3; r++)
        for (uint64_t i = 0; i < x.shape.dims[0]; i++)
            assert_true(fabs(k.factor[0][i * 3 + r] - planted.factor[0][i * 3 + r]) < 1e-5);
    ktensor_free(&k);
    ktensor_free(&planted);
    coo_free(&x);
}

/* Modes of another length than the given model's begin at random, without signs where they must
 * have none. */
static void test_start(void **state)
{
    (void)state;
    static const uint64_t dims[] = {5, 9, 4}, others[] = {5, 7, 6};
    const struct backend_options options = {.problem.rank = 2,
                                            .problem.rules = {.nonneg = {true, true}}};
    struct error error = {0};
    struct ktensor given, k, random;
    assert_int_equal(ktensor_create(&given, SHAPE(3, dims), 2, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&k, SHAPE(3, others), 2, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&random, SHAPE(3, others), 2, &error), STATUS_OK);
    ktensor_randomise(&given, KTENSOR_NORMAL, 1);
    ktensor_randomise(&random, KTENSOR_RANDOM, 6);
    given.lambda[1] = 4;
    const struct initial_guess guess = {.kind = GUESS_MODEL, .model = &given, .seed = 6};
    initial_guess_fill(&k, &random.shape, &guess, options.problem.rules.nonneg);
    assert_true(k.lambda[1] == 4);
    assert_memory_equal(k.factor[0], given.factor[0], 5 * 2 * sizeof(double));
    assert_memory_equal(k.factor[2], random.factor[2], 6 * 2 * sizeof(double));
    for (uint64_t e = 0; e < 7 * 2; e++)
        assert_true(k.factor[1][e] == fabs(random.factor[1][e]));
    ktensor_free(&given);
    ktensor_free(&k);
    ktensor_free(&random);
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 3, .problem.rules = all_nonneg};
    const struct cpals_options als = {.max_iterations = 1};
    static const uint64_t dims[] = {5, 6, 4};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_planted),
        ON_RANKS(test_fit),
        ON_RANKS(test_fixed),
        ON_RANKS(test_projection),
        cmocka_unit_test(test_start),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
