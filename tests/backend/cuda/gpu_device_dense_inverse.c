/* The R x R steps of device_dense.h against plain loops in long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "backend/cuda/dense/device_dense.h"
#include "support/gpu_arrays.h"

/* ---- inverse --------------------------------------------------------------------------------- */

#define MODES 4

static const struct device_dense_place place = {0}; /* GPU 0, its default stream */

struct modes {
    uint64_t rank;
    int order, mode;
    double *gram[MODES], *norm[MODES]; /* host */
    double *dgram[MODES], *dnorm[MODES];
    double ridge;
    double *w;
};

/* Grams of random matrices with unit columns, `distinct` of which differ. */
static void modes_make(struct modes *p, uint64_t rank, uint64_t distinct, int order, int mode)
{
    const uint64_t rows = 4 * rank + 3;
    *p = (struct modes){.rank = rank, .order = order, .mode = mode};
    p->w = host_array(rank * rank, sizeof *p->w);
    for (int m = 0; m < order; m++) {
        double *a = random_matrix(rows, rank, rank, PRECISION_DOUBLE, rank + (uint64_t)m);
        p->gram[m] = host_array(rank * rank, sizeof(double));
        p->norm[m] = random_matrix(1, rank, rank, PRECISION_DOUBLE, rank + 10 + (uint64_t)m);
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < rank; j++) {
                long double sum = 0, ii = 0, jj = 0;
                for (uint64_t k = 0; k < rows; k++) {
                    const long double x = a[k * rank + i % distinct],
                                      y = a[k * rank + j % distinct];
                    sum += x * y;
                    ii += x * x;
                    jj += y * y;
                }
                p->gram[m][i * rank + j] = (double)(sum / sqrtl(ii * jj));
            }
        for (uint64_t r = 0; r < rank; r++)
            p->norm[m][r] = r == 2 ? 0 : 1.5 + p->norm[m][r];
        memory_free(a);
    }
}

static void modes_free(struct modes *p)
{
    for (int m = 0; m < p->order; m++) {
        memory_free(p->gram[m]);
        memory_free(p->norm[m]);
    }
    memory_free(p->w);
}

/* What the solve multiplies by: its answer to the rows of the unit matrix. */
static void solve_unit_matrix(struct device_dense *d, const double *w, uint64_t rank, double *total)
{
    struct error error = {0};
    const uint64_t ld = (rank + 1) / 2 * 2;
    double *m = host_array(rank * ld, sizeof *m);
    memset(m, 0, rank * ld * sizeof *m);
    for (uint64_t r = 0; r < rank; r++)
        m[r * ld + r] = 1;
    double *dm = uploaded(m, rank * ld * sizeof *m);
    double *da = uploaded(NULL, rank * ld * sizeof *m);
    double *raw = uploaded(NULL, rank * rank * sizeof *raw);
    ok(device_dense_apply(d, &(struct device_dense_rows){dm, da, rank, raw}, w, &error), &error);
    fetch(m, da, rank * ld * sizeof *m);
    for (uint64_t i = 0; i < rank; i++)
        memcpy(total + i * rank, m + i * ld, rank * sizeof *m);
    good(cudaFree(dm));
    good(cudaFree(da));
    good(cudaFree(raw));
    memory_free(m);
}

static void modes_upload(struct modes *p)
{
    for (int m = 0; m < p->order; m++) {
        p->dgram[m] = uploaded(p->gram[m], p->rank * p->rank * sizeof(double));
        p->dnorm[m] = uploaded(p->norm[m], p->rank * sizeof(double));
    }
}

static void modes_leave_device(struct modes *p)
{
    for (int m = 0; m < p->order; m++) {
        good(cudaFree(p->dgram[m]));
        good(cudaFree(p->dnorm[m]));
    }
}

static struct dense_modes modes_on_device(const struct modes *p)
{
    struct dense_modes modes = {.order = p->order, .mode = p->mode, .rank = (uint32_t)p->rank};
    for (int m = 0; m < p->order; m++) {
        modes.gram[m] = p->dgram[m];
        modes.norm[m] = p->dnorm[m];
    }
    return modes;
}

/* p->w, computed twice: the same to the bit. */
static void invert(struct device_dense *d, struct modes *p)
{
    struct error error = {0};
    const size_t bytes = p->rank * p->rank * sizeof(double);
    double *first = host_array(p->rank * p->rank, sizeof *first);
    modes_upload(p);
    const struct dense_modes modes = modes_on_device(p);
    for (int run = 0; run < 2; run++) {
        double *w = uploaded(NULL, bytes);
        ok(device_dense_inverse(d, &modes, p->ridge, w, &error), &error);
        solve_unit_matrix(d, w, p->rank, run ? p->w : first);
        good(cudaFree(w));
    }
    assert_memory_equal(first, p->w, bytes);
    modes_leave_device(p);
    memory_free(first);
}

