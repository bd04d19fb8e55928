/* What CP-ALS finds about its own result: how many digits of the fit are significant, whether the
 * fit fell, and which components cancel each other or became zero. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "support/naive_rows.h"
#include "support/rank_runs.h"
#include "support/small_tensors.h"

static long double residual_of(const struct coo *x, const struct ktensor *k)
{
    return 1 - naive_fit(x, k);
}

/* Fits near 1 go on rising where the changes of the fit without a pass over the nonzeros are
 * rounding noise, which would stop the run some steps after it has begun. */
static void test_noise_is_no_convergence(void **state)
{
    use_ranks(state);
    const struct backend_options machine = {.problem.rank = 7};
    const struct cpals_options options = {.max_iterations = 30000, .tolerance = 1e-12};
    struct coo x;
    struct ktensor k;
    assert_int_equal(known_multiplication(&x, 2, &(struct error){0}), STATUS_OK);
    struct cpals_result result = run_random(&x, &machine, 12, &options, &k);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_true(fabs(result.change) < 1e-12);
    assert_true(result.fit > 1 - 1e-8);
    assert_true(result.trust.exact && result.trust.checks > 100);
    assert_true(result.trust.error > 1e-12); /* the others were off by more than the tolerance */
    /* the oracle keeps half of a long double's 19 digits, as the formula does that it uses */
    assert_true(fabsl(residual_of(&x, &k) - (1 - result.fit)) < 2e-9L);
    ktensor_free(&k);
    coo_free(&x);
}

/* Checks come when they are due, and after the last iteration, and leave the iterations alone. */
static void test_check_every(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {30, 20, 25};
    const struct backend_options machine = {.problem.rank = 4};
    struct coo x;
    struct ktensor k;
    struct cpals_options options = {.max_iterations = 10};
    naive_random_coo(&x, SHAPE(3, dims), 3000, 8, 0);
    struct cpals_result without = run_random(&x, &machine, 3, &options, &k);
    assert_int_equal(without.trust.checks, 0);
    assert_false(without.trust.exact);
    assert_true(without.trust.noise > 0 && without.trust.noise < 1e-12);
    static const int every[] = {1, 3, 5, 10, 11}, checks[] = {10, 4, 2, 1, 1};
    for (int i = 0; i < 5; i++) {
        struct ktensor checked;
        options.check_every = every[i];
        struct cpals_result with = run_random(&x, &machine, 3, &options, &checked);
        assert_int_equal(with.trust.checks, checks[i]);
        assert_true(with.trust.exact);
        assert_true(with.trust.error < without.trust.noise);
        assert_true(fabsl(with.fit - naive_fit(&x, &checked)) < 1e-14L);
        assert_true(fabs(with.fit - without.fit) < 1e-12);
        for (uint64_t r = 0; r < 4; r++)
            assert_true(fabs(checked.lambda[r] / k.lambda[r] - 1) < 1e-9);
        ktensor_free(&checked);
    }
    ktensor_free(&k);
    coo_free(&x);
}

/* a o a o b + a o b o a + b o a o a has no best model of rank 2: two components cancel each other
 * more and more. The ridge that is suggested stops that where it says. */
static void test_degenerate(void **state)
{
    use_ranks(state);
    struct backend_options machine = {.problem.rank = 2};
    struct cpals_options options = {.max_iterations = 2500};
    struct coo x;
    struct ktensor k;
    border_rank_tensor(&x);
    struct model_health health = run_random(&x, &machine, 1, &options, &k).health;
    assert_int_equal(health.degenerate, 1);
    assert_int_equal(health.pair[0], 1);
    assert_int_equal(health.pair[1], 2);
    assert_true(health.congruence < -0.95 && health.congruence > -1);
    assert_true(health.growth > 1.02);
    assert_int_equal(health.since, 2048);
    assert_int_equal(health.zero, 0);
    assert_true(k.lambda[0] > 5.5 && k.lambda[1] > 5.5);
    ktensor_free(&k);

    machine.problem.rules = same_ridge(health.ridge);
    options = (struct cpals_options){.max_iterations = 20000, .tolerance = 1e-9};
    struct cpals_result result = run_random(&x, &machine, 1, &options, &k);
    double congruence = 1;
    for (int n = 0; n < 3; n++)
        congruence *= k.factor[n][0] * k.factor[n][1] + k.factor[n][2] * k.factor[n][3];
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_int_equal(result.health.degenerate, 0);
    assert_true(fabs(congruence + 0.9) < 0.01);
    assert_true(k.lambda[0] < 4.5 && k.lambda[1] < 4.5);
    assert_true(result.fit > 0.985);
    ktensor_free(&k);
    coo_free(&x);
}

/* Components that are well apart, of either sign, are not called degenerate; nor are those whose
 * weights have come to rest. */
static void test_sound(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {30, 20, 25};
    const struct backend_options machine = {.problem.rank = 4};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 8, 0);
    for (int iterations = 1; iterations <= 33; iterations *= 2) {
        const struct cpals_options options = {.max_iterations = iterations};
        struct cpals_result result = run_random(&x, &machine, 3, &options, &k);
        assert_int_equal(result.health.degenerate, 0);
        assert_int_equal(result.health.zero, 0);
        assert_int_equal(result.trust.falls, 0);
        assert_int_equal(result.health.since, iterations / 2);
        ktensor_free(&k);
    }
    coo_free(&x);
}

