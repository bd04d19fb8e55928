/* Which slices are in which part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "tensor/slice_parts.h"

#define SLICES 10000

static void test_in_turn(void **state)
{
    (void)state;
    for (int parts = 2; parts <= MOST_REPLICATES; parts += 7) {
        const struct slice_parts s = {.mode = 1, .parts = parts, .divisions = 1};
        for (uint64_t i = 0; i < 500; i++)
            assert_int_equal(slice_part(&s, 0, i), i % (uint64_t)parts);
    }
    const struct slice_parts halves = {.mode = 1, .parts = 2, .divisions = 1};
    assert_int_equal(slice_part(&halves, 0, UINT64_C(0x100000001)), 1);
}

/* Of N neighbours one is in each part; which one is as good as random, for each seed and each
 * division anew. The division after a seed is the first one of the next seed. */
static void test_at_random(void **state)
{
    (void)state;
    static const int numbers[] = {2, 3, 10};
    for (size_t c = 0; c < sizeof numbers / sizeof *numbers; c++) {
        const int parts = numbers[c], groups = SLICES / parts;
        const struct slice_parts a = {.mode = 1, .parts = parts, .divisions = 2, .seed = 1},
                                 b = {.mode = 1, .parts = parts, .divisions = 1, .seed = 2};
        const double mean = (double)groups / parts, deviation = sqrt(mean);
        int in[10][10] = {{0}}, same = 0, alike = 0;
        for (int group = 0; group < groups; group++) {
            int found = 0;
            for (int i = 0; i < parts; i++) {
                const uint64_t slice = (uint64_t)(group * parts + i);
                const int part = slice_part(&a, 0, slice);
                in[i][part]++;
                found |= 1 << part;
                assert_int_equal(slice_part(&a, 1, slice), slice_part(&b, 0, slice));
            }
            assert_int_equal(found, (1 << parts) - 1);
            const uint64_t first = (uint64_t)(group * parts);
            same += slice_part(&a, 0, first) == slice_part(&b, 0, first);
            alike += slice_part(&a, 0, first) == slice_part(&a, 0, first + (uint64_t)parts);
        }
        assert_true(fabs(same - mean) < 4.5 * deviation && fabs(alike - mean) < 4.5 * deviation);
        for (int i = 0; i < parts; i++)
            for (int part = 0; part < parts; part++)
                assert_true(fabs(in[i][part] - mean) < 4.5 * deviation);
    }
}

/* The halves that a seed makes: these of the slices 1 to 20 are in the first one. */
static void test_halves_stay(void **state)
{
    (void)state;
    static const uint32_t first[] = {0x5aa9a, 0xaa665, 0x9aa56};
    for (uint64_t seed = 1; seed <= sizeof first / sizeof *first; seed++) {
        const struct slice_parts s = {.mode = 1, .parts = 2, .divisions = 1, .seed = seed};
        uint32_t in = 0;
        for (uint64_t i = 0; i < 20; i++)
            in |= (uint32_t)(slice_part(&s, 0, i) == 0) << i;
        assert_int_equal(in, first[seed - 1]);
    }
}

/* Each part is left out once in each division; of two halves, replicate k is the half k. */
static void test_replicates(void **state)
{
    (void)state;
    const struct slice_parts s = {.mode = 1, .parts = 5, .divisions = 3},
                             halves = {.mode = 1, .parts = 2, .divisions = 1}, none = {0};
    assert_int_equal(slice_parts_replicates(&s), 15);
    assert_int_equal(slice_parts_replicates(&none), 0);
    for (int k = 0; k < 15; k++) {
        assert_int_equal(slice_parts_division(&s, k), k / 5);
        assert_int_equal(slice_parts_left_out(&s, k), 4 - k % 5);
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(slice_parts_left_out(&halves, k), 1 - k);
    assert_true(slice_parts_are_halves(&halves));
    assert_false(slice_parts_are_halves(&s) || slice_parts_are_halves(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_at_random),
        cmocka_unit_test(test_halves_stay),
        cmocka_unit_test(test_replicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
