#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/file_systems.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "support/scratch.h"

static void test_appears_whole(void **state)
{
    (void)state;
    do {
        struct error error = {0};
        struct outfile f;
        assert_int_equal(outfile_open(&f, scratch_path("x"), &error), STATUS_OK);
        int unnamed = !no_unnamed_files && !no_naming;
        assert_int_equal(scratch_entries(0), unnamed ? 0 : 1);
        assert_int_equal(outfile_write(&f, "abc", 3, &error), STATUS_OK);
        assert_int_equal(outfile_write_at(&f, "fgh", 3, 5, &error), STATUS_OK);
        assert_int_equal(outfile_write_at(&f, "XY", 2, 3, &error), STATUS_OK);
        assert_int_equal(outfile_write(&f, "de", 2, &error), STATUS_OK);
        assert_int_not_equal(access(scratch_path("x"), F_OK), 0);
        assert_int_equal(outfile_commit(&f, &error), STATUS_OK);
        assert_int_equal(f.fd, -1);
        assert_content("x", "abcdefgh");
        assert_int_equal(scratch_entries(1), 1);
        outfile_discard(&f);
    } while (next_file_system());
}

static void test_relative_path(void **state)
{
    (void)state;
    char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(scratch_folder), 0);
    do {
        struct error error = {0};
        assert_int_equal(write_file("x", "abc", &error), STATUS_OK);
        assert_content("x", "abc");
        assert_int_equal(scratch_entries(1), 1);
    } while (next_file_system());
    assert_int_equal(chdir(old), 0);
    free(old);
}

/* A swap leaves the new file alone in the folder, or the old one. */
static void test_swaps(void **state)
{
    (void)state;
    do {
        struct outfile f;
        for (int i = 0; i < 2; i++) {
            struct error error = {0};
            assert_int_equal(outfile_open(&f, scratch_path("x"), &error), STATUS_OK);
            assert_int_equal(outfile_write(&f, i ? "new" : "old", 3, &error), STATUS_OK);
            assert_int_equal(outfile_commit(&f, &error), STATUS_OK);
            assert_int_equal(f.fd, -1);
            assert_content("x", i ? "new" : "old");
            assert_int_equal(scratch_entries(0), 1);
        }
        struct error error = {0};
        assert_int_equal(outfile_open(&f, scratch_path("x"), &error), STATUS_OK);
        scratch_entries(1);
        assert_int_equal(mkdir(scratch_path("x"), 0777), 0); /* in the way of the new name */
        assert_int_equal(outfile_commit(&f, &error), STATUS_OUTPUT);
        assert_int_equal(f.fd, -1);
        assert_int_equal(scratch_entries(1), 1);
    } while (next_file_system());
}

static void test_replaces(void **state)
{
    (void)state;
    for (no_hard_links = 0; no_hard_links < 2; no_hard_links++)
        do {
            struct error error = {0};
            scratch_text("x", "a longer old file");
            assert_int_equal(write_file(scratch_path("x"), "new", &error), STATUS_OK);
            assert_content("x", "new");
            assert_int_equal(scratch_entries(1), 1);
        } while (next_file_system());
}

static void test_permissions_follow_umask(void **state)
{
    (void)state;
    const mode_t masks[] = {022, 027, 077, 002};
    do {
        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
            mode_t old = umask(masks[i]);
            struct error error = {0};
            assert_int_equal(write_file(scratch_path("x"), "abc", &error), STATUS_OK);
            umask(old);
            struct stat s;
            assert_int_equal(stat(scratch_path("x"), &s), 0);
            assert_int_equal(s.st_mode & 0777, 0666 & ~masks[i]);
        }
    } while (next_file_system());
}

static void test_discard(void **state)
{
    (void)state;
    struct outfile never = {0}; /* its descriptor is 0, and not its own */
    int standard_input = fcntl(0, F_GETFD);
    outfile_discard(&never);
    assert_int_equal(fcntl(0, F_GETFD), standard_input);
    do {
        struct error error = {0};
        struct outfile f;
        assert_int_equal(outfile_open(&f, scratch_path("x"), &error), STATUS_OK);
        assert_int_equal(outfile_write(&f, "abc", 3, &error), STATUS_OK);
        outfile_discard(&f);
        assert_int_equal(scratch_entries(0), 0);
        outfile_discard(&f);
    } while (next_file_system());
}

static void assert_refused(const char *path, const char *reason)
{
    struct error error = {0};
    struct outfile f;
    assert_int_equal(outfile_open(&f, path, &error), STATUS_OUTPUT);
    assert_memory_equal(error.message, path, strlen(path));
    assert_non_null(strstr(error.message, reason));
    assert_int_equal(f.fd, -1);
    outfile_discard(&f);
}

