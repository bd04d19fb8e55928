/* Large writes in pieces: every byte arrives at its place, and every writer's failure is returned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/outfile_extents.h"
#include "support/scratch.h"

#define LARGE (((size_t)20 << 20) + 3)
#define FILES 3

static char *make_bytes(size_t size)
{
    struct error error = {0};
    char *bytes = memory_array(size, 1, &error);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    return bytes;
}

static void assert_file(const char *name, size_t offset, const char *bytes, size_t size)
{
    struct error error = {0};
    char *found = memory_array(size + 1, 1, &error);
    assert_non_null(found);
    FILE *file = fopen(scratch_path(name), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fread(found, 1, size, file), size);
    assert_memory_equal(found, bytes, size);
    fclose(file);
    memory_free(found);
}

/* Two extents of one file, a small one of another, and an empty one. */
static void test_bytes(void **state)
{
    (void)state;
    struct error error = {0};
    char *bytes = make_bytes(LARGE);
    struct outfile file[FILES];
    static const char *const name[FILES] = {"a", "b", "c"};
    for (int i = 0; i < FILES; i++)
        assert_int_equal(outfile_open(&file[i], scratch_path(name[i]), &error), STATUS_OK);
    const struct outfile_extent extents[] = {{&file[0], bytes, LARGE, 7},
                                             {&file[1], bytes + 1, 100, 0},
                                             {&file[0], bytes + 9, LARGE - 9, LARGE + 7},
                                             {&file[2], bytes, 0, 0}};
    assert_int_equal(outfile_write_extents(extents, 4, &error), STATUS_OK);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(outfile_commit(&file[i], &error), STATUS_OK);
    assert_file("a", 7, bytes, LARGE);
    assert_file("a", LARGE + 7, bytes + 9, LARGE - 9);
    assert_file("b", 0, bytes + 1, 100);
    assert_file("c", 0, bytes, 0);
    assert_int_equal(outfile_write_extents(NULL, 0, &error), STATUS_OK);
    memory_free(bytes);
}

static void test_failure(void **state)
{
    (void)state;
    struct error error = {0};
    char *bytes = make_bytes(LARGE);
    struct outfile file[2];
    assert_int_equal(outfile_open(&file[0], scratch_path("a"), &error), STATUS_OK);
    assert_int_equal(outfile_open(&file[1], scratch_path("b"), &error), STATUS_OK);
    int kept = file[1].fd;
    file[1].fd = open("/dev/null", O_RDONLY);
    const struct outfile_extent extents[] = {{&file[0], bytes, LARGE, 0},
                                             {&file[1], bytes, LARGE, 0}};
    assert_int_equal(outfile_write_extents(extents, 2, &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "/b: cannot be written"));
    close(file[1].fd);
    file[1].fd = kept;
    outfile_discard(&file[0]);
    outfile_discard(&file[1]);
    assert_int_equal(scratch_entries(0), 0);
    memory_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failure, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
