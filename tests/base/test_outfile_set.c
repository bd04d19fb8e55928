/* Files that are replaced together: all or none, after any failure and any kill of the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/outfile_set.h"
#include "support/file_systems.h"
#include "support/sanitized.h"

#define FILES 3
#define ALL   (FILES + 1) /* with d, which is taken away */
#define OLD   3
static const char *const suffixes[ALL] = {"a", "b", "c", "d"};

/* Opens the files of the stem m and writes `text` to each; the last one is to be taken away. */
static enum status open_files(struct outfile *f, const char *text, struct error *error)
{
    char name[8];
    for (int i = 0; i < FILES && error->status == STATUS_OK; i++) {
        snprintf(name, sizeof name, "m.%s", suffixes[i]);
        if (outfile_open(&f[i], scratch_path(name), error) == STATUS_OK)
            outfile_write(&f[i], text, strlen(text), error);
    }
    if (error->status == STATUS_OK)
        outfile_set_take_away(&f[FILES], scratch_path("m.d"), error);
    return error->status;
}

/* Replaces the files of the stem m. */
static enum status write_set(const char *text, struct error *error)
{
    struct stem_lock lock = {0};
    struct outfile f[ALL] = {0};
    if (outfile_set_lock(&lock, scratch_path("m"), error) == STATUS_OK &&
        open_files(f, text, error) == STATUS_OK &&
        outfile_set_replace(&lock, f, ALL, error) == STATUS_OK)
        assert_int_equal(f[0].fd, -1);
    for (int i = 0; i < ALL; i++)
        outfile_discard(&f[i]);
    stem_lock_release(&lock);
    return error->status;
}

/* The older files: a, c and d. */
static void write_old(void)
{
    scratch_entries(1);
    scratch_text("m.a", "old");
    scratch_text("m.c", "old");
    scratch_text("m.d", "old");
}

static void assert_old(void)
{
    assert_content("m.a", "old");
    assert_content("m.c", "old");
    assert_content("m.d", "old");
    assert_int_not_equal(access(scratch_path("m.b"), F_OK), 0);
}

static void assert_new(void)
{
    for (int i = 0; i < FILES; i++) {
        char name[8];
        snprintf(name, sizeof name, "m.%s", suffixes[i]);
        assert_content(name, "new");
    }
    assert_int_not_equal(access(scratch_path("m.d"), F_OK), 0);
}

/* Reads the set as a reader does who minds the log. Whether all files are the new ones; fails where
 * some are, or where an old one is missing. */
static bool read_set(void)
{
    struct error error = {0};
    char *log = NULL, *path = NULL;
    int news = 0;
    assert_int_equal(stem_lock_read(scratch_path("m"), &log, &error), STATUS_OK);
    for (int i = 0; i < ALL; i++) {
        char bytes[16] = "";
        assert_int_equal(outfile_set_find(&path, log, scratch_path("m"), suffixes[i], &error),
                         STATUS_OK);
        bool there = path && scratch_read(path, bytes, sizeof bytes) > 0;
        bool is_new = i == FILES ? !there : strcmp(bytes, "new") == 0;
        bool no_old = i == 1; /* b */
        news += is_new;
        if (!is_new)
            assert_string_equal(bytes, no_old ? "" : "old");
        memory_free(path);
    }
    memory_free(log);
    assert_true(news == 0 || news == ALL);
    return news == ALL;
}

static void test_replaces(void **state)
{
    (void)state;
    for (no_hard_links = 0; no_hard_links < 2; no_hard_links++)
        do {
            for (no_locks = 0; no_locks < 2; no_locks++) {
                struct error error = {0};
                write_old();
                assert_int_equal(write_set("new", &error), STATUS_OK);
                assert_new();
                assert_int_equal(scratch_entries(0), FILES);
            }
        } while (next_file_system());
}

