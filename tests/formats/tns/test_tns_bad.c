/* Bad FROSTT text is refused, with a message that says where and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/tns_files.h"

#define DATA "tests/data/"

static enum status read_as_text(struct coo *x, const char *name, const struct tns_options *options,
                                struct error *error)
{
    struct tensor_reader r = {.format = &tensor_text, .path = name, .tns = options};
    return read_whole(x, NULL, &r, error);
}

/* Reading `name` fails with this message after the name. */
static void assert_refused(const char *name, const struct tns_options *options,
                           const struct tns_sizes *sizes, const char *message)
{
    struct coo x;
    memset(&x, 0xff, sizeof x);
    struct error error = {0};
    struct tns_options sized = *options;
    sized.sizes = *sizes;
    assert_int_equal(read_as_text(&x, name, &sized, &error), STATUS_INPUT);
    assert_memory_equal(error.message, name, strlen(name));
    assert_string_equal(error.message + strlen(name), message);
    assert_null(x.value);
    assert_int_equal(x.nnz, 0);
}

static void refuses_bad_files(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"bad_columns_few", ":3: 3 columns, expected 4: 3 indices and a value, as line 1 says"},
        {"bad_columns_many", ":2: 5 columns, expected 4: 3 indices and a value, as line 1 says"},
        {"bad_cut_off", ":3: the last line is cut off: 2 columns, expected 4: 3 indices and a "
                        "value, as line 1 says"},
        {"bad_order", ":1: 18 columns, expected at most 17: 16 indices and a value"},
        {"bad_commas", ":1: '1,2,3,4.5', expected indices and a value with blanks between them, "
                       "or a header"},
        {"bad_letters", ":2: mode 2: index 'x', expected a whole number"},
        {"bad_index_fraction", ":2: mode 3: index '1.5', expected a whole number"},
        {"bad_index_zero",
         ":3: mode 2: index 0, expected 1 or more (--index-base 0 for zero-based files)"},
        {"bad_index_negative", ":2: mode 1: index -3, expected 1 or more"},
        {"bad_index_limit", ":2: mode 3: index 4294967296, expected at most 4294967295"},
        {"bad_index_beyond", ":4: mode 2: index 3, expected at most 2, as the header says"},
        {"bad_value_letters", ":2: value '1.5x', expected a number, or nan for an unknown entry"},
        {"bad_value_inf",
         ":2: value '-inf', expected a finite number, or nan for an unknown entry"},
        {"bad_value_nan", ":1: value 'NaNs', expected a number, or nan for an unknown entry"},
        {"bad_value_overflow",
         ":2: value '1e999', expected a finite number, or nan for an unknown entry"},
        {"bad_binary", ":2: mode 1: index '\\x00\\xffELF\\x01', expected a whole number"},
        {"bad_long_token", ":2: mode 2: index '1234567890123456789012345678901234567890...', "
                           "expected a whole number"},
        {"bad_header_order", ":1: '17', expected the header's number of modes, 1 to 16"},
        {"bad_header_columns", ":2: 2 columns, expected the header's 3 lengths"},
        {"bad_header_length", ":2: mode 3: length '0', expected 1 to 4294967295"},
        {"bad_header_count",
         ":4: 'many', expected the header's number of entries, 0 to 1099511627776"},
        {"bad_header_only", ": no entries after the header"},
        {"bad_header_cut_off", ": ends within the header, expected its number of entries"},
        {"bad_sptensor_count", ": 2 entries, expected 3, as the header says"},
        {"bad_empty", ": is empty"},
        {"bad_comments_only", ": no entries: nothing but comments and blank lines"},
        {"bad_gzip_cut_off", ": damaged gzip: the file is cut off"},
        {"bad_gzip_checksum", ": damaged gzip: the checksum does not match"},
        {"bad_gzip_data", ": damaged gzip: invalid compressed data"},
        {"bad_gzip_header", ": damaged gzip: invalid header"},
        {"bad_gzip_tail", ": damaged gzip: something else follows the compressed data"},
        {"bad_gzip_line", ":3: mode 2: index 'x', expected a whole number"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[100];
        snprintf(name, sizeof name, DATA "%s.tns", files[i][0]);
        struct tns_sizes tiny = {200, 1};
        assert_refused(name, &one_based, &usual, files[i][1]);
        assert_refused(name, &one_based, &tiny, files[i][1]);
    }
}

