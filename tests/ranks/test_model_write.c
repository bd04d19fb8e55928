/* The files that several ranks write, each some rows, have the bytes of those that one process
 * writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/outfile_set.h"
#include "ranks/model_write.h"
#include "support/model_parts.h"
#include "support/models.h"
#include "support/rank_threads.h"

static void write_part(struct comm *c, void *context, struct error *error)
{
    const struct model_part *p = context;
    struct ktensor_files files = {0};
    struct stem_lock lock = {0};
    const struct model_rows rows = {&p->k, &p->own, &p->whole, NULL};
    if (c->rank == 0)
        outfile_set_lock(&lock, "together", error);
    if (comm_allreduce_error(c, error) == STATUS_OK)
        model_write_together(&rows, c, "together", &lock, &files, error);
    stem_lock_release(&lock);
    if (error->status == STATUS_OK && files.count != p->whole.order + 1)
        error_set(error, STATUS_INTERNAL, "%d names of files", files.count);
    ktensor_files_free(&files);
}

static void assert_same_files(int order)
{
    static char mine[1 << 20], one[1 << 20];
    for (int n = 0; n <= order; n++) {
        char name[2][64];
        for (int i = 0; i < 2; i++)
            snprintf(name[i], sizeof name[i], n < order ? "%s.mode%d.npy" : "%s.lambda.npy",
                     i ? "one" : "together", n + 1);
        long size = scratch_read(name[0], mine, sizeof mine);
        assert_true(size >= 128 + 8);
        assert_int_equal(scratch_read(name[1], one, sizeof one), size);
        assert_memory_equal(mine, one, (size_t)size);
    }
}

static void assert_as_one_process(const struct ktensor *k)
{
    struct error failure = {0};
    struct ktensor_files files;
    assert_int_equal(model_write_at(k, "one", KTENSOR_NPY, &files, &failure), STATUS_OK);
    ktensor_files_free(&files);
    for (size_t s = 0; s < RANK_COUNTS; s++) {
        int ranks = rank_counts[s];
        struct error error[MOST_RANKS];
        struct model_part part[MOST_RANKS];
        scratch_text("together.mode1.npy", "an old file");
        model_parts_make(part, k, ranks);
        assert_true(run_rank_threads(ranks, write_part, part, sizeof *part, error));
        assert_all_well(error, ranks);
        assert_same_files(k->shape.order);
        assert_int_equal(scratch_entries(0), 2 * (k->shape.order + 1));
        model_parts_free(part, ranks);
    }
    scratch_entries(1);
}

static void test_bytes(void **state)
{
    (void)state;
    char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(scratch_folder), 0);
    const uint64_t dims[][16] = {{9, 40, 3, 20},
                                 {1, 5, 1, 2},
                                 {3000, 7, 2, 1},
                                 {1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 8}};
    const int most[] = {4, 4, 4, 16};
    for (int i = 0; i < 4; i++)
        for (int order = i < 3 ? 1 : 16; order <= most[i]; order++)
            for (uint64_t rank = 1; rank <= 17; rank += 8) {
                struct ktensor k = model_random(order, dims[i], rank, rank);
                assert_as_one_process(&k);
                ktensor_free(&k);
            }
    assert_int_equal(chdir(old), 0);
    free(old);
}

static void check_writable(struct comm *c, void *context, struct error *error)
{
    model_writable_together(3, *(const char **)context, c, error);
}

static void test_writable(void **state)
{
    (void)state;
    const char *name = scratch_path("m"), *none = scratch_path("none/m");
    scratch_text("m.mode2.npy", "old");
    for (size_t s = 0; s < RANK_COUNTS; s++) {
        struct error error[MOST_RANKS];
        assert_true(run_rank_threads(rank_counts[s], check_writable, &name, 0, error));
        assert_all_well(error, rank_counts[s]);
        assert_int_equal(scratch_entries(0), 1);
        assert_true(run_rank_threads(rank_counts[s], check_writable, &none, 0, error));
        for (int k = 0; k < rank_counts[s]; k++) {
            assert_int_equal(error[k].status, STATUS_OUTPUT);
            assert_non_null(strstr(error[k].message, "none/m.mode1.npy: cannot be written"));
        }
    }
    assert_content("m.mode2.npy", "old", 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_bytes), TEST(test_writable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