/* The system refuses at some step. */
static void test_failures(void **state)
{
    (void)state;
    for (no_hard_links = 0; no_hard_links < 2; no_hard_links++)
        do {
            int renames = no_hard_links ? FILES + OLD : FILES + 1;
            for (int k = 0; k <= renames; k++) {
                struct error error = {0};
                write_old();
                renames_left = k;
                assert_int_equal(write_set("new", &error), k < renames ? STATUS_OUTPUT : STATUS_OK);
                renames_left = PLENTY;
                if (k < renames) {
                    assert_non_null(strstr(error.message, ": cannot be written: Permission"));
                    assert_old();
                }
                assert_int_equal(scratch_entries(0), k < renames ? OLD : FILES);
            }
            for (int k = 0; k < 4;
                 k++) { /* the disk is full: for the lock's head, list, "replace" */
                struct error error = {0};
                write_old();
                writes_left = k;
                enum status status = write_set("new", &error);
                assert_int_equal(status, k < 3 ? STATUS_OUTPUT : STATUS_OK);
                writes_left = PLENTY;
                if (status != STATUS_OK)
                    assert_old();
                assert_int_equal(scratch_entries(0), status == STATUS_OK ? FILES : OLD);
            }
        } while (next_file_system());
    no_fsync = 1;
    struct error error = {0};
    write_old();
    assert_int_equal(write_set("new", &error), STATUS_OUTPUT);
    assert_old();
    assert_int_equal(scratch_entries(0), OLD);
}

/* In a child that is killed before its k-th call. Whether it was killed. */
static bool run_killed(int k, enum status (*work)(struct error *error))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error error = {0};
        kill_at = k;
        work(&error);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static enum status write_new(struct error *error)
{
    return write_set("new", error);
}

static enum status only_lock(struct error *error)
{
    struct stem_lock lock;
    if (outfile_set_lock(&lock, scratch_path("m"), error) == STATUS_OK)
        stem_lock_release(&lock);
    return error->status;
}

/* The third rename is refused, so that the old files are put back. */
static enum status fail_to_write(struct error *error)
{
    renames_left = 2;
    return write_set("new", error);
}

/* From one call of a recovery before which it is killed to the next. */
#define RECOVERY_STEP (SANITIZED ? 23 : 7)

/* Kills the work before each of its calls, and the recovery from each kill before some of its
 * calls: a reader always finds one set whole, and after a recovery the set stands under its names
 * and nothing else is left. */
static void kill_everywhere(enum status (*work)(struct error *error), int *olds, int *news)
{
    bool killed = true;
    for (int k = 0; killed; k++) {
        bool recovering = true;
        for (int j = k % RECOVERY_STEP; recovering && killed; j += RECOVERY_STEP) {
            struct error error = {0};
            write_old();
            killed = run_killed(k, work);
            bool is_new = read_set();
            recovering = killed && run_killed(j, only_lock);
            assert_int_equal(read_set(), is_new);
            if (only_lock(&error) != STATUS_OK)
                fail_msg("call %d, call %d of the recovery: %s", k, j, error.message);
            is_new ? assert_new() : assert_old();
            assert_int_equal(scratch_entries(0), is_new ? FILES : OLD);
            ++*(is_new ? news : olds);
        }
    }
}

static void test_killed_at_every_call(void **state)
{
    (void)state;
    for (no_hard_links = 0; no_hard_links < 2; no_hard_links++)
        do {
            int olds = 0, news = 0;
            kill_everywhere(write_new, &olds, &news);
            assert_true(olds > 30 && news > 15);
            olds = news = 0;
            kill_everywhere(fail_to_write, &olds, &news);
            assert_true(olds > 30);
        } while (next_file_system());
}

