#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/file_systems.h"

/* Root may write anywhere, so a child gives that up first. */
static void as_nobody(void (*check)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        check();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void check_denied(void)
{
    const char *name[] = {"new", "old"};
    for (int i = 0; i < 2; i++) {
        struct error error = {0};
        struct outfile f;
        if (outfile_open(&f, scratch_path(name[i]), &error) != STATUS_OUTPUT ||
            !strstr(error.message, "Permission denied"))
            _exit(3);
    }
}

static void test_read_only_folder(void **state)
{
    (void)state;
    scratch_text("old", "x");
    assert_int_equal(chmod(scratch_folder, 0555), 0);
    as_nobody(check_denied);
    assert_int_equal(chmod(scratch_folder, 0777), 0);
    assert_int_equal(scratch_entries(0), 1);
}

/* The disk is full after 100000 bytes. */
static void check_full_disk(void)
{
    const struct rlimit limit = {100000, RLIM_INFINITY};
    char *bytes = calloc(60000, 1);
    if (!bytes || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(2);
    for (int at = 0; at < 2; at++)
        do {
            struct error error = {0};
            struct outfile f;
            if (outfile_open(&f, scratch_path("x"), &error) != STATUS_OK ||
                outfile_write(&f, bytes, 60000, &error) != STATUS_OK)
                _exit(3);
            enum status status = at ? outfile_write_at(&f, bytes, 60000, 60000, &error)
                                    : outfile_write(&f, bytes, 60000, &error);
            if (status != STATUS_OUTPUT ||
                !strstr(error.message, "/x: cannot be written: File too"))
                _exit(4);
            outfile_discard(&f);
            if (scratch_entries(0) != 1)
                _exit(5);
        } while (next_file_system());
    free(bytes);
}

static void test_full_disk(void **state)
{
    (void)state;
    scratch_text("x", "old");
    assert_int_equal(chmod(scratch_folder, 0777), 0);
    assert_int_equal(chmod(scratch_path("x"), 0666), 0);
    as_nobody(check_full_disk);
    assert_content("x", "old");
}

/* A file whose name the system refuses: the older one stays. */
static void test_failing_commit(void **state)
{
    (void)state;
    do {
        for (int fault = 0; fault < 2; fault++) {
            scratch_text("x", "old");
            struct error error = {0};
            renames_left = fault == 0 ? 0 : PLENTY;
            no_fsync = fault == 1;
            assert_int_equal(write_file(scratch_path("x"), "new", &error), STATUS_OUTPUT);
            no_fsync = 0;
            renames_left = PLENTY;
            assert_non_null(strstr(error.message, "/x: cannot be written: "));
            assert_content("x", "old");
            assert_int_equal(scratch_entries(0), 1);
        }
    } while (next_file_system());
}

/* A process that is killed leaves no file. */
static void test_killed(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error error = {0};
        struct outfile f;
        if (outfile_open(&f, scratch_path("x"), &error) == STATUS_OK)
            outfile_write(&f, "abc", 3, &error);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(scratch_entries(0), 0);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    for (long k = 0, fired = 1; fired; k++) {
        scratch_text("x", "old");
        struct error error = {0};
        memory_hook_set(k);
        enum status status = write_file(scratch_path("x"), "new", &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_content("x", fired ? "old" : "new");
        assert_int_equal(scratch_entries(0), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read_only_folder), TEST(test_full_disk),        TEST(test_failing_commit),
        TEST(test_killed),           TEST(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