static void refuses_what_the_options_exclude(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        struct tns_options options;
    } cases[] = {
        {"1 2 1\n1 3 1\n",
         ":2: mode 2: index 3, expected at most 2, as --dims says",
         {.index_base = 1, .ndims = 2, .dims = {2, 2}}},
        {"0 1 1\n0 2 1\n",
         ":2: mode 2: index 2, expected at most 1, as --dims says",
         {.index_base = 0, .ndims = 2, .dims = {2, 2}}},
        {"1 2 1\n",
         ": 2 modes, as line 1 says, but --dims gives 3",
         {.index_base = 1, .ndims = 3, .dims = {2, 2, 2}}},
        {"1\n5\n1 1\n",
         ": 1 mode, as the header says, but --dims gives 2",
         {.index_base = 1, .ndims = 2, .dims = {2, 2}}},
        {"0 -1 1\n", ":1: mode 2: index -1, expected 0 or more", {.index_base = 0}},
        {"0 4294967295 1\n",
         ":1: mode 2: index 4294967295, expected at most 4294967294",
         {.index_base = 0}},
        {"1 99999999999999999999999999 1\n",
         ":1: mode 2: index 99999999999999999999999999, expected at most 4294967295",
         {.index_base = 1}},
        {"1 +1 1\n", ":1: mode 2: index '+1', expected a whole number", {.index_base = 1}},
        {"1 - 1\n", ":1: mode 2: index '-', expected a whole number", {.index_base = 1}},
        {"1 1e2 1\n", ":1: mode 2: index '1e2', expected a whole number", {.index_base = 1}},
        {"1 1\r 1\n",
         ":1: a carriage return within the line, expected lines that end in LF or CR LF",
         {.index_base = 1}},
        {"1 1\n2\n",
         ":2: 1 column, expected 2: 1 index and a value, as line 1 says",
         {.index_base = 1}},
        {"1 1 1 1\n1 1",
         ":2: the last line is cut off: 2 columns, expected 4: 3 indices and a "
         "value, as line 1 says",
         {.index_base = 1}},
        {"1 1 1 1\n1 1 1 1 1",
         ":2: 5 columns, expected 4: 3 indices and a value, as line 1 says",
         {.index_base = 1}},
        {"1 1 \x7f\n",
         ":1: value '\\x7f', expected a number, or nan for an unknown entry",
         {.index_base = 1}},
        {"1 1 1.5.5\n",
         ":1: value '1.5.5', expected a number, or nan for an unknown entry",
         {.index_base = 1}},
        {"1 1 -\n",
         ":1: value '-', expected a number, or nan for an unknown entry",
         {.index_base = 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tns_sizes tiny = {100, 1};
        write_file(cases[i].text, strlen(cases[i].text));
        assert_refused(path, &cases[i].options, &usual, cases[i].message);
        assert_refused(path, &cases[i].options, &tiny, cases[i].message);
    }
}

/* Where the order is given and values may be left out. */
static void refuses_other_coordinates(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1 1\n2 3\n", ":2: mode 2: index 3, expected at most 2, as the model says"},
        {"1 1 5\n2 3 5\n", ":2: mode 2: index 3, expected at most 2, as the model says"},
        {"1 1\n2 2 1\n", ":2: 3 columns, expected 2: 2 indices without a value, as line 1 says"},
        {"2 2 1\n1 1\n", ":2: 2 columns, expected 3: 2 indices and a value, as line 1 says"},
        {"2 2 1\n1 1",
         ":2: the last line is cut off: 2 columns, expected 3: 2 indices and a value, as line 1 "
         "says"},
        {"2 2\n1", ":2: the last line is cut off: 1 column, expected 2: 2 indices without a value, "
                   "as line 1 says"},
        {"1 1 1 1\n", ":1: 4 columns, expected 2 or 3: 2 indices with or without a value, as the "
                      "model says"},
        {"2\n2 2\n\n1\n", ":4: 1 column, expected 2 or 3: 2 indices with or without a value, as "
                          "the model says"},
        {"2\n2 2\n1 1\n1 1 1\n",
         ":4: 3 columns, expected 2: 2 indices without a value, as the header says"},
        {"3\n2 2 2\n1 1 1\n", ": 3 modes, as the header says, but the model gives 2"},
        {"2\n2 2\n", ": no entries after the header"},
        {"1 x\n", ":1: mode 2: index 'x', expected a whole number"},
        {"1 0\n", ":1: mode 2: index 0, expected 1 or more (--index-base 0 for zero-based files)"},
        {"", ": is empty"},
    };
    const struct tns_options given = {.index_base = 1,
                                      .ndims = 2,
                                      .dims = {2, 2},
                                      .order_origin = "the model",
                                      .values_optional = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tns_sizes tiny = {100, 1};
        write_file(cases[i][0], strlen(cases[i][0]));
        assert_refused(path, &given, &usual, cases[i][1]);
        assert_refused(path, &given, &tiny, cases[i][1]);
    }
    struct tns_options needed = given;
    needed.values_optional = false;
    write_file("2 2\n", 4);
    assert_refused(path, &needed, &usual,
                   ":1: 2 columns, expected 3: 2 indices and a value, as the model says");
    write_file("2\n2 2\n2 2\n", 10);
    assert_refused(path, &needed, &usual,
                   ":3: 2 columns, expected 3: 2 indices and a value, as the model says");
    struct tns_options single = given;
    single.ndims = 1;
    write_file("1\nx\n", 4);
    assert_refused(path, &single, &usual, ":2: mode 1: index 'x', expected a whole number");
    write_file("x\n", 2);
    assert_refused(path, &single, &usual, ":1: mode 1: index 'x', expected a whole number");
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_refused(folder, &one_based, &usual, ": is a directory, expected a file");
    assert_refused("/nowhere/x.tns", &one_based, &usual, ": No such file or directory");
    if (geteuid() != 0) {
        write_file("1 1\n", 4);
        assert_int_equal(chmod(path, 0), 0);
        assert_refused(path, &one_based, &usual, ": Permission denied");
        assert_int_equal(chmod(path, 0600), 0);
    }
    write_file("1 1\n# 8901234\n1 1\n", 18);
    struct tns_sizes sizes = {9, 1};
    assert_refused(path, &one_based, &sizes,
                   ":2: line of more than 9 bytes, expected indices and a value");
}

