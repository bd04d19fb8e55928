/* Every function of device_dense.h against plain loops in long double; needs a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "device_dense.h"
#include "memory.h"
#include "naive.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const uint64_t ranks[] = {1, 2, 3, 7, 8, 16, 17, 32, 33, 64, 65, 100, 200};
static const uint64_t lengths[] = {1, 2, 7, 24, 183, 1000, 100003};

static void ok(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        fail_msg("status %d: %s", (int)status, error->message);
}

static void good(cudaError_t code)
{
    if (code != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(code));
}

static void *host_array(uint64_t count, size_t size)
{
    struct error error = {0};
    void *array = memory_array(count, size, &error);
    assert_non_null(array);
    return array;
}

static void *device_array(const void *host, size_t bytes)
{
    void *array = NULL;
    good(cudaMalloc(&array, bytes));
    if (host)
        good(cudaMemcpy(array, host, bytes, cudaMemcpyHostToDevice));
    else
        good(cudaMemset(array, 0xff, bytes)); /* NaN, in either precision */
    return array;
}

static void fetch(void *host, const void *device, size_t bytes)
{
    good(cudaDeviceSynchronize());
    good(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

/* In [-1, 1), exact in float. */
static double random_entry(uint64_t *state)
{
    return (double)(naive_random(state) >> 40) / (1 << 23) - 1.0;
}

static double entry(const void *array, uint64_t i, int single)
{
    return single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Entries in a row: R in whole 16-byte vectors, or some more. */
static uint64_t row_length(uint64_t rank, int single, int loose)
{
    const uint64_t unit = loose ? 16 : single ? 4 : 2;
    return (rank + (uint64_t)loose + unit - 1) / unit * unit;
}

/* A random (rows x ld) matrix in the device's precision, NaN in the columns from `rank` on. */
static void *random_matrix(uint64_t rows, uint64_t rank, uint64_t ld, int single, uint64_t seed)
{
    void *matrix = host_array(rows * ld, single ? sizeof(float) : sizeof(double));
    for (uint64_t i = 0; i < rows * ld; i++) {
        const double x = i % ld < rank ? random_entry(&seed) : (double)NAN;
        if (single)
            ((float *)matrix)[i] = (float)x;
        else
            ((double *)matrix)[i] = x;
    }
    return matrix;
}

/* max |x - expected| <= tolerance * max |expected|; NaN never is. */
static void near(const double *x, const long double *expected, uint64_t n, double tolerance)
{
    long double largest = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = fmaxl(largest, fabsl(expected[i]));
    for (uint64_t i = 0; i < n; i++)
        if (!(fabsl((long double)x[i] - expected[i]) <= (long double)tolerance * largest))
            fail_msg("entry %llu of %llu: %.17g, expected %.17Lg of at most %Lg",
                     (unsigned long long)i, (unsigned long long)n, x[i], expected[i], largest);
}

/* ---- solve, gram, fit ------------------------------------------------------------------------ */

struct factors {
    uint64_t rank, ld, rows;
    int single;
    size_t bytes;  /* of a matrix                         */
    void *m, *a;   /* (rows x ld), host                   */
    double *w;     /* (R x R), host                       */
    void *dm, *da; /* on the device; A with a row more    */
    double *dw, *draw, *dfit;
};

static void factors_make(struct factors *f, uint64_t rank, uint64_t ld, uint64_t rows, int single)
{
    const size_t size = single ? sizeof(float) : sizeof(double);
    uint64_t seed = 1000 * rank + rows;
    *f = (struct factors){.rank = rank, .ld = ld, .rows = rows, .single = single};
    f->bytes = rows * ld * size;
    f->m = random_matrix(rows, rank, ld, single, seed);
    f->a = host_array((rows + 1) * ld, size);
    f->w = random_matrix(rank, rank, rank, 0, seed + 1);
    f->dm = device_array(f->m, f->bytes);
    f->da = device_array(NULL, f->bytes + ld * size);
    f->dw = device_array(f->w, rank * rank * sizeof(double));
    f->draw = device_array(NULL, rank * rank * sizeof(double));
    f->dfit = device_array(NULL, 2 * sizeof(double));
}

static void factors_free(struct factors *f)
{
    memory_free(f->m);
    memory_free(f->a);
    memory_free(f->w);
    good(cudaFree(f->dm));
    good(cudaFree(f->da));
    good(cudaFree(f->dw));
    good(cudaFree(f->draw));
    good(cudaFree(f->dfit));
}

/* f->a is M W, zero beyond the rank; the row behind the last is untouched. */
static void check_solution(const struct factors *f)
{
    const uint64_t rank = f->rank, ld = f->ld;
    const double tolerance = f->single ? 1e-5 : 1e-12;
    long double largest = 0, error = 0;
    uint64_t wrong = 0;
#pragma omp parallel for reduction(max : largest, error) reduction(+ : wrong)
    for (uint64_t i = 0; i < f->rows; i++)
        for (uint64_t r = 0; r < ld; r++) {
            const double x = entry(f->a, i * ld + r, f->single);
            long double sum = 0;
            for (uint64_t k = 0; k < rank && r < rank; k++)
                sum += (long double)entry(f->m, i * ld + k, f->single) * f->w[k * rank + r];
            largest = fmaxl(largest, fabsl(sum));
            error = fmaxl(error, fabsl(x - sum));
            wrong += (r < rank ? !isfinite(x) : x != 0) ? 1u : 0u;
        }
    assert_int_equal(wrong, 0);
    assert_true(error <= (long double)tolerance * largest);
    for (uint64_t r = 0; r < ld; r++)
        assert_true(isnan(entry(f->a, f->rows * ld + r, f->single)));
}

/* raw is the Gram of f->a, as it is stored: to 1e-12 in either precision. */
static void check_gram(const struct factors *f, const double *raw)
{
    const uint64_t rank = f->rank, rows = f->rows;
    long double *expected = host_array(rank * rank, sizeof *expected);
    double *column = host_array(rank * rows, sizeof *column);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            column[r * rows + i] = entry(f->a, i * f->ld + r, f->single);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t r = 0; r < rank; r++)
        for (uint64_t s = 0; s <= r; s++) {
            long double sum = 0;
            for (uint64_t i = 0; i < rows; i++)
                sum += (long double)column[r * rows + i] * column[s * rows + i];
            expected[r * rank + s] = expected[s * rank + r] = sum;
        }
    near(raw, expected, rank * rank, 1e-12);
    memory_free(expected);
    memory_free(column);
}

static void solve(struct device_dense *d, struct factors *f, double *raw)
{
    struct error error = {0};
    ok(device_dense_solve(d, f->dm, f->dw, f->da, f->rows, f->draw, 0, &error), &error);
    fetch(raw, f->draw, f->rank * f->rank * sizeof(double));
    fetch(f->a, f->da, f->bytes + f->bytes / f->rows);
}

/* Both ways to the fit's two numbers, with the Grams of two other modes, against f->m and f->a. */
static void check_fit(struct device_dense *d, const struct factors *f)
{
    const uint64_t rank = f->rank, n = rank * rank;
    struct error error = {0};
    double *gram[3], *norm[3], *dgram[3], *dnorm[3], fit[2];
    for (uint64_t m = 0; m < 3; m++) {
        gram[m] = random_matrix(rank, rank, rank, 0, m);
        norm[m] = random_matrix(1, rank, rank, 0, m + 10);
        for (uint64_t r = 0; r < rank; r++)
            norm[m][r] = r == 4 ? 0 : 1.5 + norm[m][r];
        dgram[m] = device_array(gram[m], n * sizeof(double));
        dnorm[m] = device_array(norm[m], rank * sizeof(double));
    }
    long double inner = 0, inner_size = 0, model = 0, model_size = 0;
    for (uint64_t r = 0; r < rank; r++) {
        const long double scale = r == 4 ? 1 : 1 / ((long double)norm[0][r] * norm[2][r]);
        for (uint64_t i = 0; i < f->rows; i++) {
            const long double x = scale * entry(f->m, i * f->ld + r, f->single) *
                                  entry(f->a, i * f->ld + r, f->single);
            inner += x;
            inner_size += fabsl(x);
        }
    }
    for (uint64_t e = 0; e < n; e++) {
        const long double x = (long double)norm[1][e / rank] * norm[1][e % rank] * gram[0][e] *
                              gram[1][e] * gram[2][e];
        model += x;
        model_size += fabsl(x);
    }
    for (int solved = 0; solved < 2; solved++) {
        const double *const *g = (const double *const *)dgram;
        const double *const *v = (const double *const *)dnorm;
        if (solved)
            ok(device_dense_fit_solved(d, 3, 1, g, v, f->dfit, 0, &error), &error);
        else
            ok(device_dense_fit(d, 3, 1, f->dm, f->da, f->rows, g, v, f->dfit, 0, &error), &error);
        fetch(fit, f->dfit, sizeof fit);
        assert_true(fabsl(fit[0] - inner) <= 1e-12L * inner_size);
        assert_true(fabsl(fit[1] - model) <= 1e-12L * model_size);
    }
    for (int m = 0; m < 3; m++) {
        memory_free(gram[m]);
        memory_free(norm[m]);
        good(cudaFree(dgram[m]));
        good(cudaFree(dnorm[m]));
    }
}

static void check_steps(struct device_dense *d, uint64_t rank, uint64_t ld, uint64_t rows,
                        int single)
{
    struct factors f;
    struct error error = {0};
    const size_t gram_bytes = rank * rank * sizeof(double);
    double *raw = host_array(rank * rank, sizeof *raw),
           *again = host_array(rank * rank, sizeof *raw);
    factors_make(&f, rank, ld, rows, single);
    solve(d, &f, raw);
    check_solution(&f);
    check_gram(&f, raw);
    check_fit(d, &f);

    ok(device_dense_gram(d, f.da, rows, f.draw, 0, &error), &error);
    fetch(again, f.draw, gram_bytes);
    check_gram(&f, again);

    void *first = host_array(f.bytes, 1);
    memcpy(first, f.a, f.bytes);
    good(cudaMemset(f.da, 0xff, f.bytes));
    solve(d, &f, again);
    assert_memory_equal(raw, again, gram_bytes);
    assert_memory_equal(first, f.a, f.bytes);

    memory_free(first);
    memory_free(raw);
    memory_free(again);
    factors_free(&f);
}

static void test_steps(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (int kind = 0; kind < 4; kind++) {
            const int single = kind % 2;
            const uint64_t ld = row_length(ranks[r], single, kind / 2);
            struct device_dense *d;
            struct error error = {0};
            ok(device_dense_open(&d, ranks[r], ld, single, &error), &error);
            for (uint64_t l = 0; l < COUNT(lengths); l++)
                check_steps(d, ranks[r], ld, lengths[l], single);
            device_dense_close(d);
        }
}

/* ---- weights --------------------------------------------------------------------------------- */

#define MODES 4

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
        double *a = random_matrix(rows, rank, rank, 0, rank + (uint64_t)m);
        p->gram[m] = host_array(rank * rank, sizeof(double));
        p->norm[m] = random_matrix(1, rank, rank, 0, rank + 10 + (uint64_t)m);
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

/* p->w, computed twice: the same to the bit. */
static void weigh(struct device_dense *d, struct modes *p)
{
    struct error error = {0};
    const size_t bytes = p->rank * p->rank * sizeof(double);
    double *first = host_array(p->rank * p->rank, sizeof *first);
    for (int m = 0; m < p->order; m++) {
        p->dgram[m] = device_array(p->gram[m], bytes);
        p->dnorm[m] = device_array(p->norm[m], p->rank * sizeof(double));
    }
    for (int run = 0; run < 2; run++) {
        double *w = device_array(NULL, bytes);
        ok(device_dense_weights(d, p->order, p->mode, (const double *const *)p->dgram,
                                (const double *const *)p->dnorm, p->ridge, w, 0, &error),
           &error);
        fetch(run ? p->w : first, w, bytes);
        good(cudaFree(w));
    }
    assert_memory_equal(first, p->w, bytes);
    for (int m = 0; m < p->order; m++) {
        good(cudaFree(p->dgram[m]));
        good(cudaFree(p->dnorm[m]));
    }
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
static void check_weights(const struct modes *p)
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
static void test_weights(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < COUNT(ranks); r++) {
        const uint64_t rank = ranks[r];
        struct device_dense *d;
        struct error error = {0};
        struct modes p;
        ok(device_dense_open(&d, rank, row_length(rank, 0, 0), 0, &error), &error);
        for (int order = 1; order <= MODES; order++)
            for (int ridge = 0; ridge < 2; ridge++)
                for (int repeated = 0; repeated < 2; repeated++) {
                    modes_make(&p, rank, repeated ? (rank + 1) / 2 : rank, order, order / 2);
                    p.ridge = ridge ? 0.125 : 0;
                    weigh(d, &p);
                    check_weights(&p);
                    modes_free(&p);
                }
        modes_make(&p, rank, rank, 3, 0);
        memset(p.gram[1], 0, rank * rank * sizeof(double));
        weigh(d, &p);
        for (uint64_t e = 0; e < rank * rank; e++)
            assert_true(p.w[e] == 0);
        modes_free(&p);
        device_dense_close(d);
    }
}

/* A NaN or an infinity in V: no error and no hang, but nothing finite comes out either. */
static void test_weights_not_finite(void **state)
{
    (void)state;
    const double poison[] = {(double)NAN, (double)INFINITY};
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t i = 0; i < COUNT(poison); i++) {
            const uint64_t rank = ranks[r];
            struct device_dense *d;
            struct error error = {0};
            struct modes p;
            ok(device_dense_open(&d, rank, row_length(rank, 1, 0), 1, &error), &error);
            modes_make(&p, rank, rank, 3, 0);
            p.gram[1][rank - 1] = p.gram[1][(rank - 1) * rank] = poison[i];
            weigh(d, &p);
            for (uint64_t e = 0; e < rank * rank; e++)
                assert_true(isnan(p.w[e]));
            modes_free(&p);
            device_dense_close(d);
        }
}

/* ---- normalise ------------------------------------------------------------------------------- */

static void normalise(struct device_dense *d, const double *raw, uint64_t rank, double *norm,
                      double *gram, int code, int *bad)
{
    struct error error = {0};
    double *draw = device_array(raw, rank * rank * sizeof(double));
    double *dnorm = device_array(NULL, rank * sizeof(double));
    double *dgram = device_array(NULL, rank * rank * sizeof(double));
    int *dbad = device_array(bad, sizeof *bad);
    ok(device_dense_normalise(d, draw, dnorm, dgram, code, dbad, 0, &error), &error);
    fetch(norm, dnorm, rank * sizeof(double));
    fetch(gram, dgram, rank * rank * sizeof(double));
    fetch(bad, dbad, sizeof *bad);
    good(cudaFree(draw));
    good(cudaFree(dnorm));
    good(cudaFree(dgram));
    good(cudaFree(dbad));
}

static void check_normalise(struct device_dense *d, uint64_t rank)
{
    const uint64_t n = rank * rank, zero = rank / 2;
    double *raw = random_matrix(rank, rank, rank, 0, rank), *norm = host_array(rank, sizeof *norm);
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
    normalise(d, raw, rank, norm, gram, 5, &bad);
    assert_int_equal(bad, 0);
    near(norm, norms, rank, 1e-15);
    near(gram, expected, n, 1e-15);

    raw[n - 1] = (double)NAN;
    normalise(d, raw, rank, norm, gram, 5, &bad);
    assert_int_equal(bad, 5);
    raw[n - 1] = (double)INFINITY;
    normalise(d, raw, rank, norm, gram, 6, &bad);
    assert_int_equal(bad, 5);
    bad = 0;
    normalise(d, raw, rank, norm, gram, 7, &bad);
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
    for (uint64_t r = 0; r < COUNT(ranks); r++) {
        struct device_dense *d;
        struct error error = {0};
        ok(device_dense_open(&d, ranks[r], row_length(ranks[r], 0, 0), 0, &error), &error);
        check_normalise(d, ranks[r]);
        device_dense_close(d);
    }
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void check_transfers(uint64_t rank, uint64_t rows, int single)
{
    const uint64_t ld = row_length(rank, single, 1);
    const size_t size = single ? sizeof(float) : sizeof(double);
    uint64_t seed = rank + rows;
    struct error error = {0};
    struct device_dense *d;
    ok(device_dense_open(&d, rank, ld, single, &error), &error);
    double *host = host_array(rows * rank, sizeof *host),
           *back = host_array(rows * rank, sizeof *back);
    double *scale = random_matrix(1, rank, rank, 0, seed);
    void *there = host_array((rows + 1) * ld, size),
         *a = device_array(NULL, (rows + 1) * ld * size);
    for (uint64_t i = 0; i < rows * rank; i++)
        host[i] = random_entry(&seed) / 3;

    ok(device_dense_upload(d, host, a, rows, 0, &error), &error);
    fetch(there, a, (rows + 1) * ld * size);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < ld; r++) {
            const double x = r < rank ? host[i * rank + r] : 0;
            wrong += entry(there, i * ld + r, single) != (single ? (double)(float)x : x);
        }
    for (uint64_t r = 0; r < ld; r++)
        wrong += !isnan(entry(there, rows * ld + r, single)) ? 1u : 0u;
    assert_int_equal(wrong, 0);

    for (int scaled = 0; scaled < 2; scaled++) {
        ok(device_dense_download(d, a, back, rows, scaled ? scale : NULL, 0, &error), &error);
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
    device_dense_close(d);
}

static void test_transfers(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < COUNT(ranks); r++)
        for (uint64_t l = 0; l < COUNT(lengths); l++)
            for (int single = 0; single < 2; single++)
                check_transfers(ranks[r], lengths[l], single);
}

static void test_open_fails(void **state)
{
    (void)state;
    struct device_dense *d;
    struct error error = {0};
    memory_hook_set(0);
    assert_int_equal(device_dense_open(&d, 8, 8, 0, &error), STATUS_MEMORY);
    memory_hook_set(-1);
    assert_null(d);
    error = (struct error){0};
    assert_int_equal(device_dense_open(&d, 1 << 20, 1 << 20, 0, &error), STATUS_INPUT);
    assert_null(d);
    device_dense_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weights_not_finite),
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_open_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
