/* Solving with V on the host: definite, singular, zero, not finite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "support/dense_matrices.h"

/* A V = M for a well-conditioned V, in place and not, for any number of threads. */
static void check_definite(uint64_t rows, uint64_t rank)
{
    struct error error = {0};
    uint64_t found = 0;
    double *b = random_matrix(rank + 5, rank), *v = naive_gram(b, rank + 5, rank);
    for (uint64_t r = 0; r < rank; r++)
        v[r * rank + r] += (double)rank / 10;
    double *m = random_matrix(rows, rank), *a = random_matrix(rows, rank);
    double *destroyed = copy_of(v, rank, rank);
    omp_set_num_threads(1);
    assert_int_equal(solve(destroyed, m, a, rows, rank, &found, &error), STATUS_OK);
    assert_int_equal(found, rank);
    double *back = product(a, v, rows, rank);
    assert_true(distance(back, m, rows * rank) < 1e-13);

    omp_set_num_threads(3);
    assert_int_equal(solve(v, m, m, rows, rank, &found, &error), STATUS_OK);
    assert_memory_equal(m, a, rows * rank * sizeof *m);
    memory_free(b);
    memory_free(v);
    memory_free(m);
    memory_free(a);
    memory_free(destroyed);
    memory_free(back);
}

static void test_solve_definite(void **state)
{
    (void)state;
    static const uint64_t shapes[][2] = {{0, 4},    {3, 1},     {20000, 1}, {17, 2},
                                         {4000, 7}, {1, 16},    {3000, 16}, {500, 17},
                                         {700, 33}, {130, 100}, {3, 200}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        check_definite(shapes[s][0], shapes[s][1]);
}

static void test_rank_1000(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t rank = 1000, rows = 5, found;
    double *u = random_matrix(1, rank), *w = random_matrix(1, rank);
    for (uint64_t r = 0; r < rank; r++)
        w[r] = 1.0 + fabs(w[r]);
    double *v = random_matrix(rank, rank), *m = random_matrix(rows, rank);
    for (uint64_t i = 0; i < rank; i++) /* diag(w) + u u' */
        for (uint64_t j = 0; j < rank; j++)
            v[i * rank + j] = (i == j ? w[i] : 0.0) + u[i] * u[j];
    double *destroyed = copy_of(v, rank, rank), *a = random_matrix(rows, rank);
    assert_int_equal(solve(destroyed, m, a, rows, rank, &found, &error), STATUS_OK);
    assert_int_equal(found, rank);
    double *back = product(a, v, rows, rank);
    assert_true(distance(back, m, rows * rank) < 1e-12);
    memory_free(u);
    memory_free(w);
    memory_free(v);
    memory_free(m);
    memory_free(destroyed);
    memory_free(a);
    memory_free(back);
}

/* The Gram of columns of which every third is the one before it, of the lengths 1, 2^step, 4^step,
 * ...: of all solutions, that is taken which has the least norm in terms of unit columns, and which
 * is the same for equal columns. */
static void check_singular(uint64_t rows, uint64_t rank, int step)
{
    struct error error = {0};
    const uint64_t length = rank + 5;
    uint64_t found = 0, expected_rank = 0;
    double *b = random_matrix(length, rank), *scale = random_matrix(1, rank);
    for (uint64_t r = 0; r < rank; r++) {
        double square = 0;
        for (uint64_t i = 0; i < length; i++) {
            if (r % 3 == 2)
                b[i * rank + r] = b[i * rank + r - 1];
            square += b[i * rank + r] * b[i * rank + r];
        }
        for (uint64_t i = 0; i < length; i++)
            b[i * rank + r] /= sqrt(square);
        scale[r] = ldexp(1, step * (int)(r % 7));
        expected_rank += r % 3 != 2;
    }
    double *v = naive_gram(b, length, rank), *x = random_matrix(rows, rank);
    double *m = product(x, v, rows, rank), *a = random_matrix(rows, rank);
    double *scaled = copy_of(v, rank, rank), *of_m = copy_of(m, rows, rank);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            scaled[i * rank + j] *= scale[i] * scale[j];
    for (uint64_t e = 0; e < rows * rank; e++)
        of_m[e] *= scale[e % rank];
    double *again = copy_of(scaled, rank, rank);
    omp_set_num_threads(1);
    assert_int_equal(solve(scaled, of_m, a, rows, rank, &found, &error), STATUS_OK);
    assert_int_equal(found, expected_rank);
    omp_set_num_threads(3);
    assert_int_equal(solve(again, of_m, of_m, rows, rank, &found, &error), STATUS_OK);
    assert_memory_equal(a, of_m, rows * rank * sizeof *a);

    for (uint64_t e = 0; e < rows * rank; e++)
        a[e] *= scale[e % rank]; /* of unit columns */
    double *back = product(a, v, rows, rank);
    assert_true(distance(back, m, rows * rank) < 1e-12);
    for (uint64_t e = 0; e < rows * rank; e++)
        if (e % rank % 3 == 2)
            assert_true(fabs(a[e] - a[e - 1]) < 1e-10 * (1 + fabs(a[e])));
    double *all[] = {b, scale, v, x, m, a, scaled, of_m, again, back};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        memory_free(all[k]);
}

static void test_solve_singular(void **state)
{
    (void)state;
    static const uint64_t shapes[][2] = {{1, 3}, {500, 3}, {2000, 16}, {300, 33}, {70, 150}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        check_singular(shapes[s][0], shapes[s][1], 0);
        check_singular(shapes[s][0], shapes[s][1], 5);
        check_singular(shapes[s][0], shapes[s][1], -30);
    }
}

static void test_solve_zero(void **state)
{
    (void)state;
    struct error error = {0};
    for (uint64_t rank = 1; rank <= 20; rank += 19) {
        uint64_t found = 99;
        double *v = random_matrix(rank, rank), *m = random_matrix(100, rank);
        memset(v, 0, rank * rank * sizeof *v);
        assert_int_equal(solve(v, m, m, 100, rank, &found, &error), STATUS_OK);
        assert_int_equal(found, 0);
        for (uint64_t i = 0; i < 100 * rank; i++)
            assert_true(m[i] == 0.0);
        memory_free(v);
        memory_free(m);
    }
}

static void test_solve_not_finite(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < 3; b++) {
        struct error error = {0};
        uint64_t found;
        double v[4] = {1, 0, 0, 1}, m[2] = {1, 2};
        v[b] = bad[b];
        assert_int_equal(solve(v, m, m, 1, 2, &found, &error), STATUS_NUMERICAL);
        assert_int_equal(error.status, STATUS_NUMERICAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve_definite),   cmocka_unit_test(test_rank_1000),
        cmocka_unit_test(test_solve_singular),   cmocka_unit_test(test_solve_zero),
        cmocka_unit_test(test_solve_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
