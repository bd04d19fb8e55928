#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/cpals.h"
#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "support/rank_runs.h"
#include "support/small_tensors.h"

static void test_growth(void **state)
{
    (void)state;
    struct fit_trace t = {0};
    struct error error = {0};
    for (int round = 0; round < 2; round++) {
        fit_trace_begin(&t, 7);
        assert_int_equal(t.count, 0);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(fit_trace_note(&t, i, 2 * i, &error), STATUS_OK);
        assert_int_equal(t.first, 7);
        assert_int_equal(t.count, 1000);
        for (size_t i = 0; i < 1000; i++) {
            assert_true(t.fit[i] == (double)i && t.holdout_error[i] == 2 * (double)i);
            assert_true(t.seconds[i] >= (i ? t.seconds[i - 1] : 0));
        }
        fit_trace_correct(&t, 0.25);
        assert_true(t.fit[999] == 0.25);
    }
    fit_trace_free(&t);
}

/* Of a long run every second, fourth, ... iteration is kept, evenly spread. */
static void test_long_runs(void **state)
{
    (void)state;
    struct fit_trace t = {0};
    struct error error = {0};
    fit_trace_begin(&t, 1);
    for (uint64_t i = 0; i < 5 * FIT_TRACE_MOST / 2; i++) {
        assert_int_equal(fit_trace_note(&t, (double)i, 2 * (double)i, &error), STATUS_OK);
        if (i == FIT_TRACE_MOST - 1)
            assert_true(t.every == 1 && t.count == FIT_TRACE_MOST);
        if (i == FIT_TRACE_MOST)
            assert_true(t.every == 2 && t.count == FIT_TRACE_MOST / 2 + 1);
    }
    assert_int_equal(t.every, 4);
    assert_int_equal(t.room, FIT_TRACE_MOST);
    assert_int_equal(t.count, 5 * FIT_TRACE_MOST / 8);
    for (size_t i = 0; i < t.count; i++)
        assert_true(t.fit[i] == 4.0 * (double)i && t.holdout_error[i] == 8.0 * (double)i);
    fit_trace_correct(&t, -1); /* the last iteration is not in the trace */
    assert_true(t.fit[t.count - 1] >= 0);
    fit_trace_note(&t, 7, 14, &error);
    fit_trace_correct(&t, -1);
    assert_true(t.fit[t.count - 1] == -1);
    fit_trace_free(&t);
}

static void test_no_trace(void **state)
{
    (void)state;
    struct error error = {0};
    fit_trace_begin(NULL, 1);
    assert_int_equal(fit_trace_note(NULL, 1, 2, &error), STATUS_OK);
    fit_trace_correct(NULL, 1);
    struct fit_trace t = {0};
    fit_trace_correct(&t, 1);
    assert_int_equal(t.count, 0);
    fit_trace_free(&t);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_trace t = {0};
        struct error error = {0};
        fit_trace_begin(&t, 1);
        memory_hook_set(k);
        assert_int_equal(fit_trace_note(&t, 1, 2, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        error = (struct error){0};
        fit_trace_begin(&t, 1);
        assert_int_equal(fit_trace_note(&t, 1, 2, &error), STATUS_OK);
        assert_int_equal(t.count, 1);
        fit_trace_free(&t);
    }
}

/* The trace has the fits that shorter runs end with. */
static void test_traces_of_runs(void **state)
{
    use_ranks(state);
    struct coo x;
    struct fit_trace trace = {0};
    const struct backend_options machine = {.problem.rank = 5};
    struct cpals_options als = {.max_iterations = 70, .check_every = 30, .trace = &trace};
    assert_int_equal(known_multiplication(&x, 2, &(struct error){0}), STATUS_OK);
    for (int runs = 0; runs < 2; runs++) { /* the second run forgets the first */
        struct ktensor k;
        struct cpals_result result = run_random(&x, &machine, 1, &als, &k);
        assert_int_equal(trace.first, 1);
        assert_int_equal(trace.count, 70);
        assert_true(trace.fit[69] == result.fit);
        ktensor_free(&k);
    }
    als = (struct cpals_options){.max_iterations = 4};
    for (; als.max_iterations <= 66; als.max_iterations += 31) {
        struct ktensor k;
        struct cpals_result result = run_random(&x, &machine, 1, &als, &k);
        assert_true(fabs(result.fit - trace.fit[als.max_iterations - 1]) < 1e-8);
        ktensor_free(&k);
    }
    fit_trace_free(&trace);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),   cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_no_trace), cmocka_unit_test(test_failing_allocations),
        ON_RANKS(test_traces_of_runs),
    };
    return cmocka_run_group_tests_name("fit_trace", tests, NULL, NULL);
}
