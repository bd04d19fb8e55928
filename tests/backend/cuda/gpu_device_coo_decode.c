/* A .blco file's nonzeros decoded on the device against the nonzeros that the host reads from it;
 * the nonzeros of a part, and of dealt rows, against those that the host picks from all. */
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
#include "ranks/row_deal.h"
#include "support/blco_files.h"
#include "support/gpu_pool.h"
#include "support/packed_tensors.h"

#define SHAPES 40

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
        encode_line(&d->ordering, coordinate, expected);
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
    assert_in_range(failures, 5, 60);
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

#define PART_SHAPES 24
#define PARTS       4

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
    ok(device_coo_touched(d, n, touched, rows, &staging, &error), &error);
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
        ok(device_coo_renumber(d, n, place, rows, &staging, &error), &error);
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
        encode_line(&d->ordering, coordinate, expected);
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
    for (int i = 0; i < PART_SHAPES; i++) {
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
static void test_damaged_part(void **state)
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
static void test_failing_parts(void **state)
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

/* Nonzeros of several ranks with random coordinates, where rows are dealt: each rank takes those of
 * its rows, and of common rows its own, in the order of the ranks. */
static void check_deal(int peers, uint64_t stripe, uint64_t common, uint64_t other, uint64_t nnz,
                       uint64_t *seed)
{
    struct error error = {0};
    struct coo x[4];
    struct device_coo all[4];
    const struct shape shape = {3, {other, stripe * (uint64_t)peers, other}};
    for (int k = 0; k < peers; k++) {
        const uint64_t some = k == 1 ? 0 : nnz + naive_random(seed) % 100;
        ok(coo_create(&x[k], &shape, some, &error), &error);
        for (uint64_t i = 0; i < some; i++) {
            for (int n = 0; n < 3; n++)
                x[k].index[n][i] = (uint32_t)(naive_random(seed) % shape.dims[n]);
            x[k].value[i] = 1 + (double)(naive_random(seed) % 1000) / 8;
        }
        if (some > 0)
            ok(device_coo_upload(&all[k], &x[k], &staging, &pool, &error), &error);
        else
            device_coo_init(&all[k], &shape, 0, &pool);
    }
    for (int me = 0; me < peers; me++) {
        const struct part_dealt rows = {.order = 3,
                                        .mode = 1,
                                        .stripe = (uint32_t)stripe,
                                        .common = (uint32_t)common,
                                        .ranks = peers,
                                        .me = me};
        struct device_coo d;
        struct coo expected;
        uint64_t count = 0;
        ok(coo_create(&expected, &shape, (nnz + 100) * (uint64_t)peers, &error), &error);
        for (int k = 0; k < peers; k++)
            for (uint64_t i = 0; i < x[k].nnz; i++) {
                const uint64_t row = x[k].index[1][i], owner = row / stripe;
                const bool is_common = row % stripe < row_deal_common(common, (int)owner, peers);
                if (is_common ? k == me : owner == (uint64_t)me)
                    coo_put(&expected, count++, &x[k], i);
            }
        expected.nnz = count;
        ok(device_coo_deal(&d, all, &rows, &error), &error);
        if (count > 0)
            compare(&d, &expected);
        assert_int_equal(d.nnz, count);
        device_coo_free(&d);
        coo_free(&expected);
    }
    for (int k = 0; k < peers; k++) {
        coo_free(&x[k]);
        device_coo_free(&all[k]);
    }
}

static void test_dealt_rows(void **state)
{
    (void)state;
    uint64_t seed = 5;
    check_deal(2, 30, 7, 50, 20000, &seed);
    check_deal(4, 3, 12, 9, 3000, &seed);                      /* all rows are common */
    check_deal(3, 100000, 5, UINT64_C(1) << 24, 20000, &seed); /* longer lines */
    check_deal(3, 1, 0, 5, 0, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_tensors, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failing_allocations, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_random_parts, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_several_times, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged_part, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failing_parts, scratch_make, scratch_remove),
        cmocka_unit_test(test_dealt_rows),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
