/* Which levels runs reach, and what their medians and counts are, against numbers worked out by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "bench/to_fit_show.h"

#define STARTS 2

static const struct way two[] = {{"one", .precision = POLICY_DOUBLE},
                                 {"other", .precision = POLICY_SINGLE}};

/* A run with these fits, an iteration each `step` seconds. */
static void add_run(struct to_fit_run *run, uint64_t seed, const double *fit, int count,
                    double step)
{
    struct error error = {0};
    *run = (struct to_fit_run){.seed = seed,
                               .iterations = count,
                               .seconds = count * step,
                               .fit = fit[count - 1],
                               .stop = CPALS_ITERATIONS};
    fit_trace_begin(&run->trace, 1);
    for (int i = 0; i < count; i++) {
        assert_int_equal(fit_trace_note(&run->trace, fit[i], 0, &error), STATUS_OK);
        run->trace.seconds[i] = (i + 1) * step;
    }
}

/* From the first seed both ways come to 0.5, from the second one comes to 0.6, the other to 0.5995.
 */
static void make(struct to_fit *t)
{
    static const double first[] = {0.1, 0.4995, 0.49995, 0.5}, quick[] = {0.49995, 0.4999999};
    static const double second[] = {0.5, 0.59915, 0.6}, low[] = {0.5985, 0.5991, 0.5995};
    *t = (struct to_fit){.shape = {2, {3, 4}}, .nnz = 7, .starts = STARTS, .ways = 2};
    t->best = calloc(STARTS, sizeof *t->best);
    t->way = calloc(2, sizeof *t->way);
    assert_true(t->best && t->way);
    for (int w = 0; w < 2; w++) {
        t->way[w].way = &two[w];
        t->way[w].built.plan.request.tensor.shape = t->shape;
        t->way[w].run = calloc(STARTS, sizeof *t->way[w].run);
        assert_non_null(t->way[w].run);
    }
    add_run(&t->way[0].run[0], 1, first, 4, 1);
    add_run(&t->way[0].run[1], 2, second, 3, 1);
    add_run(&t->way[1].run[0], 1, quick, 2, 0.25);
    add_run(&t->way[1].run[1], 2, low, 3, 0.25);
}

static void assert_reached(const struct to_fit_run *run, int a, int b, int c, double step)
{
    const int expected[] = {a, b, c};
    for (int level = 0; level < TO_FIT_LEVELS; level++) {
        assert_int_equal(run->reached[level], expected[level]);
        assert_true(expected[level] ? run->reached_seconds[level] == expected[level] * step
                                    : isinf(run->reached_seconds[level]));
    }
}

static void test_levels(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    make(&t);
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    assert_true(t.best[0] == 0.5 && t.best[1] == 0.6);
    assert_reached(&t.way[0].run[0], 2, 3, 4, 1);
    assert_reached(&t.way[0].run[1], 2, 3, 3, 1);
    assert_reached(&t.way[1].run[0], 1, 1, 2, 0.25);
    assert_reached(&t.way[1].run[1], 2, 0, 0, 0.25);
    to_fit_free(&t);
}

/* Half of the runs never: the median is halfway to infinity. */
static void test_summaries(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    make(&t);
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    const struct to_fit_summary *one = &t.way[0].summary, *other = &t.way[1].summary;
    assert_true(one->iterations[0] == 2 && one->iterations[1] == 3 && one->iterations[2] == 3.5);
    assert_true(one->seconds[0] == 2 && one->seconds[1] == 3 && one->seconds[2] == 3.5);
    assert_true(other->iterations[0] == 1.5 && other->seconds[0] == 0.375);
    assert_true(isinf(other->iterations[1]) && isinf(other->seconds[2]));
    for (int level = 0; level < TO_FIT_LEVELS; level++) {
        assert_int_equal(one->never[level], 0);
        assert_int_equal(other->never[level], level > 0);
    }
    for (int g = 0; g < TO_FIT_GAPS; g++)
        assert_true(one->worse[g] == 0 && one->better[g] == 0 && other->better[g] == 0);
    assert_true(other->worse[0] == 0 && other->worse[1] == 1); /* by 5e-4 */
    t.way[1].run[0].fit = 0.5 + 2e-3;
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    assert_true(other->better[0] == 1 && other->better[1] == 1 && t.best[0] == 0.502);
    assert_int_equal(one->never[0], 1); /* the best is another now */
    to_fit_free(&t);
}

