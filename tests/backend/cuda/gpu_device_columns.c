/* Random rows have the host's bits, and statistics of columns agree with the host's, for any order
 * of the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "backend/cuda/dense/device_dense_columns.h"
#include "kernels/dense/dense_random.h"
#include "model/factor_columns.h"
#include "model/ktensor.h"
#include "support/gpu_pool.h"

/* The numbers 10, 11, ... in another order; where `gaps`, some of them are NO_ROW. */
static uint64_t *shuffled_rows(uint64_t rows, bool gaps)
{
    uint64_t *row = host_array(rows, sizeof *row), seed = rows;
    for (uint64_t i = 0; i < rows; i++)
        row[i] = 10 + i;
    for (uint64_t i = rows; i > 1; i--) {
        uint64_t j = naive_random(&seed) % i, swapped = row[i - 1];
        row[i - 1] = row[j];
        row[j] = swapped;
    }
    for (uint64_t i = 0; gaps && i < rows; i += 3)
        row[i] = NO_ROW;
    return row;
}

static void check_random(uint64_t rank, uint64_t rows, enum precision precision, bool ordered)
{
    const uint64_t ld = row_length(rank, precision, 1);
    const size_t size = precision_bytes(precision);
    uint64_t *row = shuffled_rows(rows, true), wrong = 0;
    uint64_t *there = ordered ? NULL : uploaded(row, rows * sizeof *row);
    double *expected = host_array(rows * rank, sizeof *expected);
    struct part part = {.here = {3, {1, 1, rows}}, .first = {0, 0, 41}};
    part.row[2] = ordered ? NULL : row;
    ktensor_random_rows(expected, &part, 2, rank, KTENSOR_RANDOM, 99);
    void *a = uploaded(NULL, (rows + 1) * ld * size);
    const struct dense_random_args args = {.a = a,
                                           .rows = rows,
                                           .ld = (uint32_t)ld,
                                           .rank = (uint32_t)rank,
                                           .mode = 2,
                                           .seed = 99,
                                           .first = 41,
                                           .row = there};
    good(dense_random(&args, precision, NULL));
    void *found = downloaded(a, (rows + 1) * ld, size);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < ld; r++) {
            double x = r < rank ? expected[i * rank + r] : 0;
            wrong += entry(found, i * ld + r, precision) !=
                     (precision == PRECISION_SINGLE ? (double)(float)x : x);
        }
    for (uint64_t r = 0; r < ld; r++)
        wrong += !isnan(entry(found, rows * ld + r, precision)) ? 1u : 0u;
    assert_int_equal(wrong, 0);
    good(cudaFree(a));
    good(cudaFree(there));
    free(found);
    memory_free(row);
    memory_free(expected);
}

static void test_random(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 31, 5000};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++)
            for (int ordered = 0; ordered < 2; ordered++) {
                check_random(ranks[r], lengths[l], PRECISION_DOUBLE, ordered);
                check_random(ranks[r], lengths[l], PRECISION_SINGLE, ordered);
            }
}

/* Many entries of equal magnitude; a column of zeros; columns whose squares no double holds. */
static void *make_matrix(uint64_t rows, uint64_t rank, uint64_t ld, enum precision precision)
{
    void *a = random_matrix(rows, rank, ld, precision, rows + rank);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = entry(a, i * ld + r, precision);
            if (r % 3 == 1)
                x = (double)((int)(x * 2.5)) / 4;
            if (r % 5 == 3)
                x = 0;
            if (precision == PRECISION_SINGLE)
                ((float *)a)[i * ld + r] = (float)x;
            else
                ((double *)a)[i * ld + r] = x;
        }
    return a;
}

/* scale, weight and bound of the columns: in the last ones small entries count as zeros. */
static double *make_entries(uint64_t rank)
{
    double *of = host_array(3 * rank, sizeof *of);
    for (uint64_t r = 0; r < rank; r++) {
        of[r] = r % 4 == 2 ? 1e-190 : r % 4 == 3 ? 1e190 : 1.0 / (double)(r + 1);
        of[rank + r] = 1.0 + (double)(r % 3);
        of[2 * rank + r] = r > rank / 2 ? 0.25 * of[r] : -INFINITY;
    }
    return of;
}

