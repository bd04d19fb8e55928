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
    struct index_distribution law;
    if (index_distribution_create(&law, length, exponent, random_stream_at(1, 2, 3), &error) !=
        STATUS_OK)
        fail_msg("%s", error.message);
    return law;
}

static const struct {
    uint64_t length;
    double exponent;
} laws[] = {{1, 1},       {2, 0.5},     {77, 1.3},     {4096, 1},           {4097, 1},
            {100000, 1},  {100000, 3},  {65537, 0.7},  {1 << 20, 0.9},      {(1 << 20) + 1, 0.4},
            {3000000, 8}, {3000000, 0}, {50000, -1.0}, {MAX_LENGTH, 0.999}, {MAX_LENGTH, 1.5}};
#define LAWS (sizeof laws / sizeof laws[0])

/* Every turn of every block but the last, shorter one has an index of its own. */
static void test_places(void **state)
{
    (void)state;
    for (size_t k = 0; k < LAWS; k++) {
        if (laws[k].length > 2000000 || laws[k].exponent <= 0)
            continue;
        struct index_distribution law = create(laws[k].length, laws[k].exponent);
        uint64_t turns = UINT64_C(1) << law.block_bits, filled = 0;
        unsigned char *seen = calloc(law.length, 1);
        assert_non_null(seen);
        for (uint64_t block = 0; block < law.blocks; block++) {
            for (uint64_t turn = 0; turn < turns; turn++) {
                uint64_t index = index_distribution_place(&law, block, turn);
                assert_true(index < law.length && index >> law.block_bits == block);
                filled += seen[index] == 0;
                seen[index] = 1;
            }
        }
        assert_int_equal(filled, law.length);
        free(seen);
        index_distribution_free(&law);
    }
}

static void test_shares_sum_up(void **state)
{
    (void)state;
    for (size_t k = 0; k < LAWS; k++) {
        struct index_distribution law = create(laws[k].length, laws[k].exponent);
        double sum = 0;
        uint64_t step = UINT64_C(1) << law.block_bits;
        step = law.length / step > 5000 ? law.length / 1000 : step; /* where there are no blocks */
        for (uint64_t begin = 0; begin < law.length; begin += step) {
            uint64_t end = begin + step < law.length ? begin + step : law.length;
            double share = index_distribution_share(&law, begin, end);
            assert_true(share > 0);
            sum += share;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(fabs(index_distribution_share(&law, 0, law.length) - 1) < 1e-9);
        index_distribution_free(&law);
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
        struct index_distribution law = create(300001, exponents[k]);
        static struct index_range whole, part;
        uint64_t block = UINT64_C(1) << law.block_bits, begin = 3 * block, end = 300 * block;
        double own, inside = 0, inverse = 0, expected = index_distribution_share(&law, begin, end);
        double lower_whole = 0, lower_part = 0;
        whole = part = (struct index_range){0};
        index_range_create(&whole, &law, 0, law.length);
        index_range_create(&part, &law, begin, end);
        struct random_stream stream = random_stream_at(5, 6, 7);
        for (int i = 0; i < DRAWS; i++) {
            uint64_t index = index_range_draw(&whole, &stream, &own);
            assert_true(index < law.length);
            inverse += 1 / own;
            if (index >= begin && index < end) {
                inside++;
                lower_whole += index % block < block / 3;
            }
            index = index_range_draw(&part, &stream, &own);
            assert_true(index >= begin && index < end);
            lower_part += index % block < block / 3;
        }
        double deviation = 5 / sqrt(DRAWS * expected);
        assert_true(fabs(inside / DRAWS / expected - 1) < deviation);
        assert_true(fabs(lower_whole / inside - lower_part / DRAWS) < deviation);
        if (exponents[k] < 1) /* the mean of 1 / share is the number of indices */
            assert_true(fabs(inverse / DRAWS / (double)law.length - 1) < 0.02);
        index_distribution_free(&law);
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
