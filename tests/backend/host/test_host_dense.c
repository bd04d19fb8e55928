/* The host's dense steps around the solve: Grams, products, updates, in double and in single. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "backend/host/host_entries.h"
#include "backend/host/simd_width.h"
#include "support/dense_matrices.h"

static void test_gram(void **state)
{
    (void)state;
    static const uint64_t shapes[][2] = {{0, 3},    {1, 1},   {1, 7},     {5, 16},   {70001, 1},
                                         {9999, 2}, {700, 7}, {5000, 16}, {40, 130}, {400, 300}};
    struct error error = {0};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        uint64_t rows = shapes[s][0], rank = shapes[s][1];
        double *a = random_matrix(rows, rank), *expected = naive_gram(a, rows, rank);
        double *g = random_matrix(rank, rank), *again = random_matrix(rank, rank);
        omp_set_num_threads(1);
        assert_int_equal(host_dense_gram(a, rows, rank, PRECISION_DOUBLE, g, &error), STATUS_OK);
        assert_true(distance(g, expected, rank * rank) < 1e-14);
        for (int threads = 2; threads <= 3; threads++) {
            omp_set_num_threads(threads);
            assert_int_equal(host_dense_gram(a, rows, rank, PRECISION_DOUBLE, again, &error),
                             STATUS_OK);
            assert_memory_equal(g, again, rank * rank * sizeof *g);
        }
        memory_free(a);
        memory_free(expected);
        memory_free(g);
        memory_free(again);
    }
}

/* The Gram of A and the inner products of M and A are those of the A that comes out, whether the
 * inverse is one matrix, two, or singular, and whether A takes M's place. */
static void check_update(uint64_t rows, uint64_t rank, double least)
{
    struct error error = {0};
    struct host_dense_inverse inverse;
    double *u = random_matrix(1, rank), *w = random_matrix(1, rank), *row = copy_of(w, 1, rank);
    double *column = random_matrix(1, rank), *inner = random_matrix(2, rank);
    for (uint64_t r = 0; r < rank; r++)
        w[r] = r % 3 == 2 ? least : 1.0 + fabs(w[r]);
    double *v = spectral(u, w, rank), *m = random_matrix(rows, rank), *a = copy_of(m, rows, rank);
    double *g = random_matrix(rank, rank), *again = random_matrix(rank, rank);
    double *plain = random_matrix(rows, rank), *scaled = copy_of(m, rows, rank);
    assert_int_equal(host_dense_inverse_create(&inverse, v, rank, PRECISION_DOUBLE, &error),
                     STATUS_OK);
    if (rank >= 3)
        assert_int_equal(inverse.factors, least > 0.0 && least < 1e-3 ? 2 : 1);

    /* diag(row) V^+ diag(column) on M is V^+ on M diag(row), and then diag(column) */
    host_dense_scale_columns(scaled, rows, rank, PRECISION_DOUBLE, row);
    assert_int_equal(
        host_dense_update(&inverse, NULL,
                          &(struct host_dense_rows){scaled, plain, rows, PRECISION_DOUBLE}, g,
                          inner, &error),
        STATUS_OK);
    host_dense_scale_columns(plain, rows, rank, PRECISION_DOUBLE, column);
    host_dense_inverse_scale(&inverse, row, column);
    omp_set_num_threads(1);
    assert_int_equal(host_dense_update(&inverse, NULL,
                                       &(struct host_dense_rows){m, a, rows, PRECISION_DOUBLE}, g,
                                       inner, &error),
                     STATUS_OK);
    assert_true(distance(a, plain, rows * rank) < 1e-14 / (least > 0.0 ? least : 1.0));

    double *expected = naive_gram(a, rows, rank);
    assert_true(distance(g, expected, rank * rank) < 1e-14);
    for (uint64_t r = 0; r < rank; r++) {
        long double sum = 0, magnitude = 0;
        for (uint64_t i = 0; i < rows; i++) {
            long double term = (long double)m[i * rank + r] * a[i * rank + r];
            sum += term;
            magnitude += fabsl(term);
        }
        assert_true(fabsl(inner[r] - sum) <= 1e-14L * magnitude);
    }
    for (int threads = 2; threads <= 3; threads++) {
        double *in_place = copy_of(m, rows, rank);
        omp_set_num_threads(threads);
        assert_int_equal(
            host_dense_update(&inverse, NULL,
                              &(struct host_dense_rows){in_place, in_place, rows, PRECISION_DOUBLE},
                              again, inner + rank, &error),
            STATUS_OK);
        assert_memory_equal(in_place, a, rows * rank * sizeof *a);
        assert_memory_equal(again, g, rank * rank * sizeof *g);
        assert_memory_equal(inner + rank, inner, rank * sizeof *inner);
        memory_free(in_place);
    }
    double *all[] = {u, w, row, column, inner, v, m, a, g, again, plain, scaled, expected};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        memory_free(all[i]);
    host_dense_inverse_free(&inverse);
}

static void test_update(void **state)
{
    (void)state;
    static const uint64_t shapes[][2] = {{0, 2},     {1, 1},   {3, 8},    {20000, 3},
                                         {9000, 17}, {700, 9}, {500, 33}, {90, 150}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int i = 0; i < 3; i++)
            check_update(shapes[s][0], shapes[s][1], (const double[]){0.5, 1e-5, 0.0}[i]);
}

