/* Systems of some rows at a time: each SIMD width gives each row what it would have alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/host/host_rows_simd.h"
#include "backend/host/simd_width.h"
#include "support/naive.h"

#define MOST 21 /* the largest R here ... */
#define LD   24 /* ... and the entries of a row of G */

struct systems {
    uint64_t rank, rows;
    double g[HOST_ROWS_MOST][LD * LD], common[LD * LD];
    double diagonal[MOST * HOST_ROWS_MOST], old[MOST * HOST_ROWS_MOST];
    double q[MOST * HOST_ROWS_MOST], least[MOST * HOST_ROWS_MOST], settled[HOST_ROWS_MOST];
    struct prox_rule rule;
};

/* Positive definite G = Z'Z, of which only the upper part is there. */
static void fill(struct systems *s, uint64_t rank, uint64_t rows, uint64_t seed)
{
    *s = (struct systems){.rank = rank, .rows = rows};
    for (uint64_t l = 0; l < rows; l++) {
        double z[2 * MOST][MOST];
        for (uint64_t k = 0; k < 2 * rank; k++)
            for (uint64_t r = 0; r < rank; r++)
                z[k][r] = (double)(naive_random(&seed) % 1000) / 1000;
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < LD; j++) {
                s->g[l][i * LD + j] = j < i ? NAN : 0;
                for (uint64_t k = 0; j >= i && j < rank && k < 2 * rank; k++)
                    s->g[l][i * LD + j] += z[k][i] * z[k][j];
            }
        for (uint64_t r = 0; r < rank; r++) {
            s->diagonal[r * rows + l] = .01 * (double)(r + 1);
            s->old[r * rows + l] = (double)(naive_random(&seed) % 100) / 100;
            s->q[r * rows + l] = (double)(naive_random(&seed) % 2000) / 1000 - 1;
        }
        s->settled[l] = l % 2 == 0 ? 0 : 1e-3;
    }
    for (uint64_t i = 0; i < rank; i++)
        s->common[i * LD + i] = .5;
    s->least[rank / 2 * rows] = 1e9; /* of row 0 */
}

static struct host_rows_matrices matrices_of(const struct systems *s)
{
    struct host_rows_matrices m = {
        .rank = s->rank, .ld = LD, .common = s->common, .diagonal = s->diagonal};
    for (uint64_t l = 0; l < s->rows; l++)
        m.g[l] = s->g[l];
    return m;
}

static long double entry(const struct systems *s, uint64_t l, uint64_t i, uint64_t j)
{
    const double g = i <= j ? s->g[l][i * LD + j] : s->g[l][j * LD + i];
    return (long double)g + (i == j ? .5L + s->diagonal[i * s->rows + l] : 0);
}

/* d of row l, by the definition; q becomes q - H d. */
static void naive_descend(const struct systems *s, uint64_t l, int passes, long double *d,
                          long double *q)
{
    for (uint64_t r = 0; r < s->rank; r++) {
        d[r] = 0;
        q[r] = s->q[r * s->rows + l];
    }
    for (int pass = 0; pass < passes; pass++) {
        long double most = 0;
        for (uint64_t r = 0; r < s->rank; r++) {
            const long double h = entry(s, l, r, r), wanted = d[r] + q[r] / h;
            const bool stays = h <= s->least[r * s->rows + l];
            const long double old = s->old[r * s->rows + l];
            const long double step = stays ? 0 : fmaxl(wanted, s->rule.keeps * old - old) - d[r];
            d[r] += step;
            for (uint64_t j = 0; j < s->rank; j++)
                q[j] -= step * entry(s, l, r, j);
            most = fmaxl(most, step * step * h);
        }
        if (most < s->settled[l])
            return;
    }
}

