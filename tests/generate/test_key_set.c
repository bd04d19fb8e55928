/* Sorted sets of keys, against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random_stream.h"
#include "generate/key_set.h"

static void check_ascending(const struct key_set *set)
{
    for (uint64_t i = 1; i < set->count; i++)
        assert_true(set->key[i - 1] < set->key[i]);
}

static int has(const struct key_set *set, coordinate_key key)
{
    for (uint64_t i = 0; i < set->count; i++)
        if (set->key[i] == key)
            return 1;
    return 0;
}

/* Keys of `bits` bits that repeat, above a common upper part. */
static void test_add(void **state)
{
    (void)state;
    static const int widths[] = {0, 3, 11, 12, 40, 64, 65, 100, 128};
    for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
        struct error error = {0};
        struct key_set set = {0};
        struct random_stream stream = random_stream_at(k, 0, 0);
        int bits = widths[k];
        coordinate_key all[600], upper = bits < 128 ? (coordinate_key)5 << bits : 0;
        uint64_t listed = 0;
        assert_int_equal(key_set_clear(&set, 700, &error), STATUS_OK);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 200; i++) {
                uint64_t seed = random_next(&stream) % 150;
                coordinate_key key =
                    (coordinate_key)random_mix(seed) << 64 | random_mix(seed + 1000);
                key = bits ? upper | key >> (128 - bits) : upper;
                set.drawn[i] = all[listed++] = key;
            }
            key_set_add(&set, 200, bits);
            check_ascending(&set);
            for (uint64_t i = 0; i < listed; i++)
                assert_true(has(&set, all[i]));
            assert_true(set.count <= 150);
        }
        key_set_free(&set);
    }
}

static void test_fill_and_thin(void **state)
{
    (void)state;
    struct error error = {0};
    struct key_set set = {0};
    assert_int_equal(key_set_clear(&set, 300, &error), STATUS_OK);
    for (int i = 0; i < 50; i++)
        set.drawn[i] = (coordinate_key)(unsigned)i * 6;
    key_set_add(&set, 50, 20);
    for (int i = 0; i < 300; i++)
        set.drawn[i] = (coordinate_key)(unsigned)(299 - i);
    key_set_fill(&set, 300, 20, 175);
    assert_int_equal(set.count, 175);
    check_ascending(&set);
    int lower = 0;
    for (int i = 0; i < 50; i++)
        assert_true(has(&set, (coordinate_key)(unsigned)i * 6));
    for (int i = 0; i < 175; i++)
        lower += set.key[i] < 150;
    assert_true(lower >= 86 && lower <= 89);
    key_set_thin(&set, 400);
    assert_int_equal(set.count, 175);
    key_set_thin(&set, 7);
    assert_int_equal(set.count, 7);
    check_ascending(&set);
    assert_true(set.key[0] < 60 && set.key[6] > 240);
    key_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_fill_and_thin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