/* Every SIMD width, rows and columns that fill no tile, both ways of reading X. */
static void test_multiply_widths(void **state)
{
    (void)state;
    static const uint64_t widths[] = {8, 4, 2};
    for (size_t l = 0; l < 3; l++)
        for (uint64_t rank = 1; rank <= 70; rank += rank < 34 ? 1 : 12)
            for (uint64_t rows = 1; rows <= 37; rows += 9) {
                double *x = random_matrix(rows, rank), *y = random_matrix(rank, rank);
                double *c = random_matrix(rows, rank), *expected = product(x, y, rows, rank);
                struct host_dense_product p = {c, x, y, rank, 1, rows, rank, rank, false};
                double *g = random_matrix(rank, rank), *gram = naive_gram(x, rows, rank);
                struct host_dense_product q = {g, x, x, 1, rank, rank, rows, rank, true};
                memset(g, 0, rank * rank * sizeof *g);
                simd_width_limit(widths[l]);
                host_dense_multiply(&p, false);
                host_dense_multiply(&q, true);
                host_dense_multiply(&q, true);
                for (uint64_t i = 0; i < rank; i++)
                    for (uint64_t j = 0; j < rank; j++)
                        g[i * rank + j] = j < i ? gram[i * rank + j] : g[i * rank + j] / 2;
                assert_true(distance(c, expected, rows * rank) < 1e-14);
                assert_true(distance(g, gram, rank * rank) < 1e-14);
                double *all[] = {x, y, c, expected, g, gram};
                for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                    memory_free(all[i]);
            }
    simd_width_limit(0);
}

/* Of floats: A is what the same M as doubles gives, rounded; Gram and inner products are those of
 * the A that is stored. */
static void check_single(uint64_t rows, uint64_t rank)
{
    struct error error = {0};
    struct host_dense_inverse inverse;
    const enum precision single = PRECISION_SINGLE;
    double *u = random_matrix(1, rank), *w = random_matrix(1, rank);
    for (uint64_t r = 0; r < rank; r++)
        w[r] = 1.0 + fabs(w[r]);
    double *v = spectral(u, w, rank), *m = random_matrix(rows, rank),
           *a = random_matrix(rows, rank);
    double *g = random_matrix(rank, rank), *inner = random_matrix(1, rank);
    float *stored = memory_array(rows * rank, sizeof *stored, &error);
    assert_non_null(stored);
    host_entries_write(stored, m, rows * rank, single);
    host_entries_read(m, stored, rows * rank, single);
    assert_int_equal(host_dense_inverse_create(&inverse, v, rank, single, &error), STATUS_OK);
    const struct host_dense_rows in_place = {stored, stored, rows, single};
    const struct host_dense_rows doubles = {m, a, rows, PRECISION_DOUBLE};
    assert_int_equal(host_dense_update(&inverse, NULL, &doubles, g, inner, &error), STATUS_OK);
    assert_int_equal(host_dense_update(&inverse, NULL, &in_place, g, inner, &error), STATUS_OK);
    for (uint64_t i = 0; i < rows * rank; i++) {
        assert_true(stored[i] == (float)a[i]);
        a[i] = (double)stored[i];
    }
    double *expected = naive_gram(a, rows, rank);
    assert_true(distance(g, expected, rank * rank) < 1e-14);
    for (uint64_t r = 0; r < rank; r++) {
        long double sum = 0, magnitude = 0;
        for (uint64_t i = 0; i < rows; i++) {
            sum += (long double)m[i * rank + r] * a[i * rank + r];
            magnitude += fabsl((long double)m[i * rank + r] * a[i * rank + r]);
        }
        assert_true(fabsl(inner[r] - sum) <= 1e-14L * magnitude);
    }
    assert_int_equal(host_dense_gram(stored, rows, rank, single, g, &error), STATUS_OK);
    assert_true(distance(g, expected, rank * rank) < 1e-14);
    double *all[] = {u, w, v, m, a, g, inner, expected};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        memory_free(all[i]);
    memory_free(stored);
    host_dense_inverse_free(&inverse);
}

static void test_single(void **state)
{
    (void)state;
    omp_set_num_threads(2);
    check_single(1, 1);
    check_single(40, 3);
    check_single(4000, 7);
    check_single(3000, 33);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    uint64_t rows = 3000, rank = 9;
    double *a = random_matrix(rows, rank), *m = random_matrix(rows, rank);
    double *solved = random_matrix(rows, rank);
    double *v = random_matrix(rank, rank), *g = random_matrix(rank, rank);
    double *inner = random_matrix(1, rank);
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct host_dense_inverse definite = {0}, singular = {0};
        memory_hook_set(k);
        enum status status = host_dense_gram(a, rows, rank, PRECISION_DOUBLE, v, &error);
        if (status == STATUS_OK)
            status = host_dense_inverse_create(&definite, v, rank, PRECISION_DOUBLE, &error);
        if (status == STATUS_OK)
            status = host_dense_update(&definite, NULL,
                                       &(struct host_dense_rows){m, solved, rows, PRECISION_DOUBLE},
                                       g, inner, &error);
        if (status == STATUS_OK) {
            memset(v, 0, rank * rank * sizeof *v); /* the pseudoinverse's arrays */
            status = host_dense_inverse_create(&singular, v, rank, PRECISION_DOUBLE, &error);
        }
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        host_dense_inverse_free(&definite);
        host_dense_inverse_free(&singular);
    }
    assert_true(failures >= 6);
    memory_free(a);
    memory_free(m);
    memory_free(solved);
    memory_free(v);
    memory_free(g);
    memory_free(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gram),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_multiply_widths),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
