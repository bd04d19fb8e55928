/* Runs that begin in single precision and go on in double end as runs in double do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/checkpoint_runs.h"

static const volatile sig_atomic_t at_once = 1;

/* Goes on from the checkpoint at `path`, as *als says; the caller frees *k. */
static struct cpals_result go_on(const struct coo *x, const struct backend_options *options,
                                 const struct cpals_options *als, const char *path,
                                 struct ktensor *k)
{
    struct error error = {0};
    struct checkpoint c;
    struct cpals_result result;
    struct cpals_options from = *als;
    if (checkpoint_open(&c, path, 0, 1, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(c.about.problem.precision, POLICY_AUTO);
    assert_int_equal(c.model[CHECKPOINT_STATE].carried.precision, c.about.factors);
    copy_model(k, &c.model[CHECKPOINT_STATE].rows);
    from.resume = &c;
    if (run_from(x, k, options, &from, &result, &error) != STATUS_OK)
        fail_msg("%d ranks: %s", under_test.ranks, error.message);
    checkpoint_close(&c);
    return result;
}

/* A run that is interrupted after each iteration, and goes on from its checkpoint: at the switch it
 * goes on in double precision from the beginning, too (*in_double). */
static struct cpals_result run_in_steps(const struct coo *x, const struct backend_options *options,
                                        const struct cpals_options *als, struct ktensor *k,
                                        struct cpals_result *in_double)
{
    const char *path = scratch_path("checkpoint");
    const struct checkpoint_options saving = save_to(path, x, options);
    struct cpals_options step = *als;
    step.saving = &saving;
    step.interrupted = &at_once;
    struct cpals_result result = run_random(x, options, 3, &step, k);
    bool switched = false;
    for (; result.stop == CPALS_INTERRUPTED && result.iterations < als->max_iterations;) {
        struct backend_options all_double = *options;
        all_double.problem.precision = POLICY_DOUBLE;
        ktensor_free(k);
        if (!switched && result.single_iterations < result.iterations) {
            switched = true;
            *in_double = go_on(x, &all_double, als, path, k);
            ktensor_free(k);
        }
        result = go_on(x, options, &step, path, k);
    }
    assert_true(switched);
    return result;
}

/* In steps, and in double precision from the switch on, a run ends alike: on the host in the same
 * bits. A GPU sums floats in another order each time, until the switch. */
static void check_end(const struct coo *x, const struct backend_options *options,
                      const struct cpals_options *als)
{
    struct ktensor whole, k;
    struct cpals_result in_double = {0};
    bool bits = under_test.kind == &backend_host;
    struct cpals_result result = run_random(x, options, 3, als, &whole);
    assert_true(result.single_iterations > 1);
    assert_true(result.iterations > result.single_iterations);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    if (under_test.kind->devices && under_test.ranks > 1) { /* GPUs meet slowly */
        ktensor_free(&whole);
        return;
    }
    struct cpals_result steps = run_in_steps(x, options, als, &k, &in_double);
    assert_int_equal(steps.single_iterations, result.single_iterations);
    assert_int_equal(steps.iterations, result.iterations);
    assert_true(bits ? steps.fit == result.fit : fabs(steps.fit - result.fit) < 1e-5);
    assert_true(bits ? in_double.fit == steps.fit : fabs(in_double.fit - steps.fit) < 1e-9);
    if (bits)
        assert_near(&k, &whole, 0, 0);
    ktensor_free(&k);
    ktensor_free(&whole);
}

static void make_tensor(struct coo *x)
{
    naive_random_coo(x, &(struct shape){3, {30, 25, 40}}, 6000, 5, 1);
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = fabs(x->value[i]);
}

static void test_end(void **state)
{
    use_ranks(state);
    struct coo x;
    make_tensor(&x);
    const struct cpals_options als = {.max_iterations = 60, .tolerance = 1e-4};
    check_end(&x, &(struct backend_options){.problem.rank = 4, .problem.precision = POLICY_AUTO},
              &als);
    check_end(&x,
              &(struct backend_options){.problem.rank = 3,
                                        .problem.precision = POLICY_AUTO,
                                        .problem.rules = same_ridge(0.5)},
              &als);
    coo_free(&x);
}

static void test_rules(void **state)
{
    use_ranks(state);
    struct coo x;
    make_tensor(&x);
    const struct cpals_options als = {.max_iterations = 60, .tolerance = 1e-4};
    check_end(&x,
              &(struct backend_options){
                  .problem.rank = 3,
                  .problem.precision = POLICY_AUTO,
                  .problem.rules = {.nonneg = {true, false, true}, .fixed = {false, false, false}}},
              &als);
    coo_free(&x);
}

/* Momentum starts again at the switch. */
static void test_momentum(void **state)
{
    use_ranks(state);
    struct coo x;
    make_tensor(&x);
    const struct cpals_options als = {.max_iterations = 100, .tolerance = 1e-5};
    check_end(&x,
              &(struct backend_options){.problem.rank = 4,
                                        .problem.precision = POLICY_AUTO,
                                        .problem.acceleration = ACCELERATE_MOMENTUM},
              &als);
    check_end(&x,
              &(struct backend_options){.problem.rank = 3,
                                        .problem.precision = POLICY_AUTO,
                                        .problem.acceleration = ACCELERATE_MOMENTUM,
                                        .problem.rules = {.nonneg = {true, false, true}}},
              &als);
    coo_free(&x);
}

/* A run that goes on after a rejected sweep, in double precision at once, begins with the model. */
static void test_rejected(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    const char *path = scratch_path("checkpoint");
    const struct backend_options options = {.problem.rank = 3,
                                            .problem.precision = POLICY_AUTO,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    if (under_test.kind->devices && under_test.ranks > 1)
        skip(); /* GPUs meet slowly */
    naive_random_coo(&x, &(struct shape){3, {9, 8, 7}}, 100, 9, 0);
    const struct checkpoint_options saving = save_to(path, &x, &options);
    const struct cpals_options step = {
        .max_iterations = 60, .saving = &saving, .interrupted = &at_once};
    int restarts = 0, rejected = 0;
    struct cpals_result result = run_random(&x, &options, 3, &step, &k);
    while (result.iterations == result.single_iterations) {
        ktensor_free(&k);
        if (result.restarts > restarts) {
            const struct cpals_options last = {.max_iterations = result.iterations + 1};
            struct cpals_result end = go_on(&x, &options, &last, path, &k);
            assert_int_equal(end.iterations, result.iterations + 1);
            assert_int_equal(end.single_iterations, result.iterations);
            assert_true(end.fit > result.fit - 1e-6);
            assert_true(fabsl(naive_fit(&x, &k) - (long double)end.fit) < 1e-9L);
            ktensor_free(&k);
            rejected++;
        }
        restarts = result.restarts;
        result = go_on(&x, &options, &step, path, &k);
    }
    assert_true(rejected > 0 || under_test.kind != &backend_host);
    ktensor_free(&k);
    coo_free(&x);
}

/* Small changes in single precision stop nothing: a tolerance below what floats resolve is reached
 * in double precision. */
static void test_small_tolerance(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    make_tensor(&x);
    const struct backend_options options = {.problem.rank = 2, .problem.precision = POLICY_AUTO};
    const struct cpals_options als = {
        .max_iterations = 3000, .tolerance = 1e-8, .check_every = 3000};
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_true(result.single_iterations > 1);
    assert_true(result.iterations >= result.single_iterations + 2);
    assert_true(result.trust.error < 1e-9);
    ktensor_free(&k);
    coo_free(&x);
}

/* The last iteration that the limit allows is double; with a large tolerance two are, since the
 * first one's change is that from single precision. */
static void test_limits(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    make_tensor(&x);
    const struct backend_options options = {.problem.rank = 2, .problem.precision = POLICY_AUTO};
    for (int most = 1; most <= 10; most++) /* momentum begins with the sixth */
        for (int momentum = 0; momentum < 2; momentum++) {
            const struct cpals_options als = {.max_iterations = most};
            struct backend_options of = options;
            of.problem.acceleration = momentum == 1 ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
            struct cpals_result result = run_random(&x, &of, 3, &als, &k);
            assert_int_equal(result.iterations, most);
            assert_true(result.single_iterations == most - 1 || most > 3);
            assert_true(result.single_iterations < most);
            ktensor_free(&k);
        }
    const struct cpals_options als = {.max_iterations = 50, .tolerance = 10};
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_int_equal(result.single_iterations, 2);
    assert_int_equal(result.iterations, 4);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    ktensor_free(&k);
    coo_free(&x);
}

/* Each run on a backend begins in single precision, in whatever state the previous one ended. */
static void test_again(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor first, second;
    struct backend b;
    struct cpals_result result[2];
    make_tensor(&x);
    const struct backend_options options = {.problem.rank = 3, .problem.precision = POLICY_AUTO};
    const struct cpals_options als = {
        .max_iterations = 40, .tolerance = 1e-4, .core_consistency = true};
    assert_int_equal(ktensor_create(&first, &x.shape, 3, &error), STATUS_OK);
    ktensor_randomise(&first, KTENSOR_RANDOM, 3);
    copy_model(&second, &first);
    assert_int_equal(backend_open(&b, under_test.kind, &x, &options, NULL, &error), STATUS_OK);
    assert_int_equal(run_als(&b, &first, &als, &result[0], &error), STATUS_OK);
    assert_int_equal(b.precision, PRECISION_DOUBLE);
    assert_int_equal(run_als(&b, &second, &als, &result[1], &error), STATUS_OK);
    assert_true(result[0].single_iterations > 1);
    assert_true(result[1].single_iterations > 1);
    assert_true(fabs(result[0].fit - result[1].fit) < 1e-5);
    if (under_test.kind == &backend_host)
        assert_near(&first, &second, 0, 0);
    backend_close(&b);
    ktensor_free(&first);
    ktensor_free(&second);
    coo_free(&x);
}

/* A model of rank 4 in all cells, with more components than its modes are long: fits near one, of
 * which single precision has few digits. */
static void make_near_one(struct coo *x)
{
    static const uint64_t dims[] = {10, 8, 12};
    struct error error = {0};
    uint64_t seed = 4;
    double a[3][12][4];
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < dims[n]; i++)
            for (int r = 0; r < 4; r++)
                a[n][i][r] = (double)(naive_random(&seed) % 9);
    assert_int_equal(coo_create(x, &(struct shape){3, {10, 8, 12}}, 960, &error), STATUS_OK);
    for (uint64_t c = 0; c < x->nnz; c++) {
        const uint64_t at[] = {c / 96, c / 12 % 8, c % 12};
        x->value[c] = 0;
        for (int r = 0; r < 4; r++)
            x->value[c] += a[0][at[0]][r] * a[1][at[1]][r] * a[2][at[2]][r];
        for (int n = 0; n < 3; n++)
            x->index[n][c] = (uint32_t)at[n];
    }
}

/* A fit that is less after the first iteration in double precision than after the last one in
 * single has fallen, and the result says so. */
static void test_fall_is_told(void **state)
{
    use_ranks(state);
    struct coo x;
    int fell = 0;
    make_near_one(&x);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fit_trace trace = {0};
        struct ktensor k;
        const struct backend_options options = {.problem.rank = 20,
                                                .problem.precision = POLICY_AUTO};
        const struct cpals_options als = {.max_iterations = 40, .tolerance = 1e-5, .trace = &trace};
        struct cpals_result result = run_random(&x, &options, seed, &als, &k);
        const size_t first = (size_t)result.single_iterations;
        if (trace.count > first && first > 0) {
            double fall = trace.fit[first - 1] - trace.fit[first];
            fell += fall > 1e-6;
            assert_true(fall < 1e-6 || (result.trust.falls > 0 && result.trust.fall >= fall));
        }
        assert_true(result.fit > 0.99);
        fit_trace_free(&trace);
        ktensor_free(&k);
    }
    assert_true(fell > 0 || under_test.kind != &backend_host);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {10, 12, 14}}, 300, 1, 0);
    const struct backend_options options = {
        .problem.rank = 2, .problem.precision = POLICY_AUTO, .host_memory = 1 << 28};
    const struct cpals_options als = {.max_iterations = 3};
    assert_true(fail_every_allocation(&x, &options, &als) > 10);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_FOLDER(test_end),
                                       IN_FOLDER(test_rules),
                                       IN_FOLDER(test_momentum),
                                       IN_FOLDER(test_rejected),
                                       ON_RANKS(test_small_tolerance),
                                       ON_RANKS(test_limits),
                                       ON_RANKS_OF(test_again, backend_host, 1),
                                       ON_RANKS_OF(test_again, backend_cuda, 1),
                                       ON_RANKS_OF(test_fall_is_told, backend_host, 1),
                                       ON_RANKS_OF(test_fall_is_told, backend_cuda, 1),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 1),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
