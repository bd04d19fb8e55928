#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "support/scratch.h"

/* These stand in for the C library's, so that a test can let the system refuse. */
static int no_unnamed_files; /* as on NFS                                              */
static int no_naming;        /* unnamed files that cannot be given a name              */
static int no_hard_links;    /* as on FAT                                              */
static int no_fsync;
static int renames_left = 1000; /* the one after these fails                           */

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    if (no_naming) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int link(const char *path, const char *name)
{
    if (no_hard_links) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0);
}

int fsync(int fd)
{
    if (no_fsync) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    if (renames_left-- == 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int set_up(void **state)
{
    no_unnamed_files = no_naming = no_hard_links = no_fsync = 0;
    renames_left = 1000;
    signal(SIGXFSZ, SIG_IGN);
    return scratch_make(state);
}

static void assert_content(const char *name, const char *expected)
{
    char bytes[256];
    assert_int_equal(scratch_read(scratch_path(name), bytes, sizeof bytes), strlen(expected));
    assert_string_equal(bytes, expected);
}

static enum status write_file(const char *path, const char *text, struct error *error)
{
    struct outfile f;
    if (outfile_open(&f, path, error) != STATUS_OK)
        return error->status;
    if (outfile_write(&f, text, strlen(text), error) != STATUS_OK) {
        outfile_discard(&f);
        return error->status;
    }
    return outfile_commit(&f, 1, error);
}

/* Sets one kind of file system after the other: with unnamed files, without, with such that cannot
 * be named. */
static int next_file_system(void)
{
    if (!no_unnamed_files && !no_naming)
        return no_naming = 1;
    if (no_naming) {
        no_naming = 0;
        return no_unnamed_files = 1;
    }
    return no_unnamed_files = 0;
}

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
        assert_int_equal(outfile_commit(&f, 1, &error), STATUS_OK);
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

/* Three files, one of which replaces an old one; the system refuses at some step of the commit. */
static enum status commit_three(struct error *error)
{
    const char *name[] = {"a", "b", "c"};
    struct outfile f[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(outfile_open(&f[i], scratch_path(name[i]), error), STATUS_OK);
        assert_int_equal(outfile_write(&f[i], name[i], 1, error), STATUS_OK);
    }
    outfile_commit(f, 3, error);
    for (int i = 0; i < 3; i++)
        assert_null(f[i].path);
    return error->status;
}

static void test_commit_is_all_or_nothing(void **state)
{
    (void)state;
    do {
        for (int k = 0; k < 3; k++) {
            scratch_text("b", "old b");
            struct error error = {0};
            renames_left = k;
            assert_int_equal(commit_three(&error), STATUS_OUTPUT);
            assert_non_null(strstr(error.message, k == 0 ? "/a: " : k == 1 ? "/b: " : "/c: "));
            assert_content("b", "old b");
            assert_int_equal(scratch_entries(1), 1);
        }
        renames_left = 1000;
        scratch_text("b", "old b");
        struct error error = {0};
        no_fsync = 1;
        assert_int_equal(commit_three(&error), STATUS_OUTPUT);
        no_fsync = 0;
        assert_content("b", "old b");
        assert_int_equal(scratch_entries(0), 1);

        error = (struct error){0};
        assert_int_equal(commit_three(&error), STATUS_OK);
        assert_content("a", "a");
        assert_content("b", "b");
        assert_content("c", "c");
        assert_int_equal(scratch_entries(1), 3);
    } while (next_file_system());
}

/* Without hard links the new ones vanish again all the same. */
static void test_commit_fails_without_hard_links(void **state)
{
    (void)state;
    no_hard_links = 1;
    scratch_text("b", "old b");
    struct error error = {0};
    renames_left = 1;
    assert_int_equal(commit_three(&error), STATUS_OUTPUT);
    assert_content("b", "old b");
}

/* A process that is killed leaves nothing behind. */
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

static void test_check(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(outfile_check(scratch_path("x"), &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 0);
    assert_int_equal(outfile_check(scratch_path("none/x"), &error), STATUS_OUTPUT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scratch_file),
        TEST(test_check),
        TEST(test_appears_whole),
        TEST(test_relative_path),
        TEST(test_replaces),
        TEST(test_permissions_follow_umask),
        TEST(test_discard),
        TEST(test_bad_paths),
        TEST(test_read_only_folder),
        TEST(test_full_disk),
        TEST(test_commit_is_all_or_nothing),
        TEST(test_commit_fails_without_hard_links),
        TEST(test_killed),
        TEST(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