/* c (R x R) = a b */
static void product(const long double *a, const long double *b, long double *c, uint64_t rank)
{
#pragma omp parallel for
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++) {
            long double sum = 0;
            for (uint64_t k = 0; k < rank; k++)
                sum += a[i * rank + k] * b[k * rank + j];
            c[i * rank + j] = sum;
        }
}

static long double distance(const long double *a, const long double *b, uint64_t n)
{
    long double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const long double difference = a[i] - (b ? b[i] : 0);
        sum += difference * difference;
    }
    return sqrtl(sum);
}

/* W without its scales is V's pseudoinverse X by Penrose's conditions, to 1e-12 times |V| |X|. */
static void check_inverse(const struct modes *p)
{
    const uint64_t rank = p->rank, n = rank * rank;
    long double *v = host_array(n, sizeof *v), *x = host_array(n, sizeof *x);
    long double *vx = host_array(n, sizeof *vx), *vxv = host_array(n, sizeof *vxv);
    for (uint64_t e = 0; e < n; e++) {
        const uint64_t r = e / rank;
        v[e] = 1;
        x[e] = p->w[e];
        for (int m = 0; m < p->order; m++)
            if (m != p->mode) {
                v[e] *= p->gram[m][e];
                x[e] *= p->norm[m][r] == 0 ? 1 : p->norm[m][r];
            }
        v[e] += r == e % rank ? p->ridge : 0;
    }
    const long double size_v = distance(v, NULL, n), size_x = distance(x, NULL, n);
    const long double tolerance = 1e-12L * fmaxl(size_v * size_x, 1);
    product(v, x, vx, rank);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            assert_true(fabsl(vx[i * rank + j] - vx[j * rank + i]) <= tolerance);
    product(vx, v, vxv, rank);
    assert_true(distance(vxv, v, n) <= tolerance * size_v);
    product(x, vx, vxv, rank);
    assert_true(distance(vxv, x, n) <= tolerance * size_x);
    memory_free(v);
    memory_free(x);
    memory_free(vx);
    memory_free(vxv);
}

/* Regular V, with and without ridge; repeated columns; V of ones, without another mode; V = 0. */
static void test_inverse(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < COUNT(ranks); r++) {
        const uint64_t rank = ranks[r];
        struct device_dense *d;
        struct error error = {0};
        struct modes p;
        ok(device_dense_open(&d, &place, rank, row_length(rank, PRECISION_DOUBLE, 0),
                             PRECISION_DOUBLE, &error),
           &error);
        for (int order = 1; order <= MODES; order++)
            for (int ridge = 0; ridge < 2; ridge++)
                for (int repeated = 0; repeated < 2; repeated++) {
                    modes_make(&p, rank, repeated ? (rank + 1) / 2 : rank, order, order / 2);
                    p.ridge = ridge ? 0.125 : 0;
                    invert(d, &p);
                    check_inverse(&p);
                    modes_free(&p);
                }
        modes_make(&p, rank, rank, 3, 0);
        memset(p.gram[1], 0, rank * rank * sizeof(double));
        invert(d, &p);
        for (uint64_t e = 0; e < rank * rank; e++)
            assert_true(p.w[e] == 0);
        modes_free(&p);
        device_dense_close(d);
    }
}

/* A NaN or an infinity in V: no error and no hang, but nothing finite comes out either. */
static void test_inverse_not_finite(void **state)
{
    (void)state;
    const double poison[] = {(double)NAN, (double)INFINITY};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t i = 0; i < COUNT(poison); i++) {
            const uint64_t rank = ranks[r];
            struct device_dense *d;
            struct error error = {0};
            struct modes p;
            ok(device_dense_open(&d, &place, rank, row_length(rank, PRECISION_DOUBLE, 0),
                                 PRECISION_DOUBLE, &error),
               &error);
            modes_make(&p, rank, rank, 3, 0);
            p.gram[1][rank - 1] = p.gram[1][(rank - 1) * rank] = poison[i];
            invert(d, &p);
            for (uint64_t e = 0; e < rank * rank; e++)
                assert_true(isnan(p.w[e]));
            modes_free(&p);
            device_dense_close(d);
        }
}

/* A singular V of a small rank takes memory of the host: where that is refused, an error, and the
 * next attempt works. */
