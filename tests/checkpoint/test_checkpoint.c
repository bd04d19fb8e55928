/* Checkpoint files: what is written is read, and those of another run are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "support/checkpoint_examples.h"

static void test_round_trip(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++)
        for (uint64_t rank = 1; rank <= 5; rank += 2)
            for (uint64_t parts = 1; parts <= 9; parts += 4) {
                struct example e;
                example_create(&e, order, rank);
                assert_reads(write_example(&e, parts), &e);
                example_extrapolate(&e);
                assert_reads(write_example(&e, parts), &e);
                example_free(&e);
            }
}

/* More rows than one piece has. */
static void test_many_pieces(void **state)
{
    (void)state;
    struct example e;
    struct error error = {0};
    struct checkpoint c;
    example_create(&e, 3, 64);
    ktensor_free(&e.model[CHECKPOINT_STATE].rows);
    e.about.tensor.shape = shape_of(1, (uint64_t[]){100000});
    e.about.problem.rules = (struct mode_rules){.ridge = {0.5}};
    assert_int_equal(
        ktensor_create(&e.model[CHECKPOINT_STATE].rows, &e.about.tensor.shape, 64, &error),
        STATUS_OK);
    ktensor_randomise(&e.model[CHECKPOINT_STATE].rows, KTENSOR_NORMAL, 5);
    const char *path = write_example(&e, 2);
    assert_reads(path, &e);
    for (int share = 0; share < 3; share++) {
        assert_int_equal(checkpoint_open(&c, path, share, 3, &error), STATUS_OK);
        checkpoint_close(&c);
    }
    example_free(&e);
}

static void test_another_run(void **state)
{
    (void)state;
    struct example e;
    struct checkpoint c;
    struct error error = {0};
    example_create(&e, 3, 2);
    assert_int_equal(checkpoint_open(&c, write_example(&e, 1), 0, 1, &error), STATUS_OK);
    const struct shape *s = &e.about.tensor.shape;
    struct problem other = e.about.problem;
    assert_int_equal(checkpoint_check_run(&c, &other, &error), STATUS_OK);
    assert_int_equal(checkpoint_check_shape(&c, s, 300, &error), STATUS_OK);
    assert_int_equal(checkpoint_check_hash(&c, e.about.tensor.hash, &error), STATUS_OK);
#define REFUSES(call, why)                                                                         \
    do {                                                                                           \
        error = (struct error){0};                                                                 \
        assert_int_equal(call, STATUS_INPUT);                                                      \
        assert_non_null(strstr(error.message, why));                                               \
    } while (0)
    other.rank = 3;
    REFUSES(checkpoint_check_run(&c, &other, &error), "of rank 2, but -r is 3");
    other = e.about.problem;
    other.precision = POLICY_DOUBLE;
    REFUSES(checkpoint_check_run(&c, &other, &error),
            "with --precision single, but this run has double");
    other = e.about.problem;
    other.rules.nonneg[2] = true;
    REFUSES(checkpoint_check_run(&c, &other, &error),
            "other modes in --nonneg: 1, but this run has 1,3");
    other = e.about.problem;
    other.rules.fixed[1] = false;
    REFUSES(checkpoint_check_run(&c, &other, &error),
            "other modes in --fix: 2, but this run has none");
    REFUSES(checkpoint_check_shape(&c, SHAPE(2, example_dims), 300, &error), "3 modes, this one 2");
    REFUSES(checkpoint_check_shape(&c, s, 301, &error), "300 nonzeros, this one 301");
    const struct shape longer = {3, {7, 1, 51}};
    REFUSES(checkpoint_check_shape(&c, &longer, 300, &error), "mode 3 has length 50");
    REFUSES(checkpoint_check_hash(&c, 1, &error), "coordinates or values differ");
    checkpoint_close(&c);
    example_free(&e);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct example e;
    example_create(&e, 3, 2);
    const char *path = write_example(&e, 1);
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        memory_hook_set(i);
        enum status status = write_parts(&e, path, 2, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        failures += (int)fired;
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_reads(path, &e);
        assert_int_equal(scratch_entries(0), 1);
    }
    assert_true(failures > 3);
    example_free(&e);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_many_pieces),
        IN_FOLDER(test_another_run),
        IN_FOLDER(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
