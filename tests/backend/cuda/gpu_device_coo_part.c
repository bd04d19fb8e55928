/* The nonzeros of a part, decoded on the device from a .blco file, against those that the host
 * picks from all nonzeros of the file. */
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
#include "support/gpu_pool.h"
#include "support/packed_tensors.h"

#define SHAPES 24
#define PARTS  4

/* The part's nonzeros, in the file's order, counted from the first row of each range. */
static void pick(struct coo *picked, const struct coo *all, const struct part *part)
{
    copy_coo(picked, all);
    picked->nnz = 0;
    for (uint64_t i = 0; i < all->nnz; i++) {
        bool inside = true;
        for (int n = 0; n < all->shape.order; n++)
            inside = inside && all->index[n][i] - part->first[n] < part->here.dims[n];
        for (int n = 0; n < all->shape.order && inside; n++)
            picked->index[n][picked->nnz] = all->index[n][i] - (uint32_t)part->first[n];
        if (inside)
            picked->value[picked->nnz++] = all->value[i];
    }
}

static void assert_array(const void *device, const void *expected, uint64_t count, size_t size)
{
    void *array = downloaded(device, count, size);
    assert_memory_equal(array, expected, count * size);
    free(array);
}

static void check_touched(const struct device_coo *d, const struct coo *x, int n)
{
    struct error error = {0};
    uint64_t rows = d->shape.dims[n];
    unsigned char *touched = malloc(rows), *expected = calloc(rows, 1);
    for (uint64_t i = 0; i < x->nnz; i++)
        expected[x->index[n][i]] = 1;
    ok(device_coo_touched(d, n, touched, rows, &error), &error);
    assert_memory_equal(touched, expected, rows);
    free(touched);
    free(expected);
}

/* Rows in reverse, and as many rows without nonzeros after them. */
static void check_renumbered(struct device_coo *d, struct coo *x)
{
    struct error error = {0};
    struct shape shape = d->shape;
    for (int n = 0; n < shape.order; n++) {
        uint64_t rows = shape.dims[n];
        uint32_t *place = malloc(rows * sizeof *place);
        for (uint64_t i = 0; i < rows; i++)
            place[i] = (uint32_t)(rows - 1 - i);
        for (uint64_t i = 0; i < x->nnz; i++)
            x->index[n][i] = place[x->index[n][i]];
        ok(device_coo_renumber(d, n, place, rows, &error), &error);
        shape.dims[n] = rows < (UINT64_C(1) << 30) ? 2 * rows : rows;
        free(place);
    }
    ok(device_coo_linearise(d, &shape, &error), &error);
    assert_true(shape_equal(&d->shape, &shape) && (d->line != NULL) == (d->index[0] == NULL));
    for (int n = 0; n < shape.order && !d->line; n++)
        assert_array(d->index[n], x->index[n], x->nnz, sizeof *x->index[n]);
    uint64_t *line = d->line ? downloaded(d->line, x->nnz, sizeof *line) : NULL;
    for (uint64_t i = 0; line && i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t expected[1] = {0};
        coo_coordinates(x, i, coordinate);
        ordering_encode(&d->ordering, coordinate, expected);
        assert_int_equal(line[i], expected[0]);
    }
    free(line);
}

static void check_part(const struct blco_file *f, const struct coo *all, const struct part *part)
{
    struct error error = {0};
    struct device_coo d;
    struct coo x;
    pick(&x, all, part);
    ok(device_coo_decode_part(&d, f, part, &staging, &pool, &error), &error);
    assert_int_equal(d.nnz, x.nnz);
    if (x.nnz == 0) {
        assert_true(d.norm_sq == 0 && !d.value);
    } else {
        assert_array(d.value, x.value, x.nnz, sizeof *x.value);
        for (int n = 0; n < d.shape.order; n++) {
            assert_array(d.index[n], x.index[n], x.nnz, sizeof *x.index[n]);
            if (d.shape.dims[n] < 10000000)
                check_touched(&d, &x, n);
        }
        assert_true(fabs(d.norm_sq / coo_norm_sq(&x) - 1) < 1e-12);
        if (shape_longest(&d.shape) < 10000000)
            check_renumbered(&d, &x);
    }
    device_coo_free(&d);
    coo_free(&x);
}

