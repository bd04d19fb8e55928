/* Files that are read by position, and files that become shorter meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/infile.h"
#include "base/memory.h"
#include "support/scratch.h"

enum { SIZE = 3 * 262144 + 7 };
static char bytes[SIZE];

static const char *write_bytes(void)
{
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    return scratch_file("x", bytes, SIZE);
}

static void test_read(void **state)
{
    (void)state;
    static char got[SIZE];
    struct error error = {0};
    struct infile f;
    size_t size;
    const char *path = write_bytes();
    assert_int_equal(infile_open(&f, path, &error), STATUS_OK);
    assert_int_equal(f.size, SIZE);
    assert_int_equal(infile_read(&f, got, SIZE, 0, &error), STATUS_OK);
    assert_memory_equal(got, bytes, SIZE);
    assert_int_equal(infile_read(&f, got, 1000, SIZE - 1000, &error), STATUS_OK);
    assert_memory_equal(got, bytes + SIZE - 1000, 1000);
    assert_int_equal(infile_read(&f, got, 0, SIZE, &error), STATUS_OK);
    infile_close(&f);
    infile_close(&f);
    char *whole = infile_whole(path, &size, &error);
    assert_non_null(whole);
    assert_int_equal(size, SIZE);
    assert_memory_equal(whole, bytes, SIZE);
    memory_free(whole);
    whole = infile_whole(scratch_text("empty", ""), &size, &error);
    assert_non_null(whole);
    assert_int_equal(size, 0);
    memory_free(whole);
}

static void test_shorter(void **state)
{
    (void)state;
    static char got[SIZE];
    char expected[1000];
    struct error error = {0};
    struct infile f;
    const char *path = write_bytes();
    assert_int_equal(infile_open(&f, path, &error), STATUS_OK);
    assert_int_equal(truncate(path, SIZE - 1), 0);
    assert_int_equal(infile_read(&f, got, SIZE, 0, &error), STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s: became shorter while it was read", path);
    assert_string_equal(error.message, expected);
    infile_close(&f);
}

static void assert_refused(const char *path, const char *reason)
{
    struct error error = {0};
    struct infile f;
    size_t size;
    assert_int_equal(infile_open(&f, path, &error), STATUS_INPUT);
    assert_memory_equal(error.message, path, strlen(path));
    assert_non_null(strstr(error.message, reason));
    infile_close(&f);
    error = (struct error){0};
    assert_null(infile_whole(path, &size, &error));
    assert_int_equal(error.status, STATUS_INPUT);
}

/* A pipe that nobody writes to does not make the program wait. */
static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_refused(scratch_path("none"), "No such file");
    assert_refused(scratch_folder, "it is a directory");
    assert_refused(scratch_path("pipe"), "it is not a regular file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_shorter, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_refusals, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("files read by position", tests, NULL, NULL);
}
