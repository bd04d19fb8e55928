#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <omp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

/* --- A file that becomes shorter while it is read ends the program with one line that names the
 * file. --- */

/* Runs `work` in a child whose maps are guarded; what it writes to standard error is in text[0..
 * room). Returns the status that waitpid gives. */
static int run_guarded(void (*work)(const char *path), const char *path, char *text, size_t room)
{
    int end[2], status;
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(end[1], STDERR_FILENO);
        signal(SIGBUS, SIG_DFL); /* cmocka has one */
        omp_set_num_threads(1);  /* those of the parent are not here */
        map_guard_install("blco test", 2);
        work(path);
        _exit(99);
    }
    close(end[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < room - 1; used += (size_t)(got > 0 ? got : 0))
        got = read(end[0], text + used, room - 1 - used);
    text[used] = '\0';
    close(end[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_told(void (*work)(const char *path), const char *path)
{
    char text[2000], expected[1000];
    int status = run_guarded(work, path, text, sizeof text);
    snprintf(expected, sizeof expected,
             "blco test: %s: became shorter while it was read, or its disk failed\n", path);
    assert_string_equal(text, expected);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void read_cut(const char *path)
{
    struct filemap map;
    struct error error = {0};
    if (filemap_open(&map, path, &error) != STATUS_OK || truncate(path, 5000) != 0)
        return;
    (void)((volatile const char *)map.bytes)[map.size - 1];
}

static void test_shorter(void **state)
{
    (void)state;
    static char bytes[100000];
    assert_told(read_cut, scratch_file("x", bytes, sizeof bytes));
}

/* What no map guards dies as before, also where a map was and is gone. */
static void read_elsewhere(const char *path)
{
    struct filemap map;
    struct error error = {0};
    if (filemap_open(&map, path, &error) != STATUS_OK || truncate(path, 0) != 0)
        return;
    int fd = open(path, O_RDONLY);
    volatile const char *bytes = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    filemap_close(&map);
    (void)bytes[0];
}

static void test_elsewhere(void **state)
{
    (void)state;
    char text[100];
    int status = run_guarded(read_elsewhere, scratch_text("x", "abc"), text, sizeof text);
#if defined(__SANITIZE_ADDRESS__)
    assert_true(status != 0);
#else
    assert_string_equal(text, "");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
#endif
}

/* Maps beside the guarded one are maps all the same, and after them one is guarded again
 * (test_shorter). */
static void test_many_maps(void **state)
{
    (void)state;
    enum { MAPS = 10 };
    struct filemap map[MAPS];
    struct error error = {0};
    const char *path = scratch_text("x", "abc");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MAPS; i++)
            assert_int_equal(filemap_open(&map[i], path, &error), STATUS_OK);
        for (int i = 0; i < MAPS; i++)
            filemap_close(&map[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole_file),
        TEST(test_empty_file),
        TEST(test_refusals),
        cmocka_unit_test_setup_teardown(test_shorter, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_elsewhere, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_many_maps, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_shorter, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
