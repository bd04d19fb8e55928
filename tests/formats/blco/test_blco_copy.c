/* Copying .blco files: the same bytes for any segments; nonzeros out of order are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/blco_copy.h"
#include "support/blco_files.h"
#include "support/scratch.h"

static enum status copy(const char *from, const char *to, uint64_t memory, struct error *error)
{
    struct blco_file f;
    uint64_t bytes;
    *error = (struct error){0};
    TRY(blco_file_open(&f, from, error));
    blco_copy(&f, &(struct blco_copying){.path = to, .memory = memory}, &bytes, error);
    blco_file_close(&f);
    return error->status;
}

static void test_the_same_bytes(void **state)
{
    (void)state;
    static const uint64_t few[] = {300, 5000, 70000}, many[] = {1 << 20, 1 << 22, 1 << 30, 9, 500};
    static const uint64_t lengths[] = {0, 1, BLCO_SEGMENT_NNZ, 3 * BLCO_SEGMENT_NNZ + 100};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int order = 3; order <= 5; order += 2)
            for (uint64_t memory = 1; memory < UINT64_C(1) << 40; memory *= 1 << 20) {
                struct error error = {0};
                struct coo x;
                struct external_sort_report report;
                size_t size, copied;
                naive_random_coo(&x, SHAPE(order, order == 3 ? few : many), lengths[l], 5, 0);
                assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error),
                                 STATUS_OK);
                assert_int_equal(
                    copy(scratch_path("x.blco"), scratch_path("y.blco"), memory, &error),
                    STATUS_OK);
                char *original = file_bytes(scratch_path("x.blco"), &size),
                     *again = file_bytes(scratch_path("y.blco"), &copied);
                assert_int_equal(size, copied);
                assert_memory_equal(original, again, size);
                free(original);
                free(again);
                coo_free(&x);
            }
}

/* A file whose checksums are right, but nonzero `at` (from 0) has coordinate `first` in mode 1 and
 * that of a neighbour in mode 2. */
static const char *misplaced_file(uint64_t at, uint32_t first, int64_t shift)
{
    static const uint64_t dims[2] = {8, 1 << 20};
    struct error error = {0};
    struct coo x;
    struct blco_writer w;
    uint64_t nnz = 2 * BLCO_SEGMENT_NNZ + 10;
    const char *path = scratch_path("bad.blco");
    assert_int_equal(coo_create(&x, SHAPE(2, dims), nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        x.index[0][i] = i == at ? first : 4;
        x.index[1][i] = (uint32_t)(i == at ? i + (uint64_t)shift : i);
        x.value[i] = 1;
    }
    assert_int_equal(blco_writer_open(&w, path, SHAPE(2, dims), 1 << 20, &error), STATUS_OK);
    assert_int_equal(blco_writer_append(&w, &x, NULL, nnz, &error), STATUS_OK);
    assert_int_equal(blco_writer_commit(&w, NULL, &error), STATUS_OK);
    coo_free(&x);
    return path;
}

static void test_order_is_checked(void **state)
{
    (void)state;
    /* where a segment or a group begins, for within one there is no way to write it; out of order
     * (the next nonzero comes too early, or this one), and repeated */
    static const struct {
        uint64_t at;
        uint32_t first;
        int64_t shift;
        const char *message; /* NULL: it is all right */
    } cases[] = {{BLCO_SEGMENT_NNZ, 4, -1, "number 65537 is not in its place"},
                 {256, 4, -1, "number 257 is not in its place"},
                 {65792, 0, -1, "number 65793 is not in its place"},
                 {2 * BLCO_SEGMENT_NNZ, 0, -1, "number 131073 is not in its place"},
                 {2 * BLCO_SEGMENT_NNZ + 9, 5, 0, NULL},
                 {255, 6, 1, "number 257 is not in its place"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct error error;
        const char *path = misplaced_file(cases[c].at, cases[c].first, cases[c].shift);
        for (uint64_t memory = 1; memory <= 1 << 30; memory <<= 30) {
            enum status status = copy(path, scratch_path("y.blco"), memory, &error);
            assert_int_equal(status, cases[c].message ? STATUS_INPUT : STATUS_OK);
            if (cases[c].message)
                assert_non_null(strstr(error.message, cases[c].message));
            assert_int_equal(scratch_entries(0), cases[c].message ? 1 : 2);
        }
        scratch_entries(1);
    }
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {30, 50, 70};
    struct error error = {0};
    struct coo x;
    struct external_sort_report report;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 1000, 5, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    for (long k = 0, fired = 1; fired; k++) {
        memory_hook_set(k);
        enum status status = copy(scratch_path("x.blco"), scratch_path("y.blco"), 1 << 20, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(scratch_entries(0), fired ? 1 : 2);
        failures += status != STATUS_OK;
    }
    assert_true(failures > 8);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same_bytes, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_order_is_checked, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_failures, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