/* A second process that wants the stem meanwhile is refused, and harms nothing. */
static void test_second_is_refused(void **state)
{
    (void)state;
    struct error error = {0}, refusal = {0};
    struct stem_lock lock, second;
    char holder[64];
    assert_int_equal(outfile_set_lock(&lock, scratch_path("m"), &error), STATUS_OK);
    assert_int_equal(outfile_set_lock(&second, scratch_path("m"), &refusal), STATUS_OUTPUT);
    snprintf(holder, sizeof holder, "/m.lock: cannot be written: blco, process %ld on host ",
             (long)getpid());
    assert_non_null(strstr(refusal.message, holder));
    assert_non_null(strstr(refusal.message, " writes files of this stem"));
    stem_lock_release(&second);
    assert_int_equal(scratch_entries(0), 1);
    assert_int_equal(outfile_set_lock(&second, scratch_path("m2"), &error), STATUS_OK);
    stem_lock_release(&second);
    stem_lock_release(&lock);
    assert_int_equal(scratch_entries(0), 0);
    assert_int_equal(only_lock(&error), STATUS_OK);

    /* without locks, the file's existence says that the stem is taken */
    no_locks = 1;
    assert_int_equal(outfile_set_lock(&lock, scratch_path("m"), &error), STATUS_OK);
    refusal = (struct error){0};
    assert_int_equal(outfile_set_lock(&second, scratch_path("m"), &refusal), STATUS_OUTPUT);
    assert_non_null(strstr(refusal.message, "remove the file if that process has ended"));
    stem_lock_release(&lock);
    assert_int_equal(only_lock(&error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 0);
}

/* Processes that want the stem at once: of those that get it, one at a time has it. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 8, TIMES = 40 };
    write_old();
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            const char text[2] = {(char)('0' + p)};
            for (int i = 0; i < TIMES; i++) {
                struct error error = {0};
                if (write_set(text, &error) != STATUS_OK && error.status != STATUS_OUTPUT)
                    _exit(1);
                if (error.status == STATUS_OUTPUT && !strstr(error.message, "of this stem"))
                    _exit(2);
            }
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    char first[16], other[16];
    assert_int_equal(scratch_read(scratch_path("m.a"), first, sizeof first), 1);
    for (int i = 1; i < FILES; i++) {
        assert_int_equal(scratch_read(scratch_path(i == 1 ? "m.b" : "m.c"), other, sizeof other),
                         1);
        assert_string_equal(first, other);
    }
    assert_int_equal(scratch_entries(0), FILES);
}

static void test_not_our_file(void **state)
{
    (void)state;
    struct error error = {0};
    char *log;
    scratch_text("m.lock", "files 1\n0000000000000001 new a\nreplace\n");
    assert_int_equal(only_lock(&error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "/m.lock: cannot be written: it exists, and is no lock"));
    assert_content("m.lock", "files 1\n0000000000000001 new a\nreplace\n");
    error = (struct error){0};
    assert_int_equal(stem_lock_read(scratch_path("m"), &log, &error), STATUS_OK);
    assert_string_equal(log, "");
    memory_free(log);
    scratch_entries(1);
    assert_int_equal(mkdir(scratch_path("m.lock"), 0777), 0);
    assert_int_equal(only_lock(&error), STATUS_OUTPUT);
    scratch_entries(1);
    error = (struct error){0};
    scratch_text("victim", "");
    assert_int_equal(symlink(scratch_path("victim"), scratch_path("m.lock")), 0);
    assert_int_equal(only_lock(&error), STATUS_OUTPUT);
    assert_content("victim", "");
}

/* A log that was damaged does nothing outside the stem's files. */
static void test_damaged_logs(void **state)
{
    (void)state;
    const char *logs[] = {"files 1\n0000000000000001 new ../x\nreplace\nback\n",
                          "files 99\nreplace\n",
                          "files -1\nback\n",
                          "files 1\nreplace\nback\n",
                          "files 2\n0000000000000001 new a\nreplace\nback\n",
                          "files 1\n0000000000000001 new a\nreplace\nback", /* cut off */
                          "x\n"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct error error = {0};
        char text[256];
        write_old();
        snprintf(text, sizeof text, "blco, process 1 on host h\n%s", logs[i]);
        scratch_text("m.lock", text);
        assert_false(read_set());
        assert_int_equal(only_lock(&error), STATUS_OK);
        assert_old();
        assert_int_equal(scratch_entries(0), OLD);
    }
}

static void test_allocation_fails(void **state)
{
    (void)state;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        write_old();
        memory_hook_set(k);
        enum status status = write_set("new", &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        fired ? assert_old() : assert_new();
        assert_int_equal(scratch_entries(0), fired ? OLD : FILES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_replaces),          TEST(test_failures),         TEST(test_killed_at_every_call),
        TEST(test_second_is_refused), TEST(test_many_at_once),     TEST(test_not_our_file),
        TEST(test_damaged_logs),      TEST(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
