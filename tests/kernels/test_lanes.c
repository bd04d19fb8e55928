/* Threads of a kernel that take turns on the host: they compute what a GPU would, and what would
 * be wrong on a GPU fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "kernels/on_host/lane_examples.h"
#include "support/sanitized.h"

#define BLOCKS 7
#define WORK   20

static void test_sums(void **state)
{
    double sum[BLOCKS] = {0};
    const struct lane_example_args args = {.which = LANES_SUM, .out = sum};
    (void)state;
    assert_int_equal(lane_example_run(&args, BLOCKS), cudaSuccess);
    for (int b = 0; b < BLOCKS; b++)
        assert_true(sum[b] == LANE_EXAMPLE_THREADS * (LANE_EXAMPLE_THREADS - 1) / 2.0);
}

/* Several blocks take some of the work. */
static void test_work(void **state)
{
    double block[WORK];
    int taken[BLOCKS] = {0};
    uint32_t next = 0;
    const struct lane_example_args args = {
        .which = LANES_TAKE_WORK, .out = block, .next = &next, .work = WORK};
    (void)state;
    for (int k = 0; k < WORK; k++)
        block[k] = NAN;
    assert_int_equal(lane_example_run(&args, BLOCKS), cudaSuccess);
    for (int k = 0; k < WORK; k++) {
        assert_true(block[k] >= 0 && block[k] < BLOCKS);
        taken[(int)block[k]]++;
    }
    for (int b = 0; b < 3; b++)
        assert_true(taken[b] > 1);
}

static void test_unwritten_memory(void **state)
{
    double x[BLOCKS] = {0};
    const struct lane_example_args args = {.which = LANES_READ_UNWRITTEN, .out = x};
    (void)state;
    assert_int_equal(lane_example_run(&args, BLOCKS), cudaSuccess);
    for (int b = 0; b < BLOCKS; b++)
        assert_true(isnan(x[b]));
}

static void test_faults(void **state)
{
    /* The sanitizer of addresses ends the program where the last one writes. */
    const int faults = SANITIZED ? LANES_WRITE_BEYOND_END : LANES_WRITE_BEYOND_END + 1;
    (void)state;
    for (int which = LANES_WAIT_ELSEWHERE; which < faults; which++) {
        const struct lane_example_args args = {.which = (enum lane_example)which};
        assert_int_equal(lane_example_run(&args, BLOCKS), cudaErrorLaunchFailure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_unwritten_memory),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
