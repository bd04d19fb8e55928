/* The model of a sweep against sweeps that were measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/rank_rates.h"

static const struct rank_machine gpu = {.device = true, .one_host = true, .threads = 1};
static const struct rank_machine two_threads = {.one_host = true, .threads = 2};

static double seconds_per_nonzero(const struct shape *shape, uint64_t row_bytes,
                                  const struct rank_machine *machine)
{
    struct grid_request q = {.row_bytes = row_bytes};
    rank_rates(&q, shape, machine);
    return q.seconds_per_nonzero;
}

/* All MTTKRPs of a sweep, of data/bench/README.md, predicted within a factor of two. */
static void test_measured(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        double nnz, seconds;
        uint64_t row_bytes;
        const struct rank_machine *machine;
    } sweeps[] = {
        {{3, {12092, 9184, 28818}}, 76879419, 9.2e-3, 256, &gpu},            /* nell2       */
        {{3, {12092, 9184, 28818}}, 76879419, 4.67e-3, 128, &gpu},           /* single      */
        {{4, {6066, 5699, 244268, 1176}}, 54202099, 10.5e-3, 256, &gpu},     /* enron       */
        {{3, {23344784, 23344783, 166}}, 99546551, 25.9e-3, 256, &gpu},      /* fb-m        */
        {{3, {4821207, 1774269, 1805187}}, 1741.8e6, 349e-3, 256, &gpu},     /* amazon      */
        {{3, {8211298, 176962, 8116559}}, 4687e6, 1640e-3, 256, &gpu},       /* reddit      */
        {{3, {12092, 9184, 28818}}, 4997162, 53.5e-3, 256, &two_threads},    /* nell2-small */
        {{3, {530000, 1700000, 250000}}, 5000000, 114e-3, 256, &two_threads} /* tags        */
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        double predicted =
            sweeps[i].nnz *
            seconds_per_nonzero(&sweeps[i].shape, sweeps[i].row_bytes, sweeps[i].machine);
        assert_true(predicted < 2 * sweeps[i].seconds);
        assert_true(predicted > 0.5 * sweeps[i].seconds);
    }
}

/* More threads and narrower rows are faster; a GPU is faster than threads, and its links too. */
static void test_order_of_rates(void **state)
{
    (void)state;
    static const struct shape shape = {3, {530000, 1700000, 250000}}, vector = {1, {100}};
    const struct rank_machine four = {.one_host = true, .threads = 4};
    double two = seconds_per_nonzero(&shape, 256, &two_threads);
    assert_true(seconds_per_nonzero(&shape, 256, &four) == two / 2);
    assert_true(seconds_per_nonzero(&shape, 128, &two_threads) == two / 2);
    assert_true(seconds_per_nonzero(&shape, 256, &gpu) < two / 50);
    assert_true(seconds_per_nonzero(&vector, 256, &gpu) > 0);
    for (int device = 0; device < 2; device++) {
        struct rank_machine m = {.device = device, .one_host = true, .threads = 1};
        struct grid_request near = {.row_bytes = 256}, far = near;
        rank_rates(&near, &shape, &m);
        m.one_host = false;
        rank_rates(&far, &shape, &m);
        assert_true(near.bytes_per_second == (device ? 270e9 : 8e9));
        assert_true(far.bytes_per_second == (device ? 50e9 : 10e9));
        assert_true(near.seconds_per_collective == (device ? 30e-6 : 10e-6));
        assert_true(near.seconds_per_nonzero == far.seconds_per_nonzero);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_order_of_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