static void check_descent(const struct host_rows_kernels *kernel, const struct systems *s)
{
    static double h[MOST * MOST * HOST_ROWS_MOST], d[MOST * HOST_ROWS_MOST],
        inverse[MOST * HOST_ROWS_MOST], q[MOST * HOST_ROWS_MOST];
    const struct host_rows_matrices m = matrices_of(s);
    const struct host_rows_descent p = {s->rank,  8,          s->rule, h, s->old,
                                        s->least, s->settled, q,       d, inverse};
    memcpy(q, s->q, sizeof q);
    kernel->gather(&m, true, h);
    kernel->descend(&p);
    for (uint64_t l = 0; l < s->rows; l++) {
        long double of_d[MOST], of_q[MOST];
        naive_descend(s, l, 8, of_d, of_q);
        for (uint64_t r = 0; r < s->rank; r++) {
            assert_true(fabsl(d[r * s->rows + l] - of_d[r]) < 1e-12L);
            assert_true(fabsl(q[r * s->rows + l] - of_q[r]) < 1e-11L);
        }
    }
}

/* H d = q, and the rows of which a pivot is negative or too small are named. */
static void check_solve(const struct host_rows_kernels *kernel, struct systems *s)
{
    static double h[MOST * MOST * HOST_ROWS_MOST], d[MOST * HOST_ROWS_MOST];
    const uint64_t bad = s->rows - 1, small = s->rows > 2 ? 0 : bad;
    const struct host_rows_matrices m = matrices_of(s);
    s->g[bad][0] = -5;
    s->least[s->rank / 2 * s->rows] = small == 0 ? 1e9 : 0;
    memcpy(d, s->q, sizeof d);
    kernel->gather(&m, false, h);
    assert_int_equal(kernel->solve(h, s->rank, s->least, d), 1u << bad | 1u << small);
    for (uint64_t l = small == 0; l < bad; l++)
        for (uint64_t i = 0; i < s->rank; i++) {
            long double sum = 0;
            for (uint64_t j = 0; j < s->rank; j++)
                sum += entry(s, l, i, j) * d[j * s->rows + l];
            assert_true(fabsl(sum - s->q[i * s->rows + l]) < 1e-11L);
        }
}

static void test_kernels(void **state)
{
    (void)state;
    static const uint64_t ranks[] = {1, 2, 5, 8, 16, 21};
    static struct systems s;
    for (uint64_t width = 2; width <= 8; width *= 2)
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            simd_width_limit(width);
            const struct host_rows_kernels *kernel = host_rows_kernels(ranks[i]);
            assert_true(kernel->rows <= width);
            fill(&s, ranks[i], kernel->rows, width + i);
            check_descent(kernel, &s);
            s.rule = (struct prox_rule){.25};
            check_descent(kernel, &s);
            check_solve(kernel, &s);
        }
    simd_width_limit(0);
}

/* The bits of a row do not depend on the rows beside it. */
static void test_rows_alone(void **state)
{
    (void)state;
    static struct systems s, alone;
    static double h[MOST * MOST * HOST_ROWS_MOST], x[2][MOST * HOST_ROWS_MOST];
    const struct host_rows_kernels *kernel = host_rows_kernels(MOST);
    fill(&s, MOST, kernel->rows, 5);
    for (uint64_t l = 0; l < kernel->rows; l++) {
        alone = s;
        for (uint64_t other = 0; other < kernel->rows; other++) {
            memcpy(alone.g[other], s.g[l], sizeof s.g[l]);
            for (uint64_t r = 0; r < MOST; r++)
                alone.q[r * s.rows + other] = s.q[r * s.rows + l];
        }
        const struct host_rows_matrices m = matrices_of(&s), of_alone = matrices_of(&alone);
        memcpy(x[0], s.q, sizeof s.q);
        memcpy(x[1], alone.q, sizeof s.q);
        kernel->gather(&m, false, h);
        kernel->solve(h, MOST, s.least, x[0]);
        kernel->gather(&of_alone, false, h);
        kernel->solve(h, MOST, s.least, x[1]);
        for (uint64_t r = 0; r < MOST; r++)
            assert_true(x[0][r * s.rows + l] == x[1][r * s.rows + l]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_rows_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
