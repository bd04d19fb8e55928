/* Every k-th group of a .blco file, against the file's nonzeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/scratch.h"

#include "formats/blco/blco_sample.h"
#include "support/blco_files.h"

static void open_file(struct blco_file *f, struct coo *all, const struct shape *shape, uint64_t nnz)
{
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, shape, nnz, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(f, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(blco_file_read(f, all, NULL, &error), STATUS_OK);
    coo_free(&x);
}

static bool is_nonzero(const struct coo *x, uint64_t i, const struct coo *all, uint64_t j)
{
    bool same = x->value[i] == all->value[j];
    for (int n = 0; n < x->shape.order; n++)
        same = same && x->index[n][i] == all->index[n][j];
    return same;
}

/* The nonzeros of every `every`-th group of segments [begin, end), where each group is full. */
static void check_sample(const struct blco_file *f, const struct coo *all, uint64_t begin,
                         uint64_t end, uint64_t every)
{
    struct error error = {0};
    struct coo x;
    uint64_t taken = 0, last = blco_file_nnz(f, 0, end);
    assert_int_equal(blco_sample(&x, f, begin, end, every, &error), STATUS_OK);
    for (uint64_t j = blco_file_nnz(f, 0, begin); j < last; j++)
        if (j / PACKED_GROUP_NNZ % every == 0) {
            assert_true(taken < x.nnz);
            assert_true(is_nonzero(&x, taken++, all, j));
        }
    assert_int_equal(taken, x.nnz);
    coo_free(&x);
}

static void test_samples(void **state)
{
    (void)state;
    static const uint64_t every[] = {1, 2, 3, 7, 255, 256, 300, 10000};
    struct error error = {0};
    struct blco_file f;
    struct coo all;
    open_file(&f, &all, &(struct shape){3, {900, 3000, 700}}, 300000);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        check_sample(&f, &all, 0, f.header->nsegments, every[i]);
        check_sample(&f, &all, 1, 3, every[i]);
        check_sample(&f, &all, 2, 2, every[i]);
    }
    assert_true(f.header->nsegments == 5);
    (void)error;
    blco_file_close(&f);
    coo_free(&all);
}

/* Lines of more bits than a group may differ in: groups end early, and no gaps follow them. */
static void test_short_groups(void **state)
{
    (void)state;
    const uint64_t dims[] = {4000000000, 4000000000, 4000000000, 4000000000, 4000000000};
    struct error error = {0};
    struct blco_file f;
    struct coo all, x;
    open_file(&f, &all, SHAPE(5, dims), 5000);
    assert_int_equal(blco_sample(&x, &f, 0, f.header->nsegments, 1, &error), STATUS_OK);
    assert_int_equal(x.nnz, all.nnz);
    for (uint64_t i = 0; i < x.nnz; i++)
        assert_true(is_nonzero(&x, i, &all, i));
    coo_free(&x);
    coo_free(&all);
    blco_file_close(&f);
}

/* Whatever byte of the groups is wrong: a refusal, or nonzeros within the lengths. */
static void test_damaged(void **state)
{
    (void)state;
    struct error error;
    struct blco_file f;
    struct coo all;
    size_t size;
    int refused = 0;
    open_file(&f, &all, &(struct shape){3, {90, 300, 70}}, 3000);
    uint64_t first = f.segment[0].offset, entry = blco_group_stride(ordering_line_bits(&f.shape));
    blco_file_close(&f);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    for (uint64_t at = 0; at < 4 * entry; at++) {
        struct coo x;
        bytes[first + at] ^= (char)(1 << at % 8);
        error = (struct error){0};
        assert_int_equal(blco_file_open(&f, scratch_file("bad.blco", bytes, size), &error),
                         STATUS_OK);
        enum status status = blco_sample(&x, &f, 0, f.header->nsegments, 1, &error);
        assert_true(status == STATUS_OK || status == STATUS_INPUT);
        for (uint64_t i = 0; i < x.nnz; i++)
            for (int n = 0; n < x.shape.order; n++)
                assert_true(x.index[n][i] < x.shape.dims[n]);
        refused += status == STATUS_INPUT && strstr(error.message, "damaged") != NULL;
        coo_free(&x);
        blco_file_close(&f);
        bytes[first + at] ^= (char)(1 << at % 8);
    }
    assert_true(refused > 50);
    free(bytes);
    coo_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_samples, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_short_groups, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
