#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/filemap.h"
#include "support/scratch.h"

static void test_whole_file(void **state)
{
    (void)state;
    enum { SIZE = 3 * 65536 + 7 };
    static char bytes[SIZE];
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    struct error error = {0};
    struct filemap map;
    assert_int_equal(filemap_open(&map, scratch_file("x", bytes, SIZE), &error), STATUS_OK);
    assert_int_equal(map.size, SIZE);
    assert_memory_equal(map.bytes, bytes, SIZE);
    /* bytes that were given back, and ranges that are no whole page, none or too long, stay
     * readable */
    filemap_let_go(&map, 0, SIZE);
    filemap_let_go(&map, 100, 70000);
    filemap_let_go(&map, 5, 5);
    filemap_let_go(&map, 70000, (size_t)10 * SIZE);
    assert_memory_equal(map.bytes, bytes, SIZE);
    filemap_close(&map);
    assert_int_equal(map.size, 0);
    filemap_close(&map);
}

static void test_empty_file(void **state)
{
    (void)state;
    struct error error = {0};
    struct filemap map;
    assert_int_equal(filemap_open(&map, scratch_text("x", ""), &error), STATUS_OK);
    assert_int_equal(map.size, 0);
    assert_string_equal(map.bytes, "");
    filemap_let_go(&map, 0, 0);
    filemap_close(&map);
}

static void assert_refused(const char *path, const char *reason)
{
    struct error error = {0};
    struct filemap map;
    assert_int_equal(filemap_open(&map, path, &error), STATUS_INPUT);
    assert_memory_equal(error.message, path, strlen(path));
    assert_non_null(strstr(error.message, reason));
    assert_int_equal(map.size, 0);
    filemap_close(&map);
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole_file),
        TEST(test_empty_file),
        TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