static struct part random_part(const struct shape *shape, uint64_t *seed)
{
    struct part part = {.whole = *shape, .here.order = shape->order};
    for (int n = 0; n < shape->order; n++) {
        part.first[n] = naive_random(seed) % 3 ? 0 : naive_random(seed) % shape->dims[n];
        uint64_t most = shape->dims[n] - part.first[n];
        part.here.dims[n] = naive_random(seed) % 2 ? most : naive_random(seed) % (most + 1);
    }
    return part;
}

static void test_random_parts(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        struct coo x, all;
        struct packed_layout layout;
        struct blco_file f;
        struct external_sort_report report;
        uint64_t nnz = 1 + naive_random(&seed) % (i % 8 == 7 ? 400000 : 5000);
        if (!packable_coo(&x, &layout, &seed, i, i % 7 * 18, nnz))
            continue;
        for (uint64_t k = 0; k < x.nnz; k++) /* zeros are not written */
            x.value[k] = x.value[k] == 0 ? 1 : x.value[k];
        ok(write_blco(&x, scratch_path("x.blco"), &report, &error), &error);
        ok(blco_file_open(&f, scratch_path("x.blco"), &error), &error);
        ok(blco_file_read(&f, &all, NULL, &error), &error);
        struct part whole = part_all(&f.shape);
        check_part(&f, &all, &whole);
        for (int k = 0; k < PARTS; k++) {
            struct part part = random_part(&f.shape, &seed);
            check_part(&f, &all, &part);
        }
        blco_file_close(&f);
        coo_free(&all);
        coo_free(&x);
    }
}

/* More nonzeros than are decoded at a time. */
static void test_several_times(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 2000, 2500};
    struct error error = {0};
    struct blco_file f;
    struct coo x, all;
    struct external_sort_report report;
    naive_random_coo(&x, SHAPE(3, dims), 9000000, 1, 1);
    ok(write_blco(&x, scratch_path("x.blco"), &report, &error), &error);
    ok(blco_file_open(&f, scratch_path("x.blco"), &error), &error);
    ok(blco_file_read(&f, &all, NULL, &error), &error);
    struct part part = part_all(&f.shape);
    check_part(&f, &all, &part);
    part.first[0] = 40;
    part.here.dims[0] -= 40;
    check_part(&f, &all, &part);
    blco_file_close(&f);
    coo_free(&all);
    coo_free(&x);
}

/* Damage where a rank reads. */
static void test_damaged(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 700, 500};
    struct error error = {0};
    struct blco_file f;
    struct device_coo d;
    struct coo x;
    struct external_sort_report report;
    size_t size;
    naive_random_coo(&x, SHAPE(3, dims), 400000, 1, 0);
    ok(write_blco(&x, scratch_path("x.blco"), &report, &error), &error);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    bytes[segment_of(bytes)[3].offset + 5000] ^= 1;
    ok(blco_file_open(&f, scratch_file("bad.blco", bytes, size), &error), &error);
    struct part part = part_all(&f.shape);
    assert_int_equal(device_coo_decode_part(&d, &f, &part, &staging, &pool, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "damaged: nonzeros from number 196609 on"));
    assert_null(d.value);
    blco_file_close(&f);
    free(bytes);
    coo_free(&x);
}

/* A file that is opened once; every allocation fails in turn. */
static void test_failing_allocations(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 700, 500};
    struct error none = {0};
    struct blco_file f;
    struct coo x;
    struct external_sort_report report;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 100000, 1, 0);
    ok(write_blco(&x, scratch_path("x.blco"), &report, &none), &none);
    ok(blco_file_open(&f, scratch_path("x.blco"), &none), &none);
    struct part part = part_all(&f.shape);
    part.here.dims[2] = 250;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct device_coo d;
        memory_hook_set(k);
        enum status status = device_coo_decode_part(&d, &f, &part, &staging, &pool, &error);
        if (status == STATUS_OK)
            status = device_coo_linearise(&d, &part.here, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        device_coo_free(&d);
    }
    assert_true(failures >= 15); /* each part that is sent has room for a segment */
    blco_file_close(&f);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_parts, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_several_times, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failing_allocations, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
