/* A tensor's file that others overwrite between two steps of reading it: what was judged stays as
 * it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "formats/blco/packed_tensor.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns.h"
#include "support/blco_files.h"
#include "support/scratch.h"

enum { LINES = 30000, LINE = 6 };

/* Overwrites bytes [from, to) of the file in place. */
static void fill_file(const char *path, char byte, long from, long to)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, from, SEEK_SET), 0);
    for (long i = from; i < to; i++)
        assert_int_equal(fputc(byte, file), (unsigned char)byte);
    assert_int_equal(fclose(file), 0);
}

static const char *write_lines(void)
{
    static char text[LINE * LINES + 1];
    for (int i = 0; i < LINES; i++)
        memcpy(text + LINE * i, "1 2 3\n", LINE + 1);
    return scratch_text("x.tns", text);
}

/* After a window is read, the file becomes another one: of line ends alone, more text lines than
 * there is room for; of blanks, none at all. */
static void check_text(char byte)
{
    static const struct tns_options options = {
        .index_base = 1, .sizes = {.window = LINE * LINES / 2, .section = 1 << 12}};
    const char *path = write_lines();
    struct tensor_reader r = {
        .format = &tensor_text, .path = path, .tns = &options, .cut = TENSOR_STEPS};
    struct error error = {0};
    assert_int_equal(tensor_reader_open(&r, &error), STATUS_OK); /* reads the first window */
    fill_file(path, byte, 0, LINE * LINES / 2);
    assert_int_equal(tensor_reader_next(&r, &error), STATUS_OK);
    assert_int_equal(r.piece.nnz, LINES / 2);
    for (uint64_t i = 0; i < r.piece.nnz; i++)
        assert_true(r.piece.index[0][i] == 0 && r.piece.index[1][i] == 1 && r.piece.value[i] == 3);
    tensor_reader_close(&r);
}

static void test_text(void **state)
{
    (void)state;
    check_text('\n');
    check_text(' ');
    check_text('7');
}

static void test_shorter_text(void **state)
{
    (void)state;
    const char *path = write_lines();
    struct line_reader r;
    struct line_window window;
    struct error error = {0};
    assert_int_equal(line_reader_open(&r, path, 1 << 12, &error), STATUS_OK);
    assert_int_equal(truncate(path, LINE * LINES / 2), 0);
    while (line_reader_next(&r, &window, &error) == STATUS_OK && window.begin < window.end)
        ;
    assert_int_equal(error.status, STATUS_INPUT);
    assert_non_null(strstr(error.message, "x.tns: became shorter while it was read"));
    line_reader_close(&r);
}

static const char *write_tensor(struct coo *x)
{
    struct external_sort_report report;
    struct error error = {0};
    const char *path = scratch_path("x.blco");
    naive_random_coo(x, &(struct shape){3, {300, 200, 500}}, 200000, 1, 0);
    assert_int_equal(write_blco(x, path, &report, &error), STATUS_OK);
    return path;
}

/* Once a .blco file is open, nothing that others write into it makes a reader leave its arrays. */
static void test_blco(void **state)
{
    (void)state;
    struct coo x, got, sample;
    struct blco_file f;
    struct packed_tensor p;
    struct error error = {0};
    double sum;
    const char *path = write_tensor(&x);
    uint64_t nnz = x.nnz;
    assert_int_equal(blco_file_open(&f, path, &error), STATUS_OK);
    fill_file(path, '\xff', 0, (long)f.in.size);
    assert_int_equal(f.header->nnz, nnz);
    assert_int_equal(blco_file_read(&f, &got, NULL, &error), STATUS_INPUT);
    assert_non_null(
        strstr(error.message, "x.blco: damaged: the checksum of nonzeros from number 1"));
    error = (struct error){0};
    assert_int_equal(packed_tensor_load(&p, &f, NULL, &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(packed_tensor_file_norm_sq(&f, &sum, &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(blco_sample(&sample, &f, 0, f.header->nsegments, 3, &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(packed_tensor_load_lines(&p, &f, &error), STATUS_OK); /* unchecked */
    packed_tensor_free(&p);
    assert_int_equal(truncate(path, 5000), 0);
    assert_int_equal(blco_file_read(&f, &got, NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "x.blco: became shorter while it was read"));
    error = (struct error){0};
    assert_int_equal(blco_sample(&sample, &f, 0, f.header->nsegments, 3, &error), STATUS_INPUT);
    error = (struct error){0};
    assert_int_equal(packed_tensor_load_lines(&p, &f, &error), STATUS_INPUT);
    blco_file_close(&f);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_shorter_text, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_blco, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("inputs that others change", tests, NULL, NULL);
}