static void test_bad_paths(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    scratch_text("file", "x");
    do {
        assert_refused(scratch_path("none/x"), "no such folder");
        assert_refused(scratch_path("file/x"), "Not a directory");
        assert_refused(scratch_folder, "is a directory");
        assert_refused(scratch_path("x/"), "not a file name");
        assert_refused("", "not a file name");
        assert_refused(scratch_path(name), "too long");
        assert_refused("/dev/null", "not a regular file");
        assert_refused("/proc/x.mat", ": ");
        assert_int_equal(scratch_entries(0), 1);
    } while (next_file_system());
    assert_content("file", "x");
}

/* A file without a name: written and read, and nothing of it is ever seen. */
static void test_scratch_file(void **state)
{
    (void)state;
    do {
        struct error error = {0};
        struct outfile f;
        char bytes[8] = "";
        assert_int_equal(outfile_open_scratch(&f, scratch_path("x"), &error), STATUS_OK);
        assert_int_equal(scratch_entries(0), 0);
        assert_int_equal(outfile_write_at(&f, "world", 5, 6, &error), STATUS_OK);
        assert_int_equal(outfile_write_at(&f, "hello,", 6, 0, &error), STATUS_OK);
        assert_int_equal(outfile_read_at(&f, bytes, 7, 4, &error), STATUS_OK);
        assert_memory_equal(bytes, "o,world", 7);
        assert_int_equal(outfile_read_at(&f, bytes, 7, 5, &error), STATUS_OUTPUT);
        assert_non_null(strstr(error.message, "cannot be read back: it is too short"));
        outfile_discard(&f);
        assert_int_equal(f.fd, -1);
        assert_int_equal(scratch_entries(0), 0);
    } while (next_file_system());
    struct error error = {0};
    struct outfile f;
    assert_int_equal(outfile_open_scratch(&f, scratch_path("none/x"), &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "there is no such folder"));
}

/* What a killed process has left under temporary names goes; files in use, files of other hosts and
 * other files stay. */
static void test_clean(void **state)
{
    (void)state;
    struct error error = {0};
    struct outfile f;
    no_unnamed_files = 1;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (outfile_open(&f, scratch_path("x"), &error) == STATUS_OK)
                kill(getpid(), SIGKILL);
            _exit(1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    assert_int_equal(scratch_entries(0), 3);
    assert_int_equal(outfile_open(&f, scratch_path("y"), &error), STATUS_OK);
    scratch_text(".blco-1", "");
    scratch_text(".blco-000000000000000g", "");
    scratch_text("blco", "");
    char other[32]; /* the upper half of a key is the host's */
    snprintf(other, sizeof other, ".blco-%016llx", (unsigned long long)f.key ^ 1ull << 63);
    scratch_text(other, "");
    assert_int_equal(scratch_entries(0), 8);
    no_locks = 1;
    assert_int_equal(outfile_clean(scratch_path("x"), &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 8);
    no_locks = 0;
    assert_int_equal(outfile_clean(scratch_path("x"), &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 5);
    assert_int_equal(outfile_write(&f, "y", 1, &error), STATUS_OK);
    assert_int_equal(outfile_commit(&f, &error), STATUS_OK);
    assert_content("y", "y");
}

static void test_check(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(outfile_check(scratch_path("x"), &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 0);
    assert_int_equal(outfile_check(scratch_path("none/x"), &error), STATUS_OUTPUT);
    static const char *const open_files[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1",
                                             "/dev/null"};
    int out = dup(1);
    assert_non_null(freopen(scratch_path("y"), "w", stdout));
    for (int i = 0; i < 4; i++) {
        error = (struct error){0};
        assert_int_equal(outfile_check(open_files[i], &error), STATUS_OUTPUT);
        assert_non_null(strstr(error.message, "it is not a regular file"));
    }
    fflush(stdout);
    dup2(out, 1);
    close(out);
}

/* --- Large writes in pieces: every byte arrives at its place, and every writer's failure is
 * returned. --- */

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
        TEST(test_clean),
        TEST(test_scratch_file),
        TEST(test_check),
        TEST(test_appears_whole),
        TEST(test_relative_path),
        TEST(test_swaps),
        TEST(test_replaces),
        TEST(test_permissions_follow_umask),
        TEST(test_discard),
        TEST(test_bad_paths),
        cmocka_unit_test_setup_teardown(test_bytes, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failure, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
