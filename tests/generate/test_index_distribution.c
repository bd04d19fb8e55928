/* The distribution of a mode's indices: every index once, ranges that have their share of it, draws
 * that follow it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>

#include <cmocka.h>

#include "generate/generate.h"
#include "generate/index_distribution.h"

static struct index_distribution create(uint64_t length, double exponent)
{
    struct error error = {0};
    struct index_distribution d;
    if (index_distribution_create(&d, length, exponent, random_stream_at(1, 2, 3), &error) !=
        STATUS_OK)
        fail_msg("%s", error.message);
    return d;
}

static const struct {
    uint64_t length;
    double exponent;
} cases[] = {{1, 1},       {2, 0.5},     {77, 1.3},     {4096, 1},           {4097, 1},
             {100000, 1},  {100000, 3},  {65537, 0.7},  {1 << 20, 0.9},      {(1 << 20) + 1, 0.4},
             {3000000, 8}, {3000000, 0}, {50000, -1.0}, {MAX_LENGTH, 0.999}, {MAX_LENGTH, 1.5}};
#define CASES (sizeof cases / sizeof cases[0])

/* Every turn of every interval but the last, shorter one has an index of its own. */
static void test_places(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        if (cases[k].length > 2000000 || cases[k].exponent <= 0)
            continue;
        struct index_distribution d = create(cases[k].length, cases[k].exponent);
        uint64_t turns = UINT64_C(1) << d.interval_bits, filled = 0;
        unsigned char *seen = calloc(d.length, 1);
        assert_non_null(seen);
        for (uint64_t interval = 0; interval < d.intervals; interval++) {
            for (uint64_t turn = 0; turn < turns; turn++) {
                uint64_t index = index_distribution_index(&d, interval, turn);
                assert_true(index < d.length && index >> d.interval_bits == interval);
                filled += seen[index] == 0;
                seen[index] = 1;
            }
        }
        assert_int_equal(filled, d.length);
        free(seen);
        index_distribution_free(&d);
    }
}

static void test_shares_sum_up(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        struct index_distribution d = create(cases[k].length, cases[k].exponent);
        double sum = 0;
        uint64_t step = UINT64_C(1) << d.interval_bits;
        step = d.length / step > 5000 ? d.length / 1000 : step; /* where there are no intervals */
        for (uint64_t begin = 0; begin < d.length; begin += step) {
            uint64_t end = begin + step < d.length ? begin + step : d.length;
            double share = index_distribution_mass(&d, begin, end);
            assert_true(share > 0);
            sum += share;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(fabs(index_distribution_mass(&d, 0, d.length) - 1) < 1e-9);
        index_distribution_free(&d);
    }
}

/* Draws from the whole fall into a range as often as its share says, and there on the same indices
 * as draws from the range; the shares that draws report are those of their indices. */
static void test_draws(void **state)
{
    (void)state;
    enum { DRAWS = 400000 };
    static const double exponents[] = {0.6, 1, 2.5};
    for (int k = 0; k < 3; k++) {
        struct index_distribution d = create(300001, exponents[k]);
        static struct index_range whole, part;
        uint64_t interval = UINT64_C(1) << d.interval_bits, begin = 3 * interval,
                 end = 300 * interval;
        double own, inside = 0, inverse = 0, expected = index_distribution_mass(&d, begin, end);
        double lower_whole = 0, lower_part = 0;
        whole = part = (struct index_range){0};
        index_range_create(&whole, &d, 0, d.length);
        index_range_create(&part, &d, begin, end);
        struct random_stream stream = random_stream_at(5, 6, 7);
        for (int i = 0; i < DRAWS; i++) {
            uint64_t index = index_range_draw(&whole, &stream, &own);
            assert_true(index < d.length);
            inverse += 1 / own;
            if (index >= begin && index < end) {
                inside++;
                lower_whole += index % interval < interval / 3;
            }
            index = index_range_draw(&part, &stream, &own);
            assert_true(index >= begin && index < end);
            lower_part += index % interval < interval / 3;
        }
        double deviation = 5 / sqrt(DRAWS * expected);
        assert_true(fabs(inside / DRAWS / expected - 1) < deviation);
        assert_true(fabs(lower_whole / inside - lower_part / DRAWS) < deviation);
        if (exponents[k] < 1) /* the mean of 1 / share is the number of indices */
            assert_true(fabs(inverse / DRAWS / (double)d.length - 1) < 0.02);
        index_distribution_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_shares_sum_up),
        cmocka_unit_test(test_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
