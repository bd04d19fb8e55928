/* Files of a model that others overwrite between two steps of reading them: what was judged stays
 * as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/ktensor/model_text.h"
#include "formats/ktensor/npy.h"
#include "support/scratch.h"

static void test_npy(void **state)
{
    (void)state;
    enum { ROWS = 10000, COLS = 3, BYTES = 128 + 8 * ROWS * COLS };
    static const char *order[] = {"False", "True"};
    static char bytes[BYTES];
    static double matrix[ROWS * COLS], entry[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        entry[i] = i;
    for (int columns = 0; columns < 2; columns++) {
        struct npy_file a;
        struct error error = {0};
        memset(bytes, ' ', 128);
        memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
        int used =
            snprintf(bytes + 10, 118, "{'descr': '<f8', 'fortran_order': %s, 'shape': (%d, %d)}",
                     order[columns], ROWS, COLS);
        bytes[10 + used] = ' ';
        bytes[127] = '\n';
        memcpy(bytes + 128, entry, sizeof entry);
        const char *path = scratch_file("x.npy", bytes, BYTES);
        assert_int_equal(npy_open(&a, path, &error), STATUS_OK);
        memset(bytes, '9', 128); /* another header, of another length */
        FILE *file = fopen(path, "r+b");
        assert_int_equal(fwrite(bytes, 1, 128, file), 128);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(npy_matrix(&a, a.rows, matrix, &error), STATUS_OK);
        for (int i = 0; i < ROWS; i++)
            for (int r = 0; r < COLS; r++)
                assert_true(matrix[i * COLS + r] == (columns ? r * ROWS + i : i * COLS + r));
        assert_int_equal(truncate(path, BYTES - 1), 0);
        assert_int_equal(npy_matrix(&a, a.rows, matrix, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, "x.npy: became shorter while it was read"));
        npy_file_close(&a);
    }
}

/* Text whose line ends go. */
static void test_text(void **state)
{
    (void)state;
    enum { LINES = 100000, LINE = 4 };
    static char text[LINE * LINES + 1];
    static double matrix[2 * LINES];
    struct model_text t;
    struct error error = {0};
    for (int i = 0; i < LINES; i++)
        memcpy(text + LINE * i, "1 2\n", LINE + 1);
    const char *path = scratch_text("x.mat", text);
    assert_int_equal(model_text_open(&t, path, &error), STATUS_OK);
    memset(text, '7', LINE * LINES);
    FILE *file = fopen(path, "r+b");
    assert_int_equal(fwrite(text, 1, LINE * LINES, file), LINE * LINES);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(t.items, LINES);
    assert_int_equal(model_text_matrix(&t, 0, LINES, 2, matrix, &error), STATUS_OK);
    for (int i = 0; i < LINES; i++)
        assert_true(matrix[2 * i] == 1 && matrix[2 * i + 1] == 2);
    assert_int_equal(model_text_lines(&t, model_text_item(&t, LINES - 1).begin), LINES - 1);
    model_text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_npy, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_text, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("models that others change", tests, NULL, NULL);
}
