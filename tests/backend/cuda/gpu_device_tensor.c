/* The tables of a tensor on the device: chunks and rows to zero, against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_tensor.h"
#include "support/gpu_pool.h"

static void check_chunks(const struct device_tensor *t, int table)
{
    const struct device_blco *b = &t->blco;
    uint32_t size = device_tensor_chunk_size(t, table);
    struct mttkrp_chunk *chunk =
        downloaded(t->table[table].chunk, t->table[table].count, sizeof *chunk);
    uint64_t c = 0;
    for (uint64_t k = 0; k < b->nblocks; k++)
        for (uint64_t i = 0; i < b->block[k].count; i += size, c++) {
            uint64_t left = b->block[k].count - i;
            assert_true(c < t->table[table].count);
            assert_int_equal(chunk[c].first, b->block[k].first + i);
            assert_int_equal(chunk[c].count, left < size ? left : size);
            assert_int_equal(chunk[c].block, k);
        }
    assert_int_equal(c, t->table[table].count);
    free(chunk);
}

/* Rows of `mode` without a nonzero, or at an end of one of the shortest chunks. */
static void check_zero_rows(const struct device_tensor *t, const struct coo *x, int mode)
{
    const struct device_blco *b = &t->blco;
    uint64_t rows = x->shape.dims[mode], listed = 0;
    uint8_t *wanted = malloc(rows);
    assert_non_null(wanted);
    memset(wanted, 1, rows);
    for (uint64_t i = 0; i < x->nnz; i++)
        wanted[x->index[mode][i]] = 0;

    uint64_t *word = downloaded(b->index[b->ordering.field[mode].word], b->nnz, sizeof *word);
    uint32_t size = device_tensor_chunk_size(t, 0);
    for (uint64_t k = 0; k < b->nblocks; k++)
        for (uint64_t i = 0; i < b->block[k].count; i++)
            if (i % size == 0 || i % size == size - 1 || i == b->block[k].count - 1) {
                struct field f = b->ordering.field[mode];
                wanted[(word[b->block[k].first + i] >> f.shift & f.mask) | b->block[k].base[mode]] =
                    1;
            }
    uint32_t *row = downloaded(t->zero_row, t->zero_rows, sizeof *row);
    for (uint64_t i = 0; i < rows; i++)
        if (wanted[i]) {
            assert_true(listed < t->zero_rows);
            assert_int_equal(row[listed++], i);
        }
    assert_int_equal(listed, t->zero_rows);
    free(row);
    free(word);
    free(wanted);
}

static void test_tables(void **state)
{
    (void)state;
    static const uint64_t dims[][3] = {
        {300, 20, 7}, {1 << 22, 1 << 22, 1 << 22}, {1 << 23, 1 << 22, 5}, {1, 1, 1}};
    static const uint64_t nonzeros[] = {40000, 150000, 150000, 1};
    struct error error = {0};
    int blocks = 0;
    for (int t = 0; t < 4; t++) {
        struct coo x;
        struct device_coo d;
        naive_random_coo(&x, SHAPE(3, dims[t]), nonzeros[t], 5, t % 2);
        upload_coo(&d, &x);
        for (int kind = ORDERING_ALTO; kind < 3; kind++) {
            struct device_tensor tensor;
            const struct device_blco_options options = {.kind = kind, .last = kind == 2};
            ok(device_tensor_build(&tensor, &d, &options, &error), &error);
            for (int table = 0; table < DEVICE_CHUNK_TABLES; table++)
                check_chunks(&tensor, table);
            if (kind != ORDERING_ALTO)
                check_zero_rows(&tensor, &x, kind);
            blocks += tensor.blco.nblocks > 1;
            device_tensor_free(&tensor);
        }
        device_coo_free(&d);
        coo_free(&x);
    }
    assert_true(blocks >= 3);
}

/* Where there is no room to sort at once, the tensor is built by sorting in pieces. */
static void test_failing_allocations(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {1 << 23, 1 << 22, 5};
    struct coo x;
    struct device_coo d;
    naive_random_coo(&x, SHAPE(3, dims), 50000, 6, 0);
    upload_coo(&d, &x);
    int failures = 0, recovered = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct error failed = {0};
        struct device_tensor tensor;
        memory_hook_set(k);
        const struct device_blco_options options = {.kind = 0};
        enum status status = device_tensor_build(&tensor, &d, &options, &failed);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (status == STATUS_OK) {
            for (int table = 0; table < DEVICE_CHUNK_TABLES; table++)
                check_chunks(&tensor, table);
            check_zero_rows(&tensor, &x, 0);
            recovered += (int)fired;
        } else {
            assert_true(fired && status == STATUS_MEMORY);
            assert_null(tensor.blco.value);
            failures++;
        }
        device_tensor_free(&tensor);
    }
    assert_true(failures > 4 && recovered > 0);
    device_coo_free(&d);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
