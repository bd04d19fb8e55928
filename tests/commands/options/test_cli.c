/* Strict reading of numbers, sizes, lists and names, and the parser of option tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/options/cli.h"
#include "tensor/shape.h"

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

static void reads_names_of_files(void **state)
{
    (void)state;
    struct error error = {0};
    const char *name;
    assert_int_equal(cli_name("-x", "-", &name, &error), STATUS_OK);
    assert_string_equal(name, "-");
    assert_int_equal(cli_file("-x", "./-", &name, &error), STATUS_OK);
    assert_string_equal(name, "./-");
    assert_int_equal(cli_file("-x", "-", &name, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: '-', expected the name of a file");
    assert_int_equal(cli_file("-x", "", &name, &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(cli_name("-x", "", &name, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: '', expected a name");
}

static void reads_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"1", 1},
                 {"800000000", 800000000},
                 {"1K", 1000}, /* the units are those that sizes are printed in */
                 {"500M", UINT64_C(500000000)},
                 {"16G", UINT64_C(16000000000)},
                 {"2T", UINT64_C(2000000000000)}};
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

static void reads_grids(void **state)
{
    (void)state;
    struct error error = {0}, other = {0};
    int parts[MAX_ORDER], count;
    assert_int_equal(cli_grid("--grid", "64x1,64", parts, &count, &error), STATUS_OK);
    assert_int_equal(count, 3);
    assert_int_equal(parts[0], 64);
    assert_int_equal(parts[1], 1);
    assert_int_equal(parts[2], 64);
    assert_int_equal(cli_grid("--grid", "4096", parts, &count, &error), STATUS_OK);
    assert_int_equal(count, 1);
    /* the product must neither be too large nor overflow on the way */
    assert_int_equal(cli_grid("--grid", "64x65", parts, &count, &error), STATUS_INPUT);
    assert_int_equal(cli_grid("--grid",
                              "4096x4096x4096x4096x4096x4096x4096x4096x4096x4096x4096x4096x4096",
                              parts, &count, &other),
                     STATUS_INPUT);
    assert_string_equal(error.message, "--grid: '64x65', expected 1 to 16 numbers of ranges, as "
                                       "2x2x1, whose product is 4096 at most");
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

static void reads_one_of_several_names(void **state)
{
    (void)state;
    const char *const names[] = {"auto", "cuda", "host", NULL};
    struct error error = {0}, two = {0};
    int choice = -1;
    assert_int_equal(cli_choice("-x", "host", names, &choice, &error), STATUS_OK);
    assert_int_equal(choice, 2);
    assert_int_equal(cli_choice("-x", "Host", names, &choice, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: 'Host', expected auto, cuda or host");
    assert_int_equal(cli_choice("-x", "", names + 1, &choice, &two), STATUS_INPUT);
    assert_string_equal(two.message, "-x: '', expected cuda or host");
}

/* Options of these tests, and what the setter saw of them. */
static const struct cli_option options[] = {{"name", CLI_KEY_LONG, "TEXT", "first\nsecond"},
                                            {"number", 'n', "N", "a number"},
                                            {"quiet", 'q', NULL, "say nothing"},
                                            {NULL, 0, NULL, NULL}};
static const struct cli_option answers[] = {{"help", CLI_KEY_HELP, "[=all]", "print this help"},
                                            {NULL, 0, NULL, NULL}};
static const struct cli_section sections[] = {
    {"Options", options}, {"General", answers}, {NULL, NULL}};

struct seen {
    const char *name;
    uint64_t number;
    bool quiet, help;
};

static enum status see(void *settings, int key, const char *text, struct error *error)
{
    struct seen *seen = settings;
    if (key == 'n')
        return cli_unsigned("--number", text, 0, 9, &seen->number, error);
    if (key == CLI_KEY_LONG)
        seen->name = text;
    seen->quiet = seen->quiet || key == 'q';
    seen->help = seen->help || key == CLI_KEY_HELP;
    return STATUS_OK;
}

static void parses_options_and_operands_in_any_order(void **state)
{
    (void)state;
    char *argv[] = {"cpd", "a.tns", "--name=x", "-qn3", "--", "-b", NULL};
    struct error error = {0};
    struct seen seen = {0};
    const char *operand = NULL;
    int first;
    assert_int_equal(cli_parse(6, argv, sections, see, &seen, &first, &error), STATUS_OK);
    assert_int_equal(first, 4);
    assert_string_equal(argv[4], "a.tns");
    assert_string_equal(argv[5], "-b");
    assert_string_equal(seen.name, "x");
    assert_int_equal(seen.number, 3);
    assert_true(seen.quiet);
    assert_int_equal(cli_single_operand(5, argv, first, "file", &operand, &error), STATUS_OK);
    assert_string_equal(operand, "a.tns");
    assert_int_equal(cli_single_operand(6, argv, first, "file", &operand, &error), STATUS_INPUT);
}

static void passes_on_what_the_setter_refuses(void **state)
{
    (void)state;
    char *argv[] = {"cpd", "-n", "10", "-q", NULL};
    struct error error = {0};
    struct seen seen = {0};
    int first;
    assert_int_equal(cli_parse(4, argv, sections, see, &seen, &first, &error), STATUS_INPUT);
    assert_string_equal(error.message, "--number: '10', expected a whole number from 0 to 9; "
                                       "try blco cpd --help");
    assert_false(seen.quiet);
}

/* An error in the midst of a cluster of letters must not reach into the next command line. */
static void parses_anew_after_an_error(void **state)
{
    (void)state;
    char *bad[] = {"cpd", "-zq", NULL}, *good[] = {"cpd", "-h", "-n", NULL};
    struct error error = {0}, none = {0};
    struct seen seen = {0};
    int first;
    assert_int_equal(cli_parse(2, bad, sections, see, &seen, &first, &error), STATUS_INPUT);
    assert_false(seen.quiet);
    assert_int_equal(cli_parse(3, good, sections, see, &seen, &first, &none), STATUS_OK);
    assert_true(seen.help);
    assert_false(seen.quiet);
}

static void prints_help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    cli_help(stream, sections);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "\nOptions:\n"
                              "      --name TEXT          first\n"
                              "                           second\n"
                              "  -n, --number N           a number\n"
                              "  -q, --quiet              say nothing\n"
                              "\nGeneral:\n"
                              "  -h, --help[=all]         print this help\n");
    free(text);
}

static void prints_some_options_as_help(void **state)
{
    (void)state;
    const char *names[] = {"help", "number", NULL};
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    cli_help_some(stream, "Some", sections, names);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "\nSome:\n"
                              "  -h, --help[=all]         print this help\n"
                              "  -n, --number N           a number\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_numbers),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(reads_lengths),
        cmocka_unit_test(reads_grids),
        cmocka_unit_test(suggests_the_nearest_name),
        cmocka_unit_test(reads_one_of_several_names),
        cmocka_unit_test(parses_options_and_operands_in_any_order),
        cmocka_unit_test(reads_names_of_files),
        cmocka_unit_test(passes_on_what_the_setter_refuses),
        cmocka_unit_test(parses_anew_after_an_error),
        cmocka_unit_test(prints_help),
        cmocka_unit_test(prints_some_options_as_help),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
