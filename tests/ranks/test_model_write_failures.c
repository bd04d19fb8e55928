/* A rank fails while several ranks write a model: all ranks return, no new file is left, and older
 * files are what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/outfile_set.h"
#include "ranks/model_write.h"
#include "support/file_systems.h"
#include "support/model_parts.h"
#include "support/rank_threads.h"

#define RANKS 4

static void write_part(struct comm *c, void *context, struct error *error)
{
    const struct model_part *p = context;
    char stem[64];
    struct ktensor_files files = {0};
    snprintf(stem, sizeof stem, "%s/m", scratch_folder);
    struct stem_lock lock = {0};
    const struct model_rows rows = {&p->k, &p->own, &p->whole, NULL};
    if (c->rank == 0)
        outfile_set_lock(&lock, stem, error);
    if (comm_allreduce_error(c, error) == STATUS_OK)
        model_write_together(&rows, c, stem, &lock, &files, error);
    stem_lock_release(&lock);
    ktensor_files_free(&files);
}

static struct model_part part[RANKS];

/* The group's setup: the parts of a model of three modes. */
static int make_parts(void **state)
{
    (void)state;
    struct error failure = {0};
    struct ktensor whole;
    assert_int_equal(ktensor_create(&whole, SHAPE(3, ((uint64_t[]){9, 1, 30})), 5, &failure),
                     STATUS_OK);
    ktensor_randomise(&whole, KTENSOR_NORMAL, 1);
    model_parts_make(part, &whole, RANKS);
    ktensor_free(&whole);
    return 0;
}

static int free_parts(void **state)
{
    (void)state;
    model_parts_free(part, RANKS);
    return 0;
}

/* Writes the parts with all ranks. False where the ranks could not start. */
static bool write_model(struct error *error)
{
    return run_rank_threads(RANKS, write_part, part, sizeof *part, error);
}

/* Writes while something is refused: every rank has the same message, with these words. */
static void assert_refused(const char *words)
{
    struct error error[RANKS];
    scratch_text("m.mode3.npy", "old");
    scratch_text("m.mode4.npy", "old"); /* to be taken away */
    scratch_text("m.ktns", "old");
    assert_true(write_model(error));
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(error[k].status, STATUS_OUTPUT);
        assert_non_null(strstr(error[k].message, words));
        assert_string_equal(error[k].message, error[0].message);
    }
    assert_content("m.mode3.npy", "old");
    assert_content("m.mode4.npy", "old");
    assert_content("m.ktns", "old");
    assert_int_equal(scratch_entries(0), 3);
}

/* Afterwards, with nothing refused, the files appear. */
static void assert_written(void)
{
    struct error error[RANKS];
    char bytes[4096];
    assert_true(write_model(error));
    assert_all_well(error, RANKS);
    assert_int_equal(scratch_entries(0), 4);
    assert_int_equal(scratch_read(scratch_path("m.mode3.npy"), bytes, sizeof bytes),
                     128 + 30 * 5 * 8);
}

static void test_full_disk(void **state)
{
    (void)state;
    const int rows = 4 + 1 + 2 * RANKS + 1; /* headers, lambda, rows; the short mode has one */
    const int writes = 1 + rows + 2;        /* the lock, and two records of its log */
    for (int k = 0; k < writes; k++) {
        writes_left = k;
        assert_refused("No space left on device");
    }
    writes_left = PLENTY;
    assert_written();
}

static void test_failing_sync(void **state)
{
    (void)state;
    no_fsync = 1;
    assert_refused("Input/output error");
    no_fsync = 0;
    assert_written();
}

static void test_failing_rename(void **state)
{
    (void)state;
    for (int k = 0; k < 4 + 2; k++) {
        renames_left = k;
        assert_refused("Permission denied");
        renames_left = PLENTY;
    }
    assert_written();
}

/* A rank on a host that has another folder of this name. */
static void test_folder_not_shared(void **state)
{
    (void)state;
    for (int k = 0; k < 4 * (RANKS - 1); k += 3) {
        joins_left = k;
        assert_refused("does not see the file that another process has made there");
    }
    joins_left = PLENTY;
    assert_written();
}

static void test_no_folder(void **state)
{
    (void)state;
    char real[sizeof scratch_folder];
    struct error error[RANKS];
    strcpy(real, scratch_folder);
    scratch_folder[sizeof scratch_folder - 2] ^= 1;
    assert_true(write_model(error));
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(error[k].status, STATUS_OUTPUT);
        assert_non_null(strstr(error[k].message, "there is no such folder"));
    }
    strcpy(scratch_folder, real);
    assert_int_equal(scratch_entries(0), 0);
}

/* One allocation, of whichever rank, is refused. */
static void test_allocation_fails(void **state)
{
    (void)state;
    struct error error[RANKS];
    int failures = 0;
    bool fired = true;
    for (long count = 0; fired; count++) {
        scratch_text("m.mode3.npy", "old");
        memory_hook_set(count);
        bool started = write_model(error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int k = 0; k < RANKS && started; k++)
            assert_int_equal(error[k].status, fired ? STATUS_MEMORY : STATUS_OK);
        if (fired)
            assert_content("m.mode3.npy", "old");
        assert_int_equal(scratch_entries(0), fired ? 1 : 4);
        failures += fired && started;
    }
    assert_true(failures > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_full_disk),         TEST(test_failing_sync), TEST(test_failing_rename),
        TEST(test_folder_not_shared), TEST(test_no_folder),    TEST(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_parts, free_parts);
}
