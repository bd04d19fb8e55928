/* Tensors in NumPy arrays: every type and order of entries gives the tensor that was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "base/memory.h"
#include "formats/npy/npy_tensor.h"
#include "support/naive.h"
#include "support/scratch.h"
#include "support/npy_files.h"
#include "support/tensor_reads.h"

static const char *const index_types[] = {"<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|i1", "|u1"};
static const char *const value_types[] = {"<f8", "<f4", "<i8", "<u8", "<i4",
                                          "<u4", "<i2", "|u1", "|b1"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const struct tns_options plain = {0};

static enum status read_coo(struct coo *x, const char *path, const struct tns_options *options,
                            struct error *error)
{
    *error = (struct error){0};
    return read_path(x, path, options, error);
}

/* Duplicates among the coordinates, and values that every type has. */
static void make_coo(struct coo *x, const struct shape *shape, uint64_t nnz)
{
    struct error error = {0};
    uint64_t seed = 11;
    assert_int_equal(coo_create(x, shape, nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        x->value[i] = (double)(naive_random(&seed) % 2);
        for (int n = 0; n < shape->order; n++) /* the largest index of each is there */
            x->index[n][i] = (uint32_t)(i == nnz / 2 ? shape->dims[n] - 1
                                                     : naive_random(&seed) % shape->dims[n]);
    }
}

static void assert_coo(const struct coo *x, const struct coo *expected)
{
    assert_true(shape_equal(&x->shape, &expected->shape));
    assert_int_equal(x->nnz, expected->nnz);
    for (int n = 0; n < x->shape.order; n++)
        assert_memory_equal(x->index[n], expected->index[n], x->nnz * sizeof *x->index[n]);
    assert_memory_equal(x->value, expected->value, x->nnz * sizeof *x->value);
}

static void test_types(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{1, {120}}, {3, {30, 99, 7}}, {4, {3, 1, 50, 120}}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t t = 0; t < COUNT(index_types) * COUNT(value_types) * 4; t++) {
            struct coo expected, x;
            struct error error;
            const int base = t & 1;
            const struct tns_options options = {.index_base = 1,
                                                .index_base_given = base ? "--index-base" : NULL};
            make_coo(&expected, &shapes[s], 20000);
            const char *path =
                npy_write_coo(&expected, index_types[t / 4 % COUNT(index_types)], t >> 1 & 1, base,
                              value_types[t / 4 / COUNT(index_types)]);
            if (read_coo(&x, path, &options, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            assert_coo(&x, &expected);
            coo_free(&x);
            coo_free(&expected);
        }
}

/* Lengths that are given; no values; values that are unknown. */
static void test_options(void **state)
{
    (void)state;
    struct coo x, expected;
    struct error error;
    make_coo(&expected, &(struct shape){3, {30, 99, 7}}, 5000);
    expected.value[3] = COO_UNKNOWN;
    expected.value[4] = -NAN;
    const char *path = npy_write_coo(&expected, "<i8", false, 0, "<f8");
    expected.value[4] = COO_UNKNOWN;
    expected.shape.dims[1] = 200;
    const struct tns_options longer = {.ndims = 3, .dims = {0, 200, 7}};
    assert_int_equal(read_coo(&x, path, &longer, &error), STATUS_OK);
    assert_coo(&x, &expected);
    coo_free(&x);
    struct tns_options options = {.values_optional = true};
    for (int unknown = 0; unknown < 2; unknown++) {
        options.values_optional = unknown;
        assert_int_equal(read_coo(&x, scratch_path("c.npy"), &options, &error), STATUS_OK);
        assert_int_equal(x.nnz, expected.nnz);
        for (uint64_t i = 0; i < x.nnz; i++)
            assert_true(unknown ? isnan(x.value[i]) : x.value[i] == 1);
        coo_free(&x);
    }
    coo_free(&expected);
}

struct joined {
    struct coo *expected;
    uint64_t at, pieces;
    struct shape shape; /* of the last piece */
};

static enum status compare(void *context, struct coo *piece, struct error *error)
{
    struct joined *j = context;
    (void)error;
    j->pieces++;
    j->shape = piece->shape;
    for (uint64_t i = 0; i < piece->nnz; i++, j->at++)
        for (int n = 0; n < piece->shape.order; n++)
            if (piece->index[n][i] != j->expected->index[n][j->at])
                fail_msg("entry %ju", (uintmax_t)j->at);
    return STATUS_OK;
}

static void test_pieces(void **state)
{
    (void)state;
    struct coo expected, x;
    struct error error = {0};
    struct joined joined = {.expected = &expected};
    make_coo(&expected, &(struct shape){2, {300, 100}}, 9000000);
    const char *path = npy_write_coo(&expected, "<i2", false, 0, "|b1");
    struct tensor_reader r = {
        .path = path, .tns = &plain, .format = &tensor_npy, .cut = TENSOR_PIECES, .memory = 1};
    if (tensor_reader_each(&r, compare, &joined, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(joined.pieces == 3 && joined.at == expected.nnz);
    assert_true(shape_equal(&joined.shape, &expected.shape));
    const struct tns_options small = {.memory = 100000000};
    assert_int_equal(read_coo(&x, path, &small, &error), STATUS_MEMORY);
    coo_free(&expected);
}

/* Of several bad entries the first one is named, whatever the number of threads. */
static void test_first_bad_entry(void **state)
{
    (void)state;
    struct coo x, expected;
    struct error error;
    make_coo(&expected, &(struct shape){3, {30, 99, 7}}, 50000);
    for (int threads = 1; threads <= 4; threads++)
        for (int fortran = 0; fortran < 2; fortran++) {
            omp_set_num_threads(threads);
            expected.value[40000] = -INFINITY;
            expected.value[30000] = INFINITY;
            const char *path = npy_write_coo(&expected, "<u4", fortran, 0, "<f8");
            assert_int_equal(read_coo(&x, path, &plain, &error), STATUS_INPUT);
            assert_non_null(
                strstr(error.message, "v.npy: entry [30000] is inf, expected a finite"));
            expected.index[2][30001] = 70;
            expected.value[30000] = 1;
            path = npy_write_coo(&expected, "<u4", fortran, 0, "<f8");
            const struct tns_options options = {.ndims = 3, .dims = {0, 0, 70}};
            assert_int_equal(read_coo(&x, path, &options, &error), STATUS_INPUT);
            assert_non_null(strstr(error.message, "c.npy: entry [30001, 2] is 70, expected at most "
                                                  "69, as --dims says"));
            assert_null(x.value);
        }
    omp_set_num_threads(2);
    coo_free(&expected);
}

/* Bad arrays of 12 bytes, C order; the values have n. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        uint64_t rows, cols;
        int64_t entry; /* all of them */
        const char *values;
        uint64_t n;
        const char *expected;
    } cases[] = {
        {"<i8", 3, 2, -1, "<f8", 3, "c.npy: entry [0, 0] is -1, expected 0 or more"},
        {"<i2", 3, 2, -300, "<f8", 3, "c.npy: entry [0, 0] is -300, expected 0 or more"},
        {"<i8", 3, 2, INT64_MIN, "<f8", 3, "entry [0, 0] is -9223372036854775808, expected 0 or"},
        {"<u8", 3, 2, -1, "<f8", 3,
         "entry [0, 0] is 18446744073709551615, expected at most 4294967294"},
        {"<i8", 3, 2, UINT32_MAX, "<f8", 3, "is 4294967295, expected at most 4294967294"},
        {"<u4", 3, 2, -1, "<f8", 3, "is 4294967295, expected at most 4294967294"},
        {"<f8", 3, 2, 0, "<f8", 3,
         "c.npy: .npy header: entries of type '<f8', expected integers, li"},
        {">i8", 3, 2, 0, "<f8", 3,
         "c.npy: .npy header: entries of type '>i8', expected integers, li"},
        {"<i8", 3, 2, 0, "<c8", 3,
         "v.npy: .npy header: entries of type '<c8', expected '<f8', '<f4' or"},
        {"<i8", 3, 2, 0, "<f2", 3,
         "v.npy: .npy header: entries of type '<f2', expected '<f8', '<f4' or"},
        {"<i8", 3, 17, 0, "<f8", 3,
         "c.npy: shape (3, 17), expected 1 to 16 columns, one for each mode"},
        {"<i8", 3, 2, 0, "<f8", 4, "v.npy: 4 x 1 values, expected 3, one for each row of "},
        {"<i8", 3, 2, 0, "<f8", 2, "c.npy: shape (3, 2), expected (entries, modes): it is transp"},
        {"<i8", 3, 20, 0, "<f8", 20, "c.npy: shape (3, 20), expected (entries, modes): it is tra"},
        {"<i8", 20, 20, 0, "<f8", 20, "c.npy: shape (20, 20), expected 1 to 16 columns, one for"},
        {"<i8", 20, 2, 0, "<f8", 2, "c.npy: shape (20, 2), expected (entries, modes): it is tra"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t entries[400];
        char path[1100];
        struct coo x;
        struct error error;
        for (int k = 0; k < 400; k++) {
            entries[k] = cases[i].entry;
            if (cases[i].type[2] == '4')
                ((int32_t *)entries)[k] = (int32_t)cases[i].entry;
            else if (cases[i].type[2] == '2')
                ((int16_t *)entries)[k] = (int16_t)cases[i].entry;
        }
        npy_write_file("c.npy", cases[i].type, false, cases[i].rows, cases[i].cols, entries);
        memset(entries, 0, sizeof entries);
        npy_write_file("v.npy", cases[i].values, false, cases[i].n, 0, entries);
        snprintf(path, sizeof path, "%s,%s", scratch_path("c.npy"), scratch_path("v.npy"));
        assert_int_equal(read_coo(&x, path, &plain, &error), STATUS_INPUT);
        if (!strstr(error.message, cases[i].expected))
            fail_msg("%s\nexpected %s", error.message, cases[i].expected);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const both[] = {"c.npy,v.npy", "a,b.npy,v", "c.npy,v.npy,w", "/x/c.npy,-"},
                             *const one[] = {"c.npy", "a,b.npy", "a,.npy"},
                             *const none[] = {".npy", "c.npy,", "npy", "c.tns,v", "c.npy.gz", "-"};
    for (size_t i = 0; i < COUNT(both); i++)
        assert_true(npy_tensor_named(both[i]) && npy_tensor_has_values(both[i]));
    for (size_t i = 0; i < COUNT(one); i++)
        assert_true(npy_tensor_named(one[i]) && !npy_tensor_has_values(one[i]));
    for (size_t i = 0; i < COUNT(none); i++)
        assert_false(npy_tensor_named(none[i]));
}

static void test_no_memory(void **state)
{
    (void)state;
    struct coo x, expected;
    struct error error;
    make_coo(&expected, &(struct shape){3, {30, 99, 7}}, 100);
    const char *path = npy_write_coo(&expected, "<i8", true, 0, "<f8");
    for (long k = 0;; k++) {
        memory_hook_set(k);
        const enum status status = read_coo(&x, path, &plain, &error);
        const int fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        if (!fired)
            break;
        assert_null(x.value); /* leaks are the sanitizer's to find */
    }
    coo_free(&x);
    coo_free(&expected);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(test_types),     ON_DISK(test_options),        ON_DISK(test_pieces),
        ON_DISK(test_refused),   cmocka_unit_test(test_names), ON_DISK(test_first_bad_entry),
        ON_DISK(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