static void test_inverse_refused(void **state)
{
    (void)state;
    struct device_dense *d;
    struct error error = {0};
    struct modes p;
    int failures = 0;
    ok(device_dense_open(&d, &place, 8, 8, PRECISION_DOUBLE, &error), &error);
    modes_make(&p, 8, 4, 3, 0);
    modes_upload(&p);
    const struct dense_modes modes = modes_on_device(&p);
    double *w = uploaded(NULL, 8 * 8 * sizeof *w);
    for (int fired = 1; fired; failures += fired) {
        error = (struct error){0};
        memory_hook_set(failures);
        enum status status = device_dense_inverse(d, &modes, 0, w, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true(device_dense_singular(d));
    }
    assert_in_range(failures, 1, 10);
    good(cudaFree(w));
    modes_leave_device(&p);
    invert(d, &p);
    check_inverse(&p);
    modes_free(&p);
    device_dense_close(d);
}

/* ---- normalise ------------------------------------------------------------------------------- */

/* sum: NULL, or the norms. */
static void normalise(const double *raw, const double *sum, uint64_t rank, double *norm,
                      double *gram, int code, int *bad)
{
    double *draw = uploaded(raw, rank * rank * sizeof(double));
    double *dnorm = uploaded(NULL, rank * sizeof(double));
    double *dgram = uploaded(NULL, rank * rank * sizeof(double));
    int *dbad = uploaded(bad, sizeof *bad);
    double *dsum = sum ? uploaded(sum, rank * sizeof(double)) : NULL;
    const struct dense_norms to = {draw, dsum, dnorm, dgram};
    good(dense_normalise(&to, (uint32_t)rank, code, dbad, NULL, 0));
    fetch(norm, dnorm, rank * sizeof(double));
    fetch(gram, dgram, rank * rank * sizeof(double));
    fetch(bad, dbad, sizeof *bad);
    good(cudaFree(draw));
    good(cudaFree(dsum));
    good(cudaFree(dnorm));
    good(cudaFree(dgram));
    good(cudaFree(dbad));
}

static void check_normalise(uint64_t rank)
{
    const uint64_t n = rank * rank, zero = rank / 2;
    double *raw = random_matrix(rank, rank, rank, PRECISION_DOUBLE, rank),
           *norm = host_array(rank, sizeof *norm);
    double *gram = host_array(n, sizeof *gram);
    long double *expected = host_array(n, sizeof *expected),
                *norms = host_array(rank, sizeof *norms);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j <= i; j++) {
            if (i == j)
                raw[i * rank + i] = 2 + (double)i;
            if (rank > 1 && (i == zero || j == zero))
                raw[i * rank + j] = 0;
            raw[j * rank + i] = raw[i * rank + j];
        }
    for (uint64_t i = 0; i < rank; i++)
        norms[i] = sqrtl(raw[i * rank + i]);
    for (uint64_t e = 0; e < n; e++)
        expected[e] = raw[e] == 0 ? 0 : raw[e] / (norms[e / rank] * norms[e % rank]);
    int bad = 0;
    normalise(raw, NULL, rank, norm, gram, 5, &bad);
    assert_int_equal(bad, 0);
    near(norm, norms, rank, 1e-15);
    near(gram, expected, n, 1e-15);

    double *sum = host_array(rank, sizeof *sum);
    for (uint64_t r = 0; r < rank; r++)
        norms[r] = sum[r] = rank > 1 && r == zero ? 0 : 3 + (double)r;
    for (uint64_t e = 0; e < n; e++)
        expected[e] = raw[e] == 0 ? 0 : raw[e] / (norms[e / rank] * norms[e % rank]);
    normalise(raw, sum, rank, norm, gram, 5, &bad);
    assert_int_equal(bad, 0);
    near(norm, norms, rank, 1e-15);
    near(gram, expected, n, 1e-15);
    memory_free(sum);

    raw[n - 1] = (double)NAN;
    normalise(raw, NULL, rank, norm, gram, 5, &bad);
    assert_int_equal(bad, 5);
    raw[n - 1] = (double)INFINITY;
    normalise(raw, NULL, rank, norm, gram, 6, &bad);
    assert_int_equal(bad, 5);
    bad = 0;
    normalise(raw, NULL, rank, norm, gram, 7, &bad);
    assert_int_equal(bad, 7);
    memory_free(raw);
    memory_free(norm);
    memory_free(gram);
    memory_free(expected);
    memory_free(norms);
}

static void test_normalise(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        check_normalise(ranks[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_inverse_not_finite),
        cmocka_unit_test(test_inverse_refused),
        cmocka_unit_test(test_normalise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
