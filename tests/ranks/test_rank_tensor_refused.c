/* All ranks refuse a wrong tensor with the message of one process, and no rank waits for ever for
 * one that has failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>

#include "support/rank_tensors.h"

/* All ranks refuse the file with the message of one process. */
static void assert_refused(const char *path)
{
    struct error error = {0};
    struct whole whole;
    const struct job like = {.path = path, .options = one_based};
    if (try_open_whole(&whole, path, &one_based, NULL, &error) == STATUS_OK)
        rank_tensor_read(&whole.tensor, NULL, &error);
    close_whole(&whole);
    assert_int_not_equal(error.status, STATUS_OK);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, rank_counts[r], errors));
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_int_equal(errors[k].status, error.status);
            assert_string_equal(errors[k].message, error.message);
            assert_null(job[k].tensor.input.x.value);
            assert_null(job[k].tensor.grid.cut[0]);
        }
    }
}

static void test_bad_files(void **state)
{
    (void)state;
    int files = 0;
    DIR *folder = opendir("tests/data");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300];
        if (strncmp(entry->d_name, "bad_", 4) != 0)
            continue;
        snprintf(path, sizeof path, "tests/data/%s", entry->d_name);
        assert_refused(path);
        files++;
    }
    closedir(folder);
    assert_true(files > 20);
    assert_refused("/nowhere/x.tns");
    assert_refused("tests/data");
    assert_refused(scratch_text("x.tns", "1 1 0\n2 2 0\n"));
    assert_refused(scratch_text("x.tns", "1 1 7\n1 1 -7\n"));
}

static void test_bad_blco(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    size_t size;
    naive_random_coo(&x, &(struct shape){2, {2000, 3000}}, 300000, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    const struct blco_file_segment *segment = segment_of(bytes);
    assert_refused(scratch_file("cut.blco", bytes, size - 1));
    bytes[segment[4].offset + 100] ^= 1;
    assert_refused(scratch_file("bad.blco", bytes, size));
    bytes[segment[2].offset + 100] ^= 1;
    assert_refused(scratch_file("bad.blco", bytes, size));
    free(bytes);
    coo_free(&x);
}

static void test_fixed_parts(void **state)
{
    (void)state;
    struct error errors[MOST_RANKS];
    struct job job[MOST_RANKS];
    struct job like = {.path = scratch_text("x.tns", "1 1 1\n2 2 2\n3 3 3\n"),
                       .options = one_based,
                       .parts = {1, 3}};
    assert_true(open_all(job, &like, 3, errors));
    assert_all_well(errors, 3);
    for (int k = 0; k < 3; k++) {
        assert_true(job[k].tensor.grid.parts[0] == 1 && job[k].tensor.grid.parts[1] == 3);
        assert_true(job[k].tensor.input.x.nnz == 1 && job[k].tensor.cost.largest_nnz == 1);
    }
    close_all(job);
    like.parts[0] = 2;
    assert_true(open_all(job, &like, 3, errors));
    for (int k = 0; k < 3; k++)
        assert_string_equal(errors[k].message,
                            "a grid of 2x3, expected a product of 3, the number of ranks");
}

/* A rank that sees another file under the name, as on a host without the shared folder. */
static void test_different_files(void **state)
{
    (void)state;
    struct error errors[3];
    struct job job[3];
    for (int k = 0; k < 3; k++)
        job[k] = (struct job){.path = scratch_text(k == 1 ? "other.tns" : "x.tns",
                                                   k == 1 ? "1 1 1\n" : "1 1 1\n2 2 2\n"),
                              .options = one_based};
    assert_true(run_rank_threads(3, open_one, job, sizeof *job, errors));
    for (int k = 0; k < 3; k++)
        assert_non_null(
            strstr(errors[k].message, ": rank 1 finds another file than rank 0 under this name"));
    job[1].path = "/nowhere/x.tns";
    assert_true(run_rank_threads(3, open_one, job, sizeof *job, errors));
    for (int k = 0; k < 3; k++)
        assert_string_equal(errors[k].message, "/nowhere/x.tns: No such file or directory");
}

/* Only rank 0 reads standard input, be it a pipe or a file. */
static void test_standard_input(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO);
    const char *text = "1 1 1\n2 2 2\n1 1 5\n";
    for (int i = 0; i < 2; i++) {
        int end[2];
        struct error errors[MOST_RANKS];
        struct job job[MOST_RANKS];
        assert_int_equal(pipe(end), 0);
        assert_int_equal(write(end[1], text, strlen(text)), strlen(text));
        close(end[1]);
        if (i == 1) {
            close(end[0]);
            end[0] = open(scratch_text("x.tns", text), O_RDONLY);
        }
        assert_int_equal(dup2(end[0], STDIN_FILENO), STDIN_FILENO);
        close(end[0]);
        assert_true(open_all(job, &(struct job){.path = "-", .options = one_based}, 3, errors));
        assert_all_well(errors, 3);
        assert_int_equal(job[0].tensor.nnz, 2);
        assert_int_equal(
            job[0].tensor.input.x.nnz + job[1].tensor.input.x.nnz + job[2].tensor.input.x.nnz, 2);
        close_all(job);
    }
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    close(saved);
}

/* Whichever rank finds no memory, and wherever; a failure to shrink an array is none. Returns how
 * many times a rank has failed. */
static int fail_everywhere(const struct job *like)
{
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        memory_hook_set(i);
        bool began = open_all(job, like, 3, errors);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int k = 0; began && k < 3; k++) {
            assert_true(errors[k].status == STATUS_OK ||
                        (fired && errors[k].status == STATUS_MEMORY));
            assert_true((errors[k].status == STATUS_OK) == (job[k].tensor.input.x.value != NULL));
            failures += errors[k].status != STATUS_OK;
        }
        if (began)
            close_all(job);
    }
    return failures;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    char command[2000];
    char *text = text_with_duplicates(300);
    naive_random_coo(&x, &(struct shape){3, {9, 30, 7}}, 600, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    snprintf(command, sizeof command, "gzip -kf %s", scratch_text("x.tns", text));
    assert_int_equal(system(command), 0);
    assert_true(
        fail_everywhere(&(struct job){.path = scratch_path("x.tns"), .options = one_based}) > 100);
    assert_true(fail_everywhere(
                    &(struct job){.path = scratch_path("x.tns.gz"), .options = one_based}) > 100);
    assert_true(
        fail_everywhere(&(struct job){.path = scratch_path("x.blco"), .options = one_based}) > 100);
    assert_true(fail_everywhere(&(struct job){.x = &x}) > 100);
    coo_free(&x);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(test_bad_files),      ON_DISK(test_bad_blco),
        ON_DISK(test_fixed_parts),    ON_DISK(test_different_files),
        ON_DISK(test_standard_input), ON_DISK(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
