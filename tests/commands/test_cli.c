/* Strict parsing of the command line's numbers, sizes and lists, and the option tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cli.h"

static void reads_whole_numbers(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t value;
    assert_int_equal(cli_unsigned("-x", "16", 1, 100, &value, &error), STATUS_OK);
    assert_int_equal(value, 16);
    assert_int_equal(cli_unsigned("-x", "100", 1, 100, &value, &error), STATUS_OK);
    assert_int_equal(cli_unsigned("-x", "101", 1, 100, &value, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: '101', expected a whole number from 1 to 100");
}

static void reads_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"1", 1},
                 {"800000000", 800000000},
                 {"1K", 1024},
                 {"500M", UINT64_C(500) << 20},
                 {"16G", UINT64_C(16) << 30},
                 {"2T", UINT64_C(2) << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        uint64_t bytes = 0;
        assert_int_equal(cli_size("--memory", cases[i].text, &bytes, &error), STATUS_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void reads_lengths(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t lengths[MAX_ORDER];
    int count;
    assert_int_equal(cli_lengths("--dims", "4,5x4294967295", lengths, &count, &error), STATUS_OK);
    assert_int_equal(count, 3);
    assert_int_equal(lengths[0], 4);
    assert_int_equal(lengths[1], 5);
    assert_int_equal(lengths[2], MAX_LENGTH);
    assert_int_equal(
        cli_lengths("--dims", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", lengths, &count, &error),
        STATUS_OK);
    assert_int_equal(count, 16);
}

static void suggests_the_nearest_name(void **state)
{
    (void)state;
    const char *names[] = {"cpd", "info", "compare"};
    assert_string_equal(cli_nearest("cdp", names, 3), "cpd");
    assert_string_equal(cli_nearest("cp", names, 3), "cpd");
    assert_string_equal(cli_nearest("compar", names, 3), "compare");
    assert_string_equal(cli_nearest("infos", names, 3), "info");
    assert_null(cli_nearest("decompose", names, 3));
    assert_null(cli_nearest("a word that is far longer than any command's name", names, 3));
}

static enum status set_common(void *settings, int key, const char *text, struct error *error)
{
    return cmd_common_set(settings, key, text, error);
}

static const struct cli_section groups[] = {{"Input", cli_input_options},
                                          {"Machine", cli_machine_options},
                                          {"General", cli_general_options},
                                          {NULL, NULL}};

static void parses_options_and_operands_in_any_order(void **state)
{
    (void)state;
    char *argv[] = {
        "cpd", "a.tns", "--host-memory=2G", "-qt3", "--conflict", "register", "--dims", "2x3", "--",
        "-b",  NULL};
    struct error error = {0};
    struct cmd_common common;
    int first;
    cmd_common_init(&common);
    assert_int_equal(cli_parse(10, argv, groups, set_common, &common, &first, &error), STATUS_OK);
    assert_int_equal(first, 8);
    assert_string_equal(argv[8], "a.tns");
    assert_string_equal(argv[9], "-b");
    assert_true(common.quiet);
    assert_int_equal(common.threads, 3);
    assert_int_equal(common.options.conflict, CONFLICT_REGISTER);
    assert_int_equal(common.options.host_memory, UINT64_C(2) << 30);
    assert_int_equal(common.tns.ndims, 2);
}

/* An error in the midst of a group of letters must not reach into the next command line. */
static void parses_anew_after_an_error(void **state)
{
    (void)state;
    char *bad[] = {"cpd", "-zq", NULL}, *good[] = {"cpd", "-h", "-t", NULL};
    struct error error = {0}, none = {0};
    struct cmd_common common;
    int first;
    cmd_common_init(&common);
    assert_int_equal(cli_parse(2, bad, groups, set_common, &common, &first, &error), STATUS_INPUT);
    assert_false(common.quiet);
    assert_int_equal(cli_parse(3, good, groups, set_common, &common, &first, &none), STATUS_OK);
    assert_true(common.help);
    assert_false(common.quiet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_numbers),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(reads_lengths),
        cmocka_unit_test(suggests_the_nearest_name),
        cmocka_unit_test(parses_options_and_operands_in_any_order),
        cmocka_unit_test(parses_anew_after_an_error),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
