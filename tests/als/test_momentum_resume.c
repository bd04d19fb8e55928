/* An accelerated run that stops after any iteration goes on from its checkpoint as if it had never
 * stopped: on the host to the bit. */
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

#define ITERATIONS 24

static const uint64_t dims[] = {9, 8, 7};

/* Stops after `stop` iterations, and goes on with `other` ranks: to the same end, and at once to
 * where the run stopped. */
static void check_stop(const struct coo *x, const struct backend_options *options, int stop,
                       int other, const struct cpals_result *unstopped, const struct ktensor *whole)
{
    struct ktensor k, stopped;
    const char *path = scratch_path("checkpoint");
    const int ranks = under_test.ranks;
    const bool bits = under_test.kind == &backend_host && other == ranks;
    struct checkpoint_options saving = save_to(path, x, options);
    const struct cpals_options als = {.max_iterations = stop, .saving = &saving};
    struct cpals_result first = run_random(x, options, 3, &als, &stopped);
    assert_int_equal(first.saved, stop);
    under_test.ranks = other;
    struct cpals_result again = go_on_from(x, options, path, stop, &k);
    assert_true(bits ? again.fit == first.fit : fabs(again.fit - first.fit) < 1e-9);
    assert_int_equal(again.restarts, first.restarts);
    assert_near(&k, &stopped, bits ? 0 : 1e-6, bits ? 0 : 1e-6);
    ktensor_free(&k);
    struct cpals_result result = go_on_from(x, options, path, ITERATIONS, &k);
    assert_int_equal(result.iterations, ITERATIONS);
    assert_int_equal(result.restarts, unstopped->restarts);
    assert_true(bits ? result.fit == unstopped->fit : fabs(result.fit - unstopped->fit) < 1e-9);
    assert_near(&k, whole, bits ? 0 : 1e-6, bits ? 0 : 1e-6);
    under_test.ranks = ranks;
    ktensor_free(&k);
    ktensor_free(&stopped);
}

static void check_every_stop(const struct coo *x, const struct backend_options *options)
{
    struct ktensor whole;
    const struct cpals_options als = {.max_iterations = ITERATIONS};
    struct cpals_result unstopped = run_random(x, options, 3, &als, &whole);
    const int step = under_test.ranks > 1 ? 5 : 1; /* ranks meet slowly */
    for (int stop = 1; stop <= ITERATIONS; stop += step)
        check_stop(x, options, stop, under_test.ranks, &unstopped, &whole);
    check_stop(x, options, 9, 1, &unstopped, &whole);
    ktensor_free(&whole);
}

/* Plain sweeps, extrapolated ones, rejected ones and those after them. */
static void test_every_iteration(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    const struct cpals_options als = {.max_iterations = ITERATIONS};
    const struct backend_options options = {.problem.rank = 3,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    naive_random_coo(&x, SHAPE(3, dims), 100, 3, 0);
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_true(result.restarts > 0);
    ktensor_free(&k);
    check_every_stop(&x, &options);
    coo_free(&x);
}

static void test_rules(void **state)
{
    use_ranks(state);
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 300, 7, 0);
    check_every_stop(&x,
                     &(struct backend_options){.problem.rank = 3,
                                               .problem.acceleration = ACCELERATE_MOMENTUM,
                                               .problem.rules = {.ridge = {0.1, 0.1, 0.1},
                                                                 .nonneg = {true, false, true}}});
    check_every_stop(&x, &(struct backend_options){.problem.rank = 3,
                                                   .problem.acceleration = ACCELERATE_MOMENTUM,
                                                   .problem.rules = {.fixed = {false, true}}});
    coo_free(&x);
}

/* Without momentum the run goes on from the model, with momentum from one that had none. */
static void test_other_acceleration(void **state)
{
    use_ranks(state);
    struct coo x;
    const char *path = scratch_path("checkpoint");
    naive_random_coo(&x, SHAPE(3, dims), 400, 2, 0);
    for (int momentum = 0; momentum < 2; momentum++)
        for (int stop = 4; stop <= 20; stop += 4) {
            struct ktensor k;
            struct checkpoint c;
            struct backend_options options = {
                .problem.rank = 4,
                .problem.acceleration = momentum == 1 ? ACCELERATE_MOMENTUM : ACCELERATE_OFF};
            struct checkpoint_options saving = save_to(path, &x, &options);
            const struct cpals_options als = {.max_iterations = stop, .saving = &saving};
            double fit = run_random(&x, &options, 3, &als, &k).fit;
            ktensor_free(&k);
            read_checkpoint(&c, path);
            assert_true(c.about.has_momentum == (momentum == 1));
            bool rejected = c.about.momentum.rejected;
            checkpoint_close(&c);
            options.problem.acceleration = momentum == 1 ? ACCELERATE_OFF : ACCELERATE_MOMENTUM;
            if (!rejected) {
                struct cpals_result at_once = go_on_from(&x, &options, path, stop, &k);
                assert_true(at_once.fit == fit);
                assert_true(fabsl(naive_fit(&x, &k) - (long double)fit) < 1e-11L);
                ktensor_free(&k);
            }
            struct cpals_result later = go_on_from(&x, &options, path, stop + 8, &k);
            assert_true(later.fit > fit - 1e-12);
            assert_true(fabsl(naive_fit(&x, &k) - (long double)later.fit) < 1e-11L);
            ktensor_free(&k);
        }
    coo_free(&x);
}

/* Wherever memory runs out, the run ends or goes on without that checkpoint. */
static void test_failing_allocations(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    int ended = 0, went_on = 0;
    const struct backend_options options = {
        .problem.rank = 2, .problem.acceleration = ACCELERATE_MOMENTUM, .host_memory = 1 << 28};
    naive_random_coo(&x, SHAPE(3, dims), 100, 1, 0);
    struct checkpoint_options saving = save_to(scratch_path("checkpoint"), &x, &options);
    saving.iterations = 3;
    const struct cpals_options als = {.max_iterations = 9, .saving = &saving};
    double fit = run_random(&x, &options, 3, &als, &k).fit;
    for (long i = 0, fired = 1; fired; i += 3) {
        struct error error = {0};
        struct cpals_result result;
        ktensor_randomise(&k, KTENSOR_RANDOM, 3);
        memory_hook_set(i);
        enum status status = run_from(&x, &k, &options, &als, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        ended += status != STATUS_OK;
        went_on += status == STATUS_OK && fired;
        assert_true(status == STATUS_OK ? result.fit == fit : status == STATUS_MEMORY);
    }
    assert_true(ended > 0 && went_on > 0);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_FOLDER(test_every_iteration), IN_FOLDER(test_rules),
                                       IN_FOLDER(test_other_acceleration),
                                       IN_FOLDER_OF(test_failing_allocations, backend_host, 1),
                                       IN_FOLDER_OF(test_failing_allocations, backend_host, 2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
