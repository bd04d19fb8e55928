/* Which rows batches of packed tensors can have; and which segments a rank reads for its part: all
 * that have a nonzero of the part, and few others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/scratch.h"

#include "formats/blco/segment_rows.h"
#include "support/blco_files.h"
#include "support/packed_tensors.h"

/* All nonzeros are within their batch's range. Returns the share of rows in a range, on average. */
static double check_batches(const struct packed_tensor *p, int mode, uint64_t segments)
{
    struct error error = {0};
    struct coo x;
    uint64_t batches = (p->nsegments + segments - 1) / segments, rows = 0;
    struct row_range *range = memory_array(batches, sizeof *range, &error);
    assert_non_null(range);
    unpack_all(p, &x);
    segment_rows_of_batches(range, p, mode, segments);
    for (uint64_t i = 0; i < x.nnz; i++) {
        const struct row_range *r = &range[i / (p->segment_nnz * segments)];
        assert_true(r->first <= x.index[mode][i] && x.index[mode][i] <= r->last);
    }
    for (uint64_t b = 0; b < batches; b++) {
        assert_true(range[b].last < p->shape.dims[mode]);
        rows += range[b].last - range[b].first + 1;
    }
    coo_free(&x);
    memory_free(range);
    return (double)rows / (double)(p->shape.dims[mode] * batches);
}

static void test_batches(void **state)
{
    (void)state;
    static const uint64_t segments[] = {1, 7, 100, 1000};
    uint64_t seed = 1, dims[MAX_ORDER];
    for (int i = 0; i < 60; i++) {
        struct error error = {0};
        struct packed_tensor p;
        struct coo x;
        int order = 1 + i % 8;
        random_lengths(&seed, order, 8 + i * 2, dims);
        coo_in_form(&x, SHAPE(order, dims), 1 + naive_random(&seed) % 5000, naive_random(&seed),
                    i % SAMPLE_FORMS);
        int kind = i % 3 ? ORDERING_ALTO : i % order;
        assert_int_equal(packed_tensor_build(&p, &x, kind, segments[i % 4], NULL, &error),
                         STATUS_OK);
        for (int n = 0; n < order; n++)
            check_batches(&p, n, 1 + naive_random(&seed) % (p.nsegments + 1));
        packed_tensor_free(&p);
        coo_free(&x);
    }
}

/* In alto order batches are boxes: of 512 equal ones in a cube, the rows of one are hardly more
 * than two eighths of each mode. */
static void test_boxes(void **state)
{
    (void)state;
    static const uint64_t dims[] = {1000, 1000, 1000};
    struct error error = {0};
    struct packed_tensor p;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 256000, 1, 0);
    assert_int_equal(packed_tensor_build(&p, &x, ORDERING_ALTO, 100, NULL, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        assert_true(check_batches(&p, n, 5) < 0.3);
    packed_tensor_free(&p);
    coo_free(&x);
}

static bool lies_in(const struct part *part, const struct coo *x, uint64_t i)
{
    bool inside = true;
    for (int n = 0; n < x->shape.order; n++)
        inside = inside && x->index[n][i] - part->first[n] < part->here.dims[n];
    return inside;
}

/* Returns how many segments are read. */
static uint64_t check_part(const struct blco_file *f, const struct coo *x, const struct part *part)
{
    struct error error = {0};
    uint64_t *number, count, k = 0;
    assert_int_equal(segment_rows_of_part(&number, &count, f, part, &error), STATUS_OK);
    for (uint64_t s = 0; s < f->header->nsegments; s++) {
        bool needed = false, taken = k < count && number[k] == s;
        for (uint64_t i = blco_file_nnz(f, 0, s); i < blco_file_nnz(f, 0, s + 1); i++)
            needed = needed || lies_in(part, x, i);
        assert_true(taken || !needed);
        k += taken;
    }
    assert_int_equal(k, count);
    memory_free(number);
    return count;
}

static void open_file(struct blco_file *f, struct coo *all, const struct shape *shape, uint64_t nnz,
                      int skewed)
{
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, shape, nnz, 3, skewed);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(f, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(blco_file_read(f, all, NULL, &error), STATUS_OK);
    coo_free(&x);
}

static void test_parts(void **state)
{
    (void)state;
    const struct shape shape = {3, {1000, 600, 900}};
    for (int skewed = 0; skewed < 2; skewed++) {
        struct blco_file f;
        struct coo x;
        open_file(&f, &x, &shape, 1500000, skewed);
        uint64_t seed = 7, all = f.header->nsegments;
        assert_int_equal(check_part(&f, &x, &(struct part){.here = shape}), all);
        uint64_t half = check_part(&f, &x, &(struct part){.here = {3, {1000, 600, 450}}});
        assert_true(half >= all / 2 && (skewed || half < all * 3 / 4));
        assert_int_equal(check_part(&f, &x, &(struct part){.here = {3, {1000, 0, 900}}}), 0);
        for (int i = 0; i < 30; i++) {
            struct part part = {.here = {.order = 3}};
            for (int n = 0; n < 3; n++) {
                part.first[n] = naive_random(&seed) % shape.dims[n];
                part.here.dims[n] = 1 + naive_random(&seed) % (shape.dims[n] - part.first[n]);
            }
            check_part(&f, &x, &part);
        }
        blco_file_close(&f);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test_setup_teardown(test_parts, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
