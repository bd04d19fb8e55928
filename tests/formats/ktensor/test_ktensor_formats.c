#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "formats/ktensor/ktensor_formats.h"

/* The flags of the rows are different bits and make up the set of all formats; every row can be
 * written, and read as one file or as a file for each matrix; every row has a word of its own, and
 * there are no others. */
static void test_rows(void **state)
{
    (void)state;
    unsigned all = 0;
    int whole = 0;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++) {
        const struct ktensor_format *f = &ktensor_formats[i];
        assert_int_equal(__builtin_popcount(f->flag), 1);
        assert_int_equal(all & f->flag, 0);
        all |= f->flag;
        whole += f->read != NULL;
        assert_true(!f->read == !!f->open);
        assert_true(f->begin && f->put);
        assert_non_null(word_of(ktensor_format_words, (int)f->flag));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(f->suffix, ktensor_formats[j].suffix);
    }
    assert_int_equal(all, KTENSOR_FORMATS);
    assert_true(whole <= 1);
    for (const struct word *w = ktensor_format_words; w->text; w++) {
        int value;
        assert_true(word_find(ktensor_format_words, w->text, strlen(w->text), &value));
        assert_int_equal(value, w->value);
        all &= ~(unsigned)value;
    }
    assert_int_equal(all, 0);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"a.b/m.mode1.csv", "a.b/m.mode2.csv", "a.b/m.lambda.csv",
                                        "a.b/m.mode1.mat", "a.b/m.mode2.mat", "a.b/m.lambda.mat",
                                        "a.b/m.mode1.npy", "a.b/m.mode2.npy", "a.b/m.lambda.npy",
                                        "a.b/m.ktns"};
    struct ktensor_files files;
    struct error error = {0};
    assert_int_equal(ktensor_files_name(&files, 2, "a.b/m", KTENSOR_FORMATS, &error), STATUS_OK);
    assert_int_equal(files.count, 10);
    for (int i = 0; i < files.count; i++)
        assert_string_equal(files.path[i], names[i]);
    ktensor_files_free(&files);
    ktensor_files_name(&files, MAX_ORDER, "m", KTENSOR_FORMATS, &error);
    assert_true(files.count <= KTENSOR_MOST_FILES);
    ktensor_files_free(&files);
    ktensor_files_name(&files, 2, "m", 0, &error);
    assert_int_equal(files.count, 0);
}

/* Only a name with the suffix of a format of one file is that of a file. */
static void test_names_of_files(void **state)
{
    (void)state;
    static const char *const stems[] = {"m",     "m.mat", "m.npy",    "ktns",       "m.ktns.",
                                        "mktns", "m.ktn", "a.ktns/m", "m.mode1.npy"};
    assert_int_equal(ktensor_file_format("m.ktns")->flag, KTENSOR_KTNS);
    assert_int_equal(ktensor_file_format("a/b.c.ktns")->flag, KTENSOR_KTNS);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        assert_null(ktensor_file_format(stems[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_of_files),
    };
    return cmocka_run_group_tests_name("ktensor_formats", tests, NULL, NULL);
}
