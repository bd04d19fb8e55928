/* Factors to the device and back: every entry arrives, padding is zero, nothing beyond is touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cuda/runtime/device_factor_copy.h"
#include "support/gpu_pool.h"

static void check_transfers(uint64_t rank, uint64_t rows, enum precision precision)
{
    const uint64_t ld = row_length(rank, precision, 1);
    const size_t size = precision_bytes(precision);
    const bool single = precision == PRECISION_SINGLE;
    uint64_t seed = rank + rows;
    struct error error = {0};
    double *host = host_array(rows * rank, sizeof *host),
           *back = host_array(rows * rank, sizeof *back);
    double *scale = random_matrix(1, rank, rank, PRECISION_DOUBLE, seed);
    void *there = host_array((rows + 1) * ld, size), *a = uploaded(NULL, (rows + 1) * ld * size);
    for (uint64_t i = 0; i < rows * rank; i++)
        host[i] = random_entry(&seed) / 3;

    const struct device_matrix matrix = {a, rows, rank, ld, precision};
    ok(device_factor_upload(&staging, host, &matrix, &error), &error);
    fetch(there, a, (rows + 1) * ld * size);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < ld; r++) {
            const double x = r < rank ? host[i * rank + r] : 0;
            wrong += entry(there, i * ld + r, precision) != (single ? (double)(float)x : x);
        }
    for (uint64_t r = 0; r < ld; r++)
        wrong += !isnan(entry(there, rows * ld + r, precision)) ? 1u : 0u;
    assert_int_equal(wrong, 0);

    for (int scaled = 0; scaled < 2; scaled++) {
        ok(device_factor_download(&staging, &matrix, back,
                                  &(struct host_rows_form){.scale = scaled ? scale : NULL}, &error),
           &error);
        for (uint64_t i = 0; i < rows * rank; i++) {
            const double x = single ? (double)(float)host[i] : host[i];
            wrong += back[i] != (scaled ? x * scale[i % rank] : x);
        }
        assert_int_equal(wrong, 0);
    }
    good(cudaFree(a));
    memory_free(host);
    memory_free(back);
    memory_free(scale);
    memory_free(there);
}

static void test_transfers(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 31, 300, 70001};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++)
            for (enum precision precision = PRECISION_DOUBLE; precision <= PRECISION_SINGLE;
                 precision++)
                check_transfers(ranks[r], lengths[l], precision);
}

/* Columns in another order, multiplied, small entries as zeros, divided: the host's bits. Then once
 * more with the rows in another order, the first of them left out. */
static void check_columns(uint64_t rank, uint64_t rows, enum precision precision, bool zeros)
{
    const uint64_t ld = row_length(rank, precision, 1);
    uint64_t seed = rank + rows, wrong = 0;
    struct error error = {0};
    void *host = random_matrix(rows, rank, ld, precision, seed);
    void *a = uploaded(host, rows * ld * precision_bytes(precision));
    double *back = host_array(rows * rank, sizeof *back), *of = host_array(4 * rank, sizeof *of);
    double *other = host_array(rows * rank, sizeof *other);
    uint64_t *from = host_array(rank, sizeof *from), *number = host_array(rows, sizeof *number);
    for (uint64_t r = 0; r < rank; r++) {
        from[r] = (r * 7 + 3) % rank; /* a permutation, but for multiples of 7 */
        for (int what = 0; what < 4; what++)
            of[(uint64_t)what * rank + r] = 2 + random_entry(&seed);
    }
    const struct column_form how = {.from = from,
                                    .scale = of,
                                    .weight = of + rank,
                                    .bound = of + 2 * rank,
                                    .has_zeros = zeros,
                                    .divisor = of + 3 * rank};
    const struct device_matrix matrix = {a, rows, rank, ld, precision};
    ok(device_factor_download(&staging, &matrix, back, &(struct host_rows_form){.form = &how},
                              &error),
       &error);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = entry(host, i * ld + from[r], precision) * of[r];
            if (zeros && x * of[rank + r] <= of[2 * rank + r])
                x = 0;
            wrong += back[i * rank + r] != x / of[3 * rank + r];
        }
    assert_int_equal(wrong, 0);
    for (uint64_t i = 0; i < rows; i++)
        number[i] = i > 0 ? rows - 1 - i : UINT64_MAX;
    for (uint64_t r = 0; r < rank; r++) /* where the first row would go */
        other[(rows - 1) * rank + r] = -1;
    ok(device_factor_download(&staging, &matrix, other,
                              &(struct host_rows_form){.form = &how, .number = number}, &error),
       &error);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            wrong += other[(rows - 1 - i) * rank + r] != (i > 0 ? back[i * rank + r] : -1);
    assert_int_equal(wrong, 0);
    good(cudaFree(a));
    memory_free(host);
    memory_free(back);
    memory_free(other);
    memory_free(of);
    memory_free(from);
    memory_free(number);
}

static void test_columns(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 31, 70001};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++)
            for (int zeros = 0; zeros < 2; zeros++) {
                check_columns(ranks[r], lengths[l], PRECISION_DOUBLE, zeros);
                check_columns(ranks[r], lengths[l], PRECISION_SINGLE, zeros);
            }
    check_columns(32768, 40, PRECISION_DOUBLE, true);
}

/* The longest rows of a GPU, and many parts for every thread. */
static void test_long_rows(void **state)
{
    (void)state;
    check_transfers(32768, 40, PRECISION_DOUBLE);
    check_transfers(32768, 40, PRECISION_SINGLE);
    check_transfers(3, 3000000, PRECISION_DOUBLE);
}

/* A copy to where there is no memory is an error, and staging still works after it. */
static void test_error(void **state)
{
    (void)state;
    struct error error = {0};
    double host[4] = {1, 2, 3, 4};
    const struct device_matrix nowhere = {NULL, 2, 2, 2, PRECISION_DOUBLE};
    assert_int_equal(device_factor_upload(&staging, host, &nowhere, &error), STATUS_INTERNAL);
    check_transfers(7, 100, PRECISION_DOUBLE);
}

/* Where the buffers cannot be pinned, copies work all the same; without buffers there is no
 * staging.
 */
static void test_refused_memory(void **state)
{
    (void)state;
    struct error error = {0};
    const struct device_staging pinned = staging;
    memory_hook_set(0);
    assert_int_equal(device_staging_open(&staging, 0, NULL, &error), STATUS_MEMORY);
    device_staging_close(&staging);
    memory_hook_set(1);
    error = (struct error){0};
    ok(device_staging_open(&staging, 0, NULL, &error), &error);
    assert_true(memory_hook_fired() && !staging.pinned && staging.slots == pinned.slots);
    memory_hook_set(-1);
    check_transfers(7, 100, PRECISION_DOUBLE);
    check_transfers(3, 1000000, PRECISION_SINGLE);
    device_staging_close(&staging);
    staging = pinned;
    assert_true(staging.pinned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers),      cmocka_unit_test(test_columns),
        cmocka_unit_test(test_long_rows),      cmocka_unit_test(test_error),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
