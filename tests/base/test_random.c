#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "numerics/random_counter.h"
#include "base/random_stream.h"

/* The known answers that the authors of Philox publish with their library. */
static void counter_is_philox(void **state)
{
    (void)state;
    const uint64_t known[][5] = {
        /* seed, low, high, first, second */
        {0, 0, 0, 0xca00a0459843d731, 0x66c24222c9a845b5},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0x65b021d60cd8310f, 0x4d02f3222f86df20},
        {0xa4093822299f31d0, 0x243f6a8885a308d3, 0x13198a2e03707344, 0x0a5e742c2997341c,
         0xb0f883d38000de5d},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint64_t word[2];
        random_words(known[i][0], known[i][2], known[i][1], word);
        assert_true(word[0] == known[i][3]);
        assert_true(word[1] == known[i][4]);
    }
}

/* The first numbers of SplitMix64 from state 0, as its authors' code prints them. */
static void stream_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t known[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                     UINT64_C(0x06c45d188009454f)};
    struct random_stream stream = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(random_next(&stream) == known[i]);
}

/* Each of the three numbers chooses the stream, and so does their order. */
static void streams_differ(void **state)
{
    (void)state;
    static const uint64_t numbers[][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {1, 2, 4}, {0, 0, 0}};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    uint64_t first[COUNT];
    for (int i = 0; i < COUNT; i++) {
        struct random_stream a = random_stream_at(numbers[i][0], numbers[i][1], numbers[i][2]),
                             b = a;
        first[i] = random_next(&a);
        assert_true(first[i] == random_next(&b));
        for (int j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
}

/* Distinct counters give distinct pairs of words, in any order of calls. */
static void counters_give_distinct_words(void **state)
{
    (void)state;
    uint64_t words[64][2], again[2];
    for (uint64_t i = 0; i < 64; i++) {
        random_words(5, i / 8, i % 8, words[i]);
        for (uint64_t j = 0; j < i; j++)
            assert_false(words[i][0] == words[j][0] && words[i][1] == words[j][1]);
    }
    random_words(5, 2, 3, again);
    assert_memory_equal(again, words[19], sizeof again);
}

static void numbers_of_the_unit_interval(void **state)
{
    (void)state;
    assert_true(random_uniform(0) == 0);
    assert_true(random_uniform(UINT64_MAX) == 1 - 0x1p-53);
    assert_true(random_uniform(UINT64_C(1) << 63) == 0.5);
    assert_true(random_inner(0) == 0x1p-53);
    assert_true(random_inner(UINT64_MAX) == 1 - 0x1p-53);
    struct random_stream stream = random_stream_at(1, 2, 3);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_next(&stream);
        assert_true(random_uniform(bits) >= 0 && random_uniform(bits) < 1);
        assert_true(random_inner(bits) > 0 && random_inner(bits) < 1);
        sum += random_uniform(bits);
    }
    assert_true(sum > 49500 && sum < 50500); /* 5 standard deviations are 456 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_is_philox),
        cmocka_unit_test(stream_is_splitmix64),
        cmocka_unit_test(streams_differ),
        cmocka_unit_test(counters_give_distinct_words),
        cmocka_unit_test(numbers_of_the_unit_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
