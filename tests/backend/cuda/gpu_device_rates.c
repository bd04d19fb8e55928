/* Measuring the GPU: the kernels do what they are meant to measure, and the rates are plausible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_rates.h"
#include "kernels/measure/peak_rates.h"
#include "numerics/vector_bytes.h"
#include "support/gpu_arrays.h"

/* Counts that do and do not fill the last thread block. */
static void test_copy(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 255, 2048, 2049, 100001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct error error = {0};
        uint64_t bytes = counts[i] * VECTOR_BYTES;
        void *from = device_array(bytes, 1, &error),
             *to = device_array(bytes + VECTOR_BYTES, 1, &error);
        assert_non_null(to);
        assert_int_equal(cudaMemset(to, 0xab, bytes + VECTOR_BYTES), cudaSuccess);
        assert_int_equal(peak_fill(from, counts[i], PRECISION_DOUBLE, 0), cudaSuccess);
        assert_int_equal(peak_copy(to, from, counts[i], 0), cudaSuccess);
        double *source = downloaded(from, bytes, 1);
        unsigned char *copied = downloaded(to, bytes + VECTOR_BYTES, 1);
        assert_memory_equal(source, copied, bytes);
        for (uint64_t k = 0; k < 2 * counts[i]; k++)
            assert_true(source[k] >= 1 && source[k] <= 2);
        for (int k = 0; k < VECTOR_BYTES; k++)
            assert_int_equal(copied[bytes + (uint64_t)k], 0xab);
        free(source);
        free(copied);
        device_free(from);
        device_free(to);
    }
}

/* Every row that was counted was added, each to one row of the table. */
static void check_atomic(uint32_t rows, uint32_t vectors, enum precision precision)
{
    struct error error = {0};
    uint64_t bytes = (uint64_t)rows * vectors * VECTOR_BYTES;
    struct peak_rows r = {.table = device_array(bytes, 1, &error),
                          .rows = rows,
                          .vectors = vectors,
                          .precision = precision,
                          .processors = 3,
                          .count = 100000};
    assert_non_null(r.table);
    assert_int_equal(cudaMemset(r.table, 0, bytes), cudaSuccess);
    assert_int_equal(peak_atomic(&r, 0), cudaSuccess);
    assert_true(r.count >= 100000);
    void *table = downloaded(r.table, bytes, 1);
    double sum = 0;
    uint64_t width = vectors * (VECTOR_BYTES / precision_bytes(precision));
    for (uint64_t i = 0; i < rows * width; i++)
        sum += entry(table, i, precision);
    assert_true(sum == (double)r.count * (double)width);

    assert_int_equal(peak_gather(&r, 0), cudaSuccess); /* changes nothing */
    void *after = downloaded(r.table, bytes, 1);
    assert_memory_equal(table, after, bytes);
    free(table);
    free(after);
    device_free(r.table);
}

static void test_rows(void **state)
{
    (void)state;
    static const uint32_t vectors[] = {1, 4, 5, 8, 16, 17, 32, 33, 100};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (enum precision precision = PRECISION_DOUBLE; precision <= PRECISION_SINGLE;
             precision++) {
            check_atomic(1, vectors[i], precision);
            check_atomic(1000, vectors[i], precision);
        }
}

static void test_rates(void **state)
{
    (void)state;
    const struct shape shape = {3, {1, 5000, 300000}};
    for (enum precision precision = PRECISION_DOUBLE; precision <= PRECISION_SINGLE; precision++) {
        const bool single = precision == PRECISION_SINGLE;
        struct error error = {0};
        struct backend_rates rates;
        struct device_rates_request request = {.shape = &shape,
                                               .row_bytes = single ? 68 : 136,
                                               .vectors = single ? 5 : 9,
                                               .precision = precision};
        assert_int_equal(device_rates(&request, &rates, &error), STATUS_OK);
        assert_in_range((uint64_t)(rates.copy_bytes_per_second / 1e9), 50, 100000);
        assert_in_range((uint64_t)(rates.upload_bytes_per_second / 1e9), 1, 1000);
        assert_in_range((uint64_t)(rates.cache_bytes_per_second / 1e9), 500, 200000);
        for (int n = 0; n < 3; n++) {
            assert_in_range((uint64_t)(rates.gather_bytes_per_second[n] / 1e9), 20, 200000);
            assert_in_range((uint64_t)(rates.atomic_rows_per_second[n] / 1e6), 5, 1000000);
        }
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const struct shape shape = {1, {50}};
    struct device_rates_request request = {
        .shape = &shape, .row_bytes = 16, .vectors = 1, .memory = 100000000};
    for (long k = 0;; k++) {
        struct error error = {0};
        struct backend_rates rates;
        memory_hook_set(k);
        enum status status = device_rates(&request, &rates, &error);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        if (!fired) {
            assert_int_equal(k, 8); /* five arrays, a queue and two events */
            return;
        }
    }
}

static void test_info(void **state)
{
    (void)state;
    struct error error = {0};
    struct backend_device device;
    assert_int_equal(device_info(0, &device, &error), STATUS_OK);
    assert_string_not_equal(device.name, "");
    assert_non_null(strstr(device.driver, "CUDA "));
    assert_non_null(strstr(device.runtime, "CUDA "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),  cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rates), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_info),
    };
    return cmocka_run_group_tests_name("device_rates", tests, NULL, NULL);
}
