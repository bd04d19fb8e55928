/* Ranks as -r names them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "commands/options/cmd_common.h"

static const struct cli_option row = {.name = "--rank"};

static void test_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct rank_range range;
        int count;
    } cases[] = {
        {"1", {1, 1, 1}, 1},       {"1000000", {1000000, 1000000, 1}, 1},
        {"1:4", {1, 4, 1}, 4},     {"4:32:4", {4, 32, 4}, 8},
        {"4:33:4", {4, 32, 4}, 8}, {"5:5", {5, 5, 1}, 1},
        {"5:6:9", {5, 5, 9}, 1},   {"1:1000", {1, 1000, 1}, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        struct rank_range range;
        assert_int_equal(rank_range_set(&row, &range, cases[i].text, &error), STATUS_OK);
        assert_true(range.first == cases[i].range.first && range.last == cases[i].range.last &&
                    range.step == cases[i].range.step);
        assert_int_equal(rank_range_count(&range), cases[i].count);
    }
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "0",
        "x",
        "-1",
        "1000001",
        "1:",
        ":4",
        "0:4",
        "4:1",
        "1:1000001",
        "1:4:0",
        "1:4:",
        "1:4:2:1",
        "1:4x",
        "1 :4",
        "1:-4",
        "1:1001",
        "1.5:4",
        "1:99999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = {0};
        struct rank_range range;
        if (rank_range_set(&row, &range, texts[i], &error) != STATUS_INPUT)
            fail_msg("'%s' was taken", texts[i]);
        assert_non_null(strstr(error.message, "--rank: "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
