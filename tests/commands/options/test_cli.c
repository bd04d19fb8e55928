/* Strict reading of numbers, sizes, lists and names, and the parser of option tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/options/cli_values.h"
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

static const struct cli_option name_row = {.name = "-x", .kind = CLI_IS_NAME};
static const struct cli_option file_row = {.name = "-x", .kind = CLI_IS_FILE};

static void reads_names_of_files(void **state)
{
    (void)state;
    struct error error = {0};
    const char *name;
    assert_int_equal(cli_set_kind(&name_row, &name, "-", &error), STATUS_OK);
    assert_string_equal(name, "-");
    assert_int_equal(cli_set_kind(&file_row, &name, "./-", &error), STATUS_OK);
    assert_string_equal(name, "./-");
    assert_int_equal(cli_set_kind(&file_row, &name, "-", &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: '-', expected the name of a file");
    assert_int_equal(cli_set_kind(&file_row, &name, "", &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(cli_set_kind(&name_row, &name, "", &error), STATUS_INPUT);
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
        assert_int_equal(cli_size("-x", cases[i].text, &bytes, &error), STATUS_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void reads_times(void **state)
{
    (void)state;
    struct error error = {0};
    double seconds = 0;
    assert_int_equal(cli_duration("-x", "1d2h3m4s", &seconds, &error), STATUS_OK);
    assert_true(seconds == 86400 + 2 * 3600 + 3 * 60 + 4);
    assert_int_equal(cli_duration("-x", "3m2h", &seconds, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: '3m2h', expected a time as 90s, 10m or 3h50m");
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
    assert_int_equal(cli_lengths("--dims", "-,7x-", lengths, &count, &error), STATUS_OK);
    assert_int_equal(count, 3);
    assert_true(lengths[0] == 0 && lengths[1] == 7 && lengths[2] == 0);
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
    assert_int_equal(cli_grid("--grid", "-,4", parts, &count, &other), STATUS_INPUT);
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

static const struct word words[] = {{"auto", 2}, {"cuda", 4}, {"host", 1}, {NULL, 0}};

static void reads_one_of_several_words(void **state)
{
    (void)state;
    struct error error = {0}, two = {0};
    int choice = -1;
    assert_int_equal(cli_choice("-x", "host", words, &choice, &error), STATUS_OK);
    assert_int_equal(choice, 1);
    assert_int_equal(cli_choice("-x", "Host", words, &choice, &error), STATUS_INPUT);
    assert_string_equal(error.message, "-x: 'Host', expected auto, cuda or host");
    assert_int_equal(cli_choice("-x", "", words + 1, &choice, &two), STATUS_INPUT);
    assert_string_equal(two.message, "-x: '', expected cuda or host");
}

/* Options of these tests, a row of each kind. */
struct seen {
    const char *name, *word, *given;
    uint64_t number;
    int small;
    double real;
    unsigned bits;
    enum { NEITHER, HOST, AUTO } choice;
    bool quiet, help;
};

static const struct cli_option options[] = {
    {"--name", 0, "TEXT", "first\nsecond", CLI_TEXT(struct seen, name)},
    {"--number", 'n', "N", "a number ({default})", CLI_UNSIGNED(struct seen, number, 0, 9),
     .initial = "7", .used_most = true, CLI_GIVEN(struct seen, given)},
    {"--small", 0, "N", "a number", CLI_INT(struct seen, small, 1, 5)},
    {"--real", 0, "X", "a number ({default})", CLI_NUMBER(struct seen, real), .initial = "1e-5"},
    {"--choice", 0, "WORD", "{words} ({default}: {this})", CLI_CHOICE(struct seen, choice, words),
     .initial = "auto"},
    {"--word", 0, "WORD", "a word", CLI_WORD(struct seen, word, words)},
    {"--bits", 0, "LIST", "words", CLI_WORDS(struct seen, bits, words)},
    {"--quiet", 'q', NULL, "say nothing", CLI_FLAG(struct seen, quiet)},
    {.name = NULL}};
static const struct cli_option answers[] = {{"--help", 'h', "[=all]", "print this help",
                                             CLI_FLAG(struct seen, help), .ends = true,
                                             .used_most = true},
                                            {.name = NULL}};
static const struct cli_section sections[] = {
    {"Options", options}, {"General", answers}, {NULL, NULL}};

/* Parses a command line, which NULL ends. */
static enum status parse(struct cli_line *line, char **argv, struct seen *seen, struct error *error)
{
    *line = (struct cli_line){.argv = argv};
    while (argv[line->argc])
        line->argc++;
    *seen = (struct seen){0};
    *error = (struct error){0};
    return cli_parse(line, sections, seen, error);
}