/* A component that begins as zero is counted as dead. */
static void test_dead(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {30, 20, 25};
    const struct backend_options machine = {.problem.rank = 3};
    const struct cpals_options options = {.max_iterations = 4};
    struct error error = {0};
    struct cpals_result result;
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 8, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 2);
    for (int n = 1; n < 3; n++)
        for (uint64_t i = 0; i < dims[n]; i++)
            k.factor[n][i * 3 + 1] = 0;
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_int_equal(result.health.zero, 1);
    assert_true(k.lambda[1] > 0 && k.lambda[2] == 0);
    ktensor_free(&k);
    coo_free(&x);
}

/* A ridge may lower the fit after a start that is better without. */
static void test_fall(void **state)
{
    use_ranks(state);
    struct backend_options machine = {.problem.rank = 2};
    struct cpals_options options = {.max_iterations = 200};
    struct error error = {0};
    struct cpals_result result;
    struct coo x;
    struct ktensor k;
    border_rank_tensor(&x);
    assert_int_equal(run_random(&x, &machine, 1, &options, &k).trust.falls, 0);
    machine.problem.rules = same_ridge(1e-2);
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_true(result.trust.falls > 0);
    assert_true(result.trust.fall > 1e-6 && result.trust.fall < 1);
    ktensor_free(&k);
    coo_free(&x);
}

/* What is within the noise of two fits is no fall. */
static void test_note(void **state)
{
    (void)state;
    static const struct {
        double value, noise;
        int falls;
        double fall;
    } fits[] = {{.5, 1e-3, 0, 0},         {.4981, 1e-3, 0, 0},       {.6, 1e-9, 0, 0},
                {.59, 1e-9, 1, .01},      {.589, 0, 2, .01},         {.5, 0, 3, .089},
                {.5 - 2e-12, 0, 4, .089}, {.5 - 2.5e-12, 0, 4, .089}};
    struct fit_trust trust = {0};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        const struct backend_fit fit = {.value = fits[i].value, .noise = fits[i].noise};
        fit_trust_note(&trust, &fit, i ? fits[i].value - fits[i - 1].value : fits[i].value,
                       PRECISION_DOUBLE);
        assert_int_equal(trust.falls, fits[i].falls);
        assert_true(fabs(trust.fall - fits[i].fall) < 1e-12);
    }
}

/* The fit of a tensor that lists all cells, from the residual of each. */
static double fit_by_cells(const struct coo *x, const struct ktensor *k)
{
    uint32_t at[MAX_ORDER];
    long double residual = 0, norm = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        coo_coordinates(x, i, at);
        const long double off = x->value[i] - naive_model_value(k, at);
        residual += off * off;
        norm += (long double)x->value[i] * x->value[i];
    }
    return (double)(1 - sqrtl(residual / norm));
}

/* Fixed columns that are nearly the same give weights that cancel: when they are written, each is
 * rounded. The noise that is told covers that. */
static void test_cancelling_weights(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {6, 5, 7};
    struct error error = {0};
    struct coo x;
    uint64_t seed = 3;
    assert_int_equal(coo_create(&x, SHAPE(3, dims), 210, &error), STATUS_OK);
    for (uint32_t e = 0; e < 210; e++) {
        x.index[0][e] = e / 35;
        x.index[1][e] = e / 7 % 5;
        x.index[2][e] = e % 7;
        x.value[e] = (double)(1 + naive_random(&seed) % 1000);
    }
    for (int c = 0; c < 12; c++) {
        struct backend_options machine = {
            .problem = {.rank = 3, .rules.fixed = {false, c % 2 == 1, true}}};
        const struct cpals_options options = {.max_iterations = 2, .check_every = c >= 4};
        struct cpals_result result;
        struct ktensor start, *k = &start;
        if (c >= 8)
            machine.problem.unlisted = (struct unlisted){.weighed = true};
        assert_int_equal(ktensor_create(k, &x.shape, 3, &error), STATUS_OK);
        ktensor_randomise(k, KTENSOR_RANDOM, 5);
        for (int n = 1; n < 3; n++)
            for (uint64_t i = 0; i < dims[n]; i++) {
                double *row = k->factor[n] + 3 * i;
                row[1] = row[0] + (c / 2 % 2 ? 1e-4 : 1e-6) * row[1];
            }
        assert_int_equal(run_from(&x, k, &machine, &options, &result, &error), STATUS_OK);
        const double off = fabs(result.fit - fit_by_cells(&x, k));
        if (!(off <= result.trust.noise))
            fail_msg("case %d: fit %.17g is off by %.3g, noise %.3g, weight %.3g", c, result.fit,
                     off, result.trust.noise, k->lambda[0]);
        ktensor_free(k);
    }
    coo_free(&x);
}

static void test_allocation_fails(void **state)
{
    use_ranks(state);
    const struct backend_options machine = {.problem.rank = 3};
    const struct cpals_options options = {.max_iterations = 3, .check_every = 2};
    struct coo x;
    border_rank_tensor(&x);
    assert_true(fail_every_allocation(&x, &machine, &options) > 30);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS_OF(test_noise_is_no_convergence, backend_host, 1),
        ON_RANKS_OF(test_noise_is_no_convergence, backend_host, 2),
        ON_RANKS_OF(test_noise_is_no_convergence, backend_host, 3),
        ON_RANKS_OF(test_noise_is_no_convergence, backend_cuda, 1),
        ON_RANKS_OF(test_noise_is_no_convergence, backend_cuda, 2),
        ON_RANKS(test_check_every),
        ON_RANKS(test_degenerate),
        ON_RANKS(test_sound),
        ON_RANKS(test_dead),
        ON_RANKS(test_fall),
        ON_RANKS(test_cancelling_weights),
        cmocka_unit_test(test_note),
        ON_RANKS_OF(test_allocation_fails, backend_host, 1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
