/* The predicted size of a model's text, and the message about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "commands/cpd/cpd_job.h"
#include "support/models.h"

static uint64_t size_of_files(const struct ktensor *k, unsigned format)
{
    struct error error = {0};
    struct ktensor_files files;
    uint64_t size = 0;
    model_write(k, format);
    assert_int_equal(ktensor_files_name(&files, k->shape.order, scratch_path("m"), format, &error),
                     STATUS_OK);
    for (int i = 0; i < files.count; i++) {
        struct stat s;
        assert_int_equal(stat(files.path[i], &s), 0);
        size += (uint64_t)s.st_size;
    }
    ktensor_files_free(&files);
    scratch_entries(1);
    return size;
}

static void assert_about(uint64_t bytes, uint64_t expected)
{
    if (bytes < expected - expected / 20 - 200 || bytes > expected + expected / 20 + 200)
        fail_msg("%ju bytes, expected about %ju", (uintmax_t)bytes, (uintmax_t)expected);
}

static void test_sizes(void **state)
{
    (void)state;
    static const uint64_t dims[] = {4096, 3, 700};
    struct ktensor k = model_make(SHAPE(3, dims), 8);
    for (uint64_t i = 0; i < 4096 * 8; i += 8) /* one column is short */
        k.factor[0][i] = 0;
    uint64_t text = size_of_files(&k, KTENSOR_TEXT);
    assert_about(ktensor_text_bytes(&k, KTENSOR_TEXT), text);
    assert_about(ktensor_text_bytes(&k, KTENSOR_KTNS), size_of_files(&k, KTENSOR_KTNS));
    assert_about(ktensor_text_bytes(&k, KTENSOR_TEXT | KTENSOR_KTNS | KTENSOR_NPY), 2 * text);
    assert_int_equal(ktensor_text_bytes(&k, KTENSOR_NPY), 0);
    assert_about(ktensor_bytes(&k.shape, k.rank), size_of_files(&k, KTENSOR_NPY));
    assert_int_equal(ktensor_bytes(&k.shape, k.rank), (4096 + 3 + 700 + 1) * 8 * 8);
    ktensor_free(&k);
}

static void test_text(void **state)
{
    (void)state;
    char text[160];
    cpd_format_hint_text(2000000000, 1000000000, text, sizeof text);
    assert_string_equal(text, "");
    cpd_format_hint_text(27000000000, 11800000000, text, sizeof text);
    assert_string_equal(text, "writing about 27.0 GB of text: --format npy would take 11.8 GB, and "
                              "less time to write and to read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, scratch_make, scratch_remove),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