static void begins_with_the_defaults(void **state)
{
    (void)state;
    char *argv[] = {"cpd", NULL};
    struct error error;
    struct cli_line line;
    struct seen seen;
    assert_int_equal(parse(&line, argv, &seen, &error), STATUS_OK);
    assert_int_equal(seen.number, 7);
    assert_true(seen.real == 1e-5);
    assert_int_equal(seen.choice, AUTO);
    assert_true(!seen.name && !seen.word && !seen.given && seen.bits == 0 && seen.small == 0);
}

static void sets_values_of_each_kind(void **state)
{
    (void)state;
    char *argv[] = {"cpd",       "--choice", "host", "--word=cuda", "--bits", "host,cuda",
                    "--small=5", "--real",   "2.5",  "-n0",         NULL};
    struct error error;
    struct cli_line line;
    struct seen seen;
    assert_int_equal(parse(&line, argv, &seen, &error), STATUS_OK);
    assert_int_equal(seen.choice, HOST);
    assert_string_equal(seen.word, "cuda");
    assert_int_equal(seen.bits, 5);
    assert_int_equal(seen.small, 5);
    assert_true(seen.real == 2.5);
    assert_int_equal(seen.number, 0);
    assert_string_equal(seen.given, "--number");
}

static void refuses_what_no_row_takes(void **state)
{
    (void)state;
    static const struct {
        const char *argument, *message;
    } cases[] = {
        {"--small=6", "--small: '6', expected a whole number from 1 to 5"},
        {"--real=-1", "--real: '-1', expected a number of 0 or more"},
        {"--choice=x", "--choice: 'x', expected auto, cuda or host"},
        {"--word=", "--word: '', expected auto, cuda or host"},
        {"--bits=host,",
         "--bits: 'host,', expected auto, cuda or host, or several of them separated "
         "by commas"},
        {"--bits=host,cuda,host", "--bits: 'host' twice, expected each word once"},
        {"--number=10", "--number: '10', expected a whole number from 0 to 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char argument[32], message[160];
        char *argv[] = {"cpd", argument, NULL};
        struct error error;
        struct cli_line line;
        struct seen seen;
        snprintf(argument, sizeof argument, "%s", cases[i].argument);
        snprintf(message, sizeof message, "%s; try blco cpd --help", cases[i].message);
        assert_int_equal(parse(&line, argv, &seen, &error), STATUS_INPUT);
        assert_string_equal(error.message, message);
    }
}

static void parses_options_and_operands_in_any_order(void **state)
{
    (void)state;
    char *argv[] = {"cpd", "a.tns", "--name=x", "-qn3", "--", "-b", "-q", NULL};
    char *one[] = {"cpd", "-q", "a.tns", NULL}, *none[] = {"cpd", "--name", "a.tns", NULL};
    struct error error;
    struct cli_line line;
    struct seen seen;
    assert_int_equal(parse(&line, argv, &seen, &error), STATUS_OK);
    assert_int_equal(line.operands, 3);
    assert_string_equal(line.operand[0], "a.tns");
    assert_string_equal(line.operand[1], "-b");
    assert_string_equal(seen.name, "x");
    assert_int_equal(seen.number, 3);
    assert_true(seen.quiet);
    assert_string_equal(argv[1], "a.tns"); /* the order stays */
    assert_int_equal(cli_two_operands(&line, "files", "A", "B", &error), STATUS_INPUT);
    assert_string_equal(error.message,
                        "two files expected, A and B, but 3 given; try blco cpd --help");
    assert_int_equal(parse(&line, one, &seen, &error), STATUS_OK);
    assert_int_equal(cli_single_operand(&line, "file", &error), STATUS_OK);
    assert_string_equal(line.operand[0], "a.tns");
    assert_int_equal(cli_no_operand(&line, &error), STATUS_INPUT);
    assert_int_equal(parse(&line, none, &seen, &error), STATUS_OK);
    assert_int_equal(cli_no_operand(&line, &error), STATUS_OK);
    assert_int_equal(cli_single_operand(&line, "file", &error), STATUS_INPUT);
    assert_string_equal(error.message, "no file given; try blco cpd --help");
}

/* What is wrong is named, wherever it stands. */
static void names_options_that_it_does_not_know(void **state)
{
    (void)state;
    static const struct {
        char *argument[3];
        const char *message;
    } cases[] = {{{"--number=3", "-zq"}, "unknown option -z"},
                 {{"-q", "-qz"}, "unknown option -z"},
                 {{"a.tns", "-qn"}, "option -n needs an argument"},
                 {{"--number"}, "option --number needs an argument"},
                 {{"-q", "--quiet=3"}, "option --quiet takes no argument"},
                 {{"--number=3", "--nuber=3"}, "unknown option --nuber (did you mean --number?)"},
                 {{"a.tns", "--n=3"}, "option --n is ambiguous: name or number"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[160];
        char *argv[] = {"cpd", cases[i].argument[0], cases[i].argument[1], NULL};
        struct error error;
        struct cli_line line;
        struct seen seen;
        snprintf(message, sizeof message, "%s; try blco cpd --help", cases[i].message);
        assert_int_equal(parse(&line, argv, &seen, &error), STATUS_INPUT);
        assert_string_equal(error.message, message);
    }
}

static void ends_at_what_is_wrong(void **state)
{
    (void)state;
    char *argv[] = {"cpd", "-n", "10", "-q", NULL};
    struct error error;
    struct cli_line line;
    struct seen seen;
    assert_int_equal(parse(&line, argv, &seen, &error), STATUS_INPUT);
    assert_false(seen.quiet);
}

/* Each case is refused with the message, or taken where that is NULL. */
static void compares_options_with_others(void **state)
{
    (void)state;
    static const struct cli_option few[] = {
        {"--name", 0, "TEXT", "", CLI_TEXT(struct seen, name)},
        {"--word", 0, "WORD", "", CLI_WORD(struct seen, word, words)},
        {"--small", 0, "N", "", CLI_INT(struct seen, small, 1, 5), .needs = "--name or --word"},
        {"--quiet", 'q', NULL, "", CLI_FLAG(struct seen, quiet), .excludes = "--word --wordy"},
        {.name = NULL}};
    const struct cli_section some[] = {{"Some", few}, {"General", answers}, {NULL, NULL}};
    static const struct {
        char *argument[4];
        const char *message;
    } cases[] = {{{"--small=2"}, "--small needs --name or --word"},
                 {{"--small=2", "--word=cuda"}, NULL},
                 {{"--small=2", "--nam", "x", "--small=3"}, NULL},
                 {{"-q"}, NULL},
                 {{"--word=cuda", "-q"}, "--quiet and --word: give only one"},
                 {{"--small=2", "--word=cuda", "-q"}, "--quiet and --word: give only one"},
                 {{"--small=2", "--word=cuda", "-q", "-h"}, NULL},
                 {{"--small=2", "--", "--word=cuda"}, "--small needs --name or --word"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[160] = "";
        char *const *a = cases[i].argument;
        char *argv[] = {"cpd", a[0], a[1], a[2], a[3], NULL};
        struct error error = {0};
        struct cli_line line = {.argv = argv};
        struct seen seen = {0};
        while (argv[line.argc])
            line.argc++;
        if (cases[i].message)
            snprintf(message, sizeof message, "%s; try blco cpd --help", cases[i].message);
        cli_parse(&line, some, &seen, &error);
        assert_string_equal(error.message, message);
    }
}

/* An error in the midst of a cluster of letters must not reach into the next command line. */
static void parses_anew_after_an_error(void **state)
{
    (void)state;
    char *bad[] = {"cpd", "-zq", NULL}, *good[] = {"cpd", "-h", "-n", NULL};
    struct error error;
    struct cli_line line;
    struct seen seen;
    assert_int_equal(parse(&line, bad, &seen, &error), STATUS_INPUT);
    assert_false(seen.quiet);
    assert_int_equal(parse(&line, good, &seen, &error), STATUS_OK);
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
    cli_help(stream, sections, NULL);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "\nOptions:\n"
                              "      --name TEXT          first\n"
                              "                           second\n"
                              "  -n, --number N           a number (7)\n"
                              "      --small N            a number\n"
                              "      --real X             a number (1e-5)\n"
                              "      --choice WORD        auto, cuda or host (auto: {this})\n"
                              "      --word WORD          a word\n"
                              "      --bits LIST          words\n"
                              "  -q, --quiet              say nothing\n"
                              "\nGeneral:\n"
                              "  -h, --help[=all]         print this help\n");
    free(text);
}

static void prints_short_help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    cli_help(stream, sections, "Some");
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "\nSome:\n"
                              "  -n, --number N           a number (7)\n"
                              "  -h, --help[=all]         print this help\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_numbers),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(reads_times),
        cmocka_unit_test(reads_lengths),
        cmocka_unit_test(reads_grids),
        cmocka_unit_test(suggests_the_nearest_name),
        cmocka_unit_test(reads_one_of_several_words),
        cmocka_unit_test(reads_names_of_files),
        cmocka_unit_test(begins_with_the_defaults),
        cmocka_unit_test(sets_values_of_each_kind),
        cmocka_unit_test(refuses_what_no_row_takes),
        cmocka_unit_test(parses_options_and_operands_in_any_order),
        cmocka_unit_test(names_options_that_it_does_not_know),
        cmocka_unit_test(ends_at_what_is_wrong),
        cmocka_unit_test(compares_options_with_others),
        cmocka_unit_test(parses_anew_after_an_error),
        cmocka_unit_test(prints_help),
        cmocka_unit_test(prints_short_help),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