static void check_columns(uint64_t rank, uint64_t rows, enum precision precision, bool ordered)
{
    const uint64_t ld = row_length(rank, precision, 1);
    struct error error = {0};
    struct device_columns c = {0};
    uint64_t *row = shuffled_rows(rows, false);
    uint64_t *there = ordered ? NULL : uploaded(row, rows * sizeof *row);
    void *host = make_matrix(rows, rank, ld, precision);
    void *a = uploaded(host, rows * ld * precision_bytes(precision));
    double *of = make_entries(rank), *plain = host_array(rows * rank, sizeof *plain);
    struct column *expected = host_array(rank, sizeof *expected);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double x = entry(host, i * ld + r, precision) * of[r];
            plain[i * rank + r] = x * of[rank + r] <= of[2 * rank + r] ? 0 : x;
        }
    const struct factor_rows on_host = {
        .a = plain, .rows = rows, .rank = rank, .first = 10, .row = ordered ? NULL : row};
    ok(factor_columns_measure(&on_host, expected, &error), &error);
    ok(device_columns_open(&c, 0, rank, NULL, &error), &error);
    const struct dense_columns_args args = {
        .a = a, .rows = rows, .ld = (uint32_t)ld, .first = 10, .row = there};
    uint32_t parts = 0;
    ok(device_columns_measure(&c, &args, precision, of, &parts, &error), &error);
    for (uint64_t r = 0; r < rank; r++) {
        struct column found = {0, 0, NO_ROW};
        for (uint64_t p = 0; p < parts; p++) {
            const struct dense_column *part = &c.found[p * rank + r];
            column_add(&found, &(struct column){part->largest, part->sum, part->row});
        }
        double norm = column_norm(&expected[r]);
        assert_true(found.largest == expected[r].largest);
        assert_true(fabs(column_norm(&found) - norm) <= 1e-13 * norm);
        if (!ordered)
            assert_true(found.first == expected[r].first);
    }
    device_columns_close(&c);
    good(cudaFree(a));
    good(cudaFree(there));
    memory_free(row);
    memory_free(host);
    memory_free(of);
    memory_free(plain);
    memory_free(expected);
}

static void test_columns(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 31, 300, 40000};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++)
            for (int ordered = 0; ordered < 2; ordered++) {
                check_columns(ranks[r], lengths[l], PRECISION_DOUBLE, ordered);
                check_columns(ranks[r], lengths[l], PRECISION_SINGLE, ordered);
            }
}

static void check_sums(uint64_t rank, uint64_t rows, enum precision precision)
{
    const uint64_t ld = row_length(rank, precision, 0);
    void *host = make_matrix(rows, rank, ld, precision);
    void *a = uploaded(host, rows * ld * precision_bytes(precision));
    double *partial = uploaded(NULL, DENSE_SUM_PARTS * rank * sizeof *partial);
    double *there = uploaded(NULL, rank * sizeof *there), *sum = host_array(rank, sizeof *sum);
    const struct dense_column_sums_args args = {.a = a,
                                                .rows = rows,
                                                .ld = (uint32_t)ld,
                                                .rank = (uint32_t)rank,
                                                .partial = partial,
                                                .sum = there};
    good(dense_column_sums(&args, precision, NULL));
    fetch(sum, there, rank * sizeof *sum);
    for (uint64_t r = 0; r < rank; r++) {
        long double expected = 0, size = 0;
        for (uint64_t i = 0; i < rows; i++) {
            expected += entry(host, i * ld + r, precision);
            size += fabs(entry(host, i * ld + r, precision));
        }
        assert_true(fabsl(sum[r] - expected) <= 1e-14L * size);
    }
    good(cudaFree(a));
    good(cudaFree(partial));
    good(cudaFree(there));
    memory_free(host);
    memory_free(sum);
}

static void test_sums(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 63, 300, 40000};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++) {
            check_sums(ranks[r], lengths[l], PRECISION_DOUBLE);
            check_sums(ranks[r], lengths[l], PRECISION_SINGLE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
