/* The ranks and GPUs that options ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cmd.h"
#include "commands/options/cmd_common.h"
#include "support/options.h"

static void takes_ranks_and_grids(void **state)
{
    (void)state;
    static const struct {
        int ranks, modes, parts[3], counted;
        const char *message; /* of a failure */
    } cases[] = {{0, 0, {0}, 0, NULL},
                 {7, 0, {0}, 7, NULL},
                 {0, 3, {2, 1, 3}, 6, NULL},
                 {6, 3, {2, 1, 3}, 6, NULL},
                 {0, 1, {1}, 1, NULL},
                 {4,
                  3,
                  {2, 1, 3},
                  4,
                  "--grid: '2x1x3', expected a product of 4, the number of "
                  "--ranks"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct cmd_ranks ranks = {.ranks = cases[i].ranks, .modes = cases[i].modes};
        memcpy(ranks.parts, cases[i].parts, sizeof cases[i].parts);
        assert_int_equal(cmd_count_ranks(&ranks, &error),
                         cases[i].message ? STATUS_INPUT : STATUS_OK);
        assert_int_equal(ranks.ranks, cases[i].counted);
        if (cases[i].message)
            assert_string_equal(error.message, cases[i].message);
    }
}

static void takes_what_ranks_are(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_common common = {0};
    assert_int_equal(common.ranks.on, CMD_ON_BACKEND);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "gpus", &error), STATUS_OK);
    assert_int_equal(common.ranks.on, CMD_ON_GPUS);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "processors", &error),
                     STATUS_OK);
    assert_int_equal(common.ranks.on, CMD_ON_PROCESSORS);
    common.ranks.ranks = 2;
    assert_int_equal(cmd_count_ranks(&common.ranks, &error), STATUS_OK);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "cards", &error),
                     STATUS_INPUT);
}

static void checks_the_numbers_of_a_grid(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_ranks chosen = {.ranks = 4}, fixed = {.ranks = 4, .parts = {2, 2}, .modes = 2};
    assert_int_equal(cmd_check_grid(&chosen, 3, &error), STATUS_OK);
    assert_int_equal(cmd_check_grid(&fixed, 2, &error), STATUS_OK);
    assert_int_equal(cmd_check_grid(&fixed, 3, &error), STATUS_INPUT);
    assert_string_equal(error.message,
                        "--grid: '2x2', expected 3 numbers, one for each mode of the tensor");
}

/* A number of GPUs, all, or a list of their numbers. */
static void takes_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int count;
        bool listed;
        int device[3];
    } cases[] = {{"1", 1, false, {0}},          {"4", 4, false, {0}},
                 {"64", 64, false, {0}},        {"all", CMD_ALL_GPUS, false, {0}},
                 {"0,2", 2, true, {0, 2}},      {"2,", 1, true, {2}},
                 {"5,1,3", 3, true, {5, 1, 3}}, {"0,0", 2, true, {0, 0}}};
    struct cmd_common common = {0};
    assert_int_equal(common.gpus.count, 0);
    common.gpus.all_unless_given = true; /* survives what the user says */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", cases[i].text, &error),
                         STATUS_OK);
        assert_int_equal(common.gpus.count, cases[i].count);
        assert_int_equal(common.gpus.listed, cases[i].listed);
        assert_memory_equal(common.gpus.device, cases[i].device, sizeof cases[i].device);
        assert_true(common.gpus.all_unless_given);
    }
}

#define GPUS "expected a number of GPUs from 1 to 64, all, or the numbers of GPUs, as 0,2"

static void refuses_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"0", "--gpus: '0', " GPUS},
        {"65", "--gpus: '65', " GPUS},
        {"-1", "--gpus: '-1', " GPUS},
        {"two", "--gpus: 'two', " GPUS},
        {"", "--gpus: '', " GPUS},
        {"ALL", "--gpus: 'ALL', " GPUS},
        {",1", "--gpus: '', expected a whole number from 0 to 2147483647"},
        {"1,x", "--gpus: 'x', expected a whole number from 0 to 2147483647"},
        {"1,-2", "--gpus: '-2', expected a whole number from 0 to 2147483647"},
        {"all,1", "--gpus: 'all', expected a whole number from 0 to 2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct cmd_common common = {0};
        assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", cases[i].text, &error),
                         STATUS_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

/* More numbers than blco knows GPUs, and a number of very many digits. */
static void refuses_long_lists_of_gpus(void **state)
{
    (void)state;
    char list[4 * (CMD_MAX_GPUS + 1) + 1] = "";
    struct error error = {0}, digits = {0}, none = {0};
    struct cmd_common common = {0};
    for (int i = 0; i < CMD_MAX_GPUS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%d,", i);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", list, &none), STATUS_OK);
    assert_int_equal(common.gpus.count, CMD_MAX_GPUS);
    strcat(list, "64");
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", list, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "expected at most 64 numbers"));
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus",
                                 "1,00000000000000000000000000000000000000", &digits),
                     STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_ranks_and_grids),
        cmocka_unit_test(takes_what_ranks_are),
        cmocka_unit_test(checks_the_numbers_of_a_grid),
        cmocka_unit_test(takes_gpus),
        cmocka_unit_test(refuses_gpus),
        cmocka_unit_test(refuses_long_lists_of_gpus),
    };
    return cmocka_run_group_tests_name("cmd_ranks", tests, NULL, NULL);
}
