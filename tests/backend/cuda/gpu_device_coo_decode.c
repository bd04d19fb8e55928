/* A .blco file's nonzeros decoded on the device against the nonzeros that the host reads from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "support/scratch.h"

#include "backend/cuda/tensor/device_coo.h"
#include "formats/blco/decoded_layout.h"
#include "support/blco_files.h"
#include "support/gpu_arrays.h"
#include "support/packed_tensors.h"

#define SHAPES 40

static struct device_staging staging;
static struct device_pool pool;

static void compare_coordinates(const struct device_coo *d, const struct coo *x)
{
    assert_null(d->line);
    for (int n = 0; n < x->shape.order; n++) {
        uint32_t *index = downloaded(d->index[n], x->nnz, sizeof *index);
        assert_memory_equal(index, x->index[n], x->nnz * sizeof *index);
        free(index);
    }
}

/* Every line or every coordinate, and every value, in the file's order. */
static void compare(const struct device_coo *d, const struct coo *x)
{
    double *value = downloaded(d->value, x->nnz, sizeof *value);
    assert_int_equal(d->shape.order, x->shape.order);
    assert_int_equal(d->nnz, x->nnz);
    assert_false(d->sorted);
    assert_memory_equal(value, x->value, x->nnz * sizeof *value);
    free(value);
    if (d->ordering.line_bits > 64) {
        compare_coordinates(d, x);
        return;
    }
    uint64_t *line = downloaded(d->line, x->nnz, sizeof *line);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t expected[1] = {0};
        for (int n = 0; n < x->shape.order; n++)
            coordinate[n] = x->index[n][i];
        ordering_encode(&d->ordering, coordinate, expected);
        if (line[i] != expected[0])
            fail_msg("nonzero %llu: line %llx, expected %llx", (unsigned long long)i,
                     (unsigned long long)line[i], (unsigned long long)expected[0]);
    }
    free(line);
}

static void open_file(struct blco_file *f, const struct coo *x)
{
    struct error error = {0};
    struct external_sort_report report;
    ok(write_blco(x, scratch_path("x.blco"), &report, &error), &error);
    ok(blco_file_open(f, scratch_path("x.blco"), &error), &error);
}

static void check_tensor(const struct coo *x)
{
    struct error error = {0};
    struct blco_file f;
    struct device_coo d;
    struct coo expected;
    open_file(&f, x);
    ok(blco_file_read(&f, &expected, NULL, &error), &error);
    ok(device_coo_decode(&d, &f, &staging, &pool, &error), &error);
    compare(&d, &expected);
    assert_true(fabs(d.norm_sq / coo_norm_sq(x) - 1) < 1e-12);
    device_coo_free(&d);
    coo_free(&expected);
    blco_file_close(&f);
}

static void test_random_tensors(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int words[3] = {0};
    for (int i = 0; i < SHAPES; i++) {
        struct coo x;
        struct packed_layout layout;
        uint64_t nnz = 1 + naive_random(&seed) % (i % 8 == 7 ? 400000 : 5000);
        if (!packable_coo(&x, &layout, &seed, i, i % 7 * 18, nnz))
            continue;
        for (uint64_t k = 0; k < x.nnz; k++) /* zeros are not written */
            x.value[k] = x.value[k] == 0 ? 1 : x.value[k];
        check_tensor(&x);
        coo_free(&x);
        words[layout.words]++;
    }
    assert_true(words[1] > 12 && words[2] > 8);
}

static void expect_damaged(const struct blco_file *f, const char *what)
{
    struct error error = {0};
    struct device_coo d;
    assert_int_equal(device_coo_decode(&d, f, &staging, &pool, &error), STATUS_INPUT);
    if (!strstr(error.message, what))
        fail_msg("%s", error.message);
    assert_null(d.line);
    assert_null(d.value);
}

static void flip_byte(const char *path, uint64_t at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* Of several damaged segments the first one is reported. */
static void test_damaged(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 700, 500};
    struct error error = {0};
    struct blco_file f;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 400000, 1, 0);
    open_file(&f, &x);
    f.shape.dims[1] = 600;
    expect_damaged(&f, "a coordinate beyond the length of mode 2");
    f.shape.dims[1] = dims[1];
    uint64_t at[] = {f.segment[5].offset, f.segment[2].offset + f.segment[2].bytes / 2};
    blco_file_close(&f);
    for (int i = 0; i < 2; i++) {
        flip_byte(scratch_path("x.blco"), at[i]);
        ok(blco_file_open(&f, scratch_path("x.blco"), &error), &error);
        expect_damaged(&f, i == 0 ? "nonzeros from number 327681 on"
                                  : "nonzeros from number 131073 on");
        blco_file_close(&f);
    }
    coo_free(&x);
}

static void check_failing_allocations(const uint64_t *dims)
{
    struct blco_file f;
    struct coo x;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 100000, 1, 0);
    open_file(&f, &x);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct device_coo d;
        memory_hook_set(k);
        enum status status = device_coo_decode(&d, &f, &staging, &pool, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true((d.value == NULL) == (status != STATUS_OK));
        failures += (int)fired;
        device_coo_free(&d);
    }
    assert_in_range(failures, 5, 20);
    blco_file_close(&f);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 700, 500}, longer[] = {1 << 25, 1 << 24, 1 << 23};
    check_failing_allocations(dims);
    check_failing_allocations(longer);
}

static int open_device(void **state)
{
    (void)state;
    struct error error = {0};
    return device_staging_open(&staging, 0, NULL, &error) != STATUS_OK ||
           device_pool_open(&pool, 0, NULL, 0, &error) != STATUS_OK;
}

static int close_device(void **state)
{
    (void)state;
    device_pool_close(&pool);
    device_staging_close(&staging);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_tensors, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failing_allocations, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