/* Wherever the bad line is among many, its number is right; of several the first one counts. */
static void one_bad_line_among_many(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    char *text = malloc(LINES * 16 + 1);
    uint8_t *gzip = malloc(LINES * 16 + 2000);
    assert_true(text && gzip);
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {1 << 20, 64}, {3000, 100}};
    static const int where[] = {1, 2, 3, 999, 7777, 19999, 20000};
    for (size_t w = 0; w < sizeof where / sizeof *where; w++) {
        char *p = text;
        for (int i = 1; i <= LINES; i++) {
            bool bad = i == where[w] || (i > where[w] && i % 5000 == 0);
            if (i % 10 == 0 && !bad)
                p += sprintf(p, "# %d\n", i);
            else
                p += sprintf(p, "%d 7 %s\n", i, bad ? "bad" : "1");
        }
        char message[100];
        snprintf(message, sizeof message,
                 ":%d: value 'bad', expected a number, or nan for an unknown entry", where[w]);
        for (int i = 0; i < 6; i++) {
            size_t size = (size_t)(p - text);
            if (i % 2)
                write_file(gzip, compress_text(text, size, gzip));
            else
                write_file(text, size);
            assert_refused(path, &one_based, &sizes[i / 2], message);
        }
    }
    free(gzip);
    free(text);
}

/* A gzip file cut anywhere, or with any byte changed, is refused or, where the change does not
 * matter, read as it was. */
static void every_damage_to_gzip_is_found(void **state)
{
    (void)state;
    uint64_t seed = 7;
    char *text = random_text(3, 30, 1, &seed);
    size_t size = strlen(text);
    uint8_t *gzip = malloc(size + 1000);
    assert_non_null(gzip);
    size_t bytes = compress_text(text, size, gzip);
    struct entries expected;
    naive_parse(text, 1, &expected);
    for (size_t i = 0; i < bytes; i++) {
        struct coo x;
        struct tensor_reader report;
        struct error error;
        write_file(gzip, i);
        assert_int_equal(read_file(&x, &one_based, &usual, &report, &error), STATUS_INPUT);

        gzip[i] ^= 0x10;
        write_file(gzip, bytes);
        gzip[i] ^= 0x10;
        enum status status = read_file(&x, &one_based, &usual, &report, &error);
        if (status == STATUS_OK)
            assert_entries(&x, &expected); /* the header's time, system and flags */
        else
            assert_int_equal(status, STATUS_INPUT);
        /* Behind the header only the last bits before the trailer stand for nothing. */
        if (i >= 10 && i != bytes - 9)
            assert_int_equal(status, STATUS_INPUT);
        coo_free(&x);
    }
    free_entries(&expected);
    free(gzip);
    free(text);
}

/* A bad line is reported although whoever writes the pipe neither goes on nor closes it. */
static void does_not_wait_for_a_silent_pipe(void **state)
{
    (void)state;
    int end[2];
    assert_int_equal(pipe(end), 0);
    static char text[300001];
    memset(text, '\n', 300000);
    memcpy(text, "1 x 3\n", 6);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(end[0]);
        ssize_t written = write(end[1], text, 300000);
        pause();
        _exit(written < 0);
    }
    close(end[1]);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    struct coo x;
    struct error error = {0};
    struct tns_options options = {.index_base = 1, .sizes = {100000, 1000}};
    assert_int_equal(read_as_text(&x, name, &options, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, ":1: mode 2: index 'x', expected a whole number"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(end[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_not_wait_for_a_silent_pipe),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_what_the_options_exclude),
        cmocka_unit_test(refuses_other_coordinates),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(one_bad_line_among_many),
        cmocka_unit_test(every_damage_to_gzip_is_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