/* All of an odd number of runs count: the median is the middle one. */
static void test_odd(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    make(&t);
    struct to_fit_run second = t.way[0].run[1];
    t.starts = 1;
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    assert_true(t.way[0].summary.iterations[0] == 2 && t.way[1].summary.seconds[2] == 0.5);
    t.starts = STARTS;
    assert_true(t.way[0].run[1].trace.fit == second.trace.fit);
    to_fit_free(&t);
}

/* Fits that are known to be off say nothing of levels that are finer. */
static void test_fits_that_are_off(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    make(&t);
    t.way[1].run[0].off_by = 1.5e-4;
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    assert_reached(&t.way[1].run[0], 1, 0, 0, 0.25);
    to_fit_free(&t);
}

static void test_table(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    char *text = NULL;
    size_t size;
    make(&t);
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    t.ranks = 6;
    t.parts[0] = 3;
    t.parts[1] = 2;
    FILE *stream = open_memstream(&text, &size);
    to_fit_table(stream, &t);
    fclose(stream);
    assert_string_equal(
        text,
        "\nMedians of 2 starts until the fit is near the best of all ways from the same start, "
        "and\nhow many runs never came that near:\n\n"
        "                         within 1e-3       within 1e-4       within 1e-6    never within\n"
        "way                   seconds  iter.    seconds  iter.    seconds  iter.    1e-3 1e-4 "
        "1e-6\n"
        "one                    2.0000      2     3.0000      3     3.5000    3.5       0    0    "
        "0\n"
        "other                  0.3750    1.5      never  never      never  never       0    1    "
        "1\n"
        "\nRuns whose last fit differs from that of \"one\" from the same start:\n\n"
        "                        worse by   better by\n"
        "way                  1e-3 1e-4   1e-3 1e-4\n"
        "other                   0    1      0    0\n"
        "\n6 ranks, grid 3x2\n");
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_true(strchr(line, '\n') - line <= 100);
    free(text);
    to_fit_free(&t);
}

/* What was never reached is null. */
static void test_record(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"nonzeros\": 7",
        "\"starts\": 2",
        "\"tolerance\": 0.25",
        "\"levels\": [0.001, 0.0001, 1e-6]",
        "\"best\": [0.5, 0.6]",
        "\"name\": \"other\"",
        "\"precision\": \"single\"",
        "\"median_seconds\": [0.375, null, null]",
        "\"reached_seconds\": [0.5, null, null]",
        "\"stop\": \"iteration_limit\"",
        "\"grid\": [3, 2]",
    };
    struct to_fit t;
    struct error error = {0};
    struct json j;
    const struct to_fit_request request = {
        .options = {.problem.rank = 2}, .starts = 2, .tolerance = 0.25};
    make(&t);
    assert_int_equal(to_fit_reach(&t, &error), STATUS_OK);
    t.ranks = 6;
    t.parts[0] = 3;
    t.parts[1] = 2;
    json_begin(&j, &error);
    json_put_object(&j, NULL);
    to_fit_record(&j, "x", &request, &t);
    json_end(&j);
    assert_int_equal(error.status, STATUS_OK);
    char *text = calloc(j.used + 1, 1);
    assert_non_null(text);
    memcpy(text, j.text, j.used);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("no %s in %s", parts[i], text);
    free(text);
    json_free(&j);
    to_fit_free(&t);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct to_fit t;
    struct error error = {0};
    make(&t);
    memory_hook_set(0);
    assert_int_equal(to_fit_reach(&t, &error), STATUS_MEMORY);
    memory_hook_set(-1);
    to_fit_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),    cmocka_unit_test(test_summaries),
        cmocka_unit_test(test_odd),       cmocka_unit_test(test_fits_that_are_off),
        cmocka_unit_test(test_table),     cmocka_unit_test(test_record),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("to_fit_reach", tests, NULL, NULL);
}
