/* Solve, Gram and fit of device_dense.h against plain loops in long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "backend/cuda/dense/device_dense.h"
#include "kernels/dense/dense_sums.h"
#include "support/gpu_arrays.h"

static const uint64_t lengths[] = {1, 2, 7, 24, 183, 1000, 100003};
static const struct device_dense_place place = {0}; /* GPU 0, its default stream */

/* ---- solve, gram, fit ------------------------------------------------------------------------ */

struct factors {
    uint64_t rank, ld, rows;
    enum precision precision;
    size_t bytes;  /* of a matrix                         */
    void *m, *a;   /* (rows x ld), host                   */
    double *w;     /* (R x R), host                       */
    void *dm, *da; /* on the device; A with a row more    */
    double *dw, *draw;
    struct dense_fit_terms *dfit;
};

static void factors_make(struct factors *f, uint64_t rank, uint64_t ld, uint64_t rows,
                         enum precision precision)
{
    const size_t size = precision_bytes(precision);
    uint64_t seed = 1000 * rank + rows;
    *f = (struct factors){.rank = rank, .ld = ld, .rows = rows, .precision = precision};
    f->bytes = rows * ld * size;
    f->m = random_matrix(rows, rank, ld, precision, seed);
    f->a = host_array((rows + 1) * ld, size);
    f->w = random_matrix(rank, rank, rank, PRECISION_DOUBLE, seed + 1);
    f->dm = uploaded(f->m, f->bytes);
    f->da = uploaded(NULL, f->bytes + ld * size);
    f->dw = uploaded(f->w, rank * rank * sizeof(double));
    f->draw = uploaded(NULL, rank * rank * sizeof(double));
    f->dfit = uploaded(NULL, sizeof *f->dfit);
}

static struct device_dense_rows rows_of(const struct factors *f)
{
    return (struct device_dense_rows){f->dm, f->da, f->rows, f->draw};
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

/* f->a is M W, zero beyond the rank; the row after the last is untouched. */
static void check_solution(const struct factors *f)
{
    const uint64_t rank = f->rank, ld = f->ld;
    const double tolerance = f->precision == PRECISION_SINGLE ? 1e-5 : 1e-12;
    long double largest = 0, error = 0;
    uint64_t wrong = 0;
#pragma omp parallel for reduction(max : largest, error) reduction(+ : wrong)
    for (uint64_t i = 0; i < f->rows; i++)
        for (uint64_t r = 0; r < ld; r++) {
            const double x = entry(f->a, i * ld + r, f->precision);
            long double sum = 0;
            for (uint64_t k = 0; k < rank && r < rank; k++)
                sum += (long double)entry(f->m, i * ld + k, f->precision) * f->w[k * rank + r];
            largest = fmaxl(largest, fabsl(sum));
            error = fmaxl(error, fabsl(x - sum));
            wrong += (r < rank ? !isfinite(x) : x != 0) ? 1u : 0u;
        }
    assert_int_equal(wrong, 0);
    assert_true(error <= (long double)tolerance * largest);
    for (uint64_t r = 0; r < ld; r++)
        assert_true(isnan(entry(f->a, f->rows * ld + r, f->precision)));
}

/* raw is the Gram of f->a, as it is stored: to 1e-12 in either precision. */
static void check_gram(const struct factors *f, const double *raw)
{
    const uint64_t rank = f->rank, rows = f->rows;
    long double *expected = host_array(rank * rank, sizeof *expected);
    double *column = host_array(rank * rows, sizeof *column);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            column[r * rows + i] = entry(f->a, i * f->ld + r, f->precision);
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
    const struct device_dense_rows rows = rows_of(f);
    ok(device_dense_apply(d, &rows, f->dw, &error), &error);
    fetch(raw, f->draw, f->rank * f->rank * sizeof(double));
    fetch(f->a, f->da, f->bytes + f->bytes / f->rows);
}

/* inner (R) = the diagonal of M' A, by a pass over both. */
static void inner_pass(const struct factors *f, double *inner)
{
    const uint32_t blocks = 500;
    double *partial = uploaded(NULL, blocks * f->rank * sizeof(double));
    good(dense_inner(f->dm, f->da, f->rows, f->ld, (uint32_t)f->rank, f->precision, partial, blocks,
                     inner, 0));
    good(cudaFree(partial));
}

/* The fit's terms with the Grams of two other modes, against f->m and f->a: from the products that
 * the solve has summed where it does so, and from those of a pass over M and A. */
static void check_fit(struct device_dense *d, const struct factors *f)
{
    const uint64_t rank = f->rank, n = rank * rank;
    struct error error = {0};
    double *gram[3], *norm[3], *dgram[3], *dnorm[3];
    struct dense_modes modes = {.order = 3, .mode = 1, .rank = (uint32_t)rank};
    struct dense_fit_terms fit;
    for (uint64_t m = 0; m < 3; m++) {
        gram[m] = random_matrix(rank, rank, rank, PRECISION_DOUBLE, m);
        norm[m] = random_matrix(1, rank, rank, PRECISION_DOUBLE, m + 10);
        for (uint64_t r = 0; r < rank; r++)
            norm[m][r] = r == 4 ? 0 : 1.5 + norm[m][r];
        dgram[m] = uploaded(gram[m], n * sizeof(double));
        dnorm[m] = uploaded(norm[m], rank * sizeof(double));
        modes.gram[m] = dgram[m];
        modes.norm[m] = dnorm[m];
    }
    long double inner = 0, inner_size = 0, column_size = 0, model = 0, model_size = 0;
    for (uint64_t r = 0; r < rank; r++) {
        const long double scale = r == 4 ? 1 : 1 / ((long double)norm[0][r] * norm[2][r]);
        long double column = 0;
        for (uint64_t i = 0; i < f->rows; i++) {
            const long double x = scale * entry(f->m, i * f->ld + r, f->precision) *
                                  entry(f->a, i * f->ld + r, f->precision);
            column += x;
            inner_size += fabsl(x);
        }
        inner += column;
        column_size += fabsl(column);
    }
    for (uint64_t e = 0; e < n; e++) {
        const long double x = (long double)norm[1][e / rank] * norm[1][e % rank] * gram[0][e] *
                              gram[1][e] * gram[2][e];
        model += x;
        model_size += fabsl(x);
    }
    double *passed = uploaded(NULL, rank * sizeof(double));
    for (int solved = 0; solved < 2; solved++) {
        const double *dinner = passed;
        if (solved)
            ok(device_dense_inner(d, &dinner, &error), &error);
        else
            inner_pass(f, passed);
        good(dense_model(&modes, dinner, f->dfit, 0));
        fetch(&fit, f->dfit, sizeof fit);
        assert_true(fabsl(fit.inner - inner) <= 1e-12L * inner_size);
        assert_true(fabsl(fit.model_sq - model) <= 1e-12L * model_size);
        assert_true(fabsl(fit.inner_size - column_size) <= 1e-12L * inner_size);
        assert_true(fabsl(fit.model_size - model_size) <= 1e-12L * model_size);
    }
    good(cudaFree(passed));
    for (int m = 0; m < 3; m++) {
        memory_free(gram[m]);
        memory_free(norm[m]);
        good(cudaFree(dgram[m]));
        good(cudaFree(dnorm[m]));
    }
}

static void check_steps(struct device_dense *d, uint64_t rank, uint64_t ld, uint64_t rows,
                        enum precision precision)
{
    struct factors f;
    struct error error = {0};
    const size_t gram_bytes = rank * rank * sizeof(double);
    double *raw = host_array(rank * rank, sizeof *raw),
           *again = host_array(rank * rank, sizeof *raw);
    factors_make(&f, rank, ld, rows, precision);
    solve(d, &f, raw);
    check_solution(&f);
    check_gram(&f, raw);
    check_fit(d, &f);

    const struct device_dense_rows of_a = {.a = f.da, .count = rows, .raw = f.draw};
    ok(device_dense_gram(d, &of_a, &error), &error);
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
            const enum precision precision = kind % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE;
            const uint64_t ld = row_length(ranks[r], precision, kind / 2);
            struct device_dense *d;
            struct error error = {0};
            ok(device_dense_open(&d, &place, ranks[r], ld, precision, &error), &error);
            for (uint64_t l = 0; l < COUNT(lengths); l++)
                check_steps(d, ranks[r], ld, lengths[l], precision);
            device_dense_close(d);
        }
}

/* ---- two streams ----------------------------------------------------------------------------- */

/* After every pass on its stream an event is recorded that tells the time: the pass takes some, and
 * the sums are there when the side stream gets there. */
static void test_passed(void **state)
{
    (void)state;
    static const uint64_t widths[] = {16, 100};
    for (size_t i = 0; i < COUNT(widths); i++) {
        const uint64_t rank = widths[i], square = rank * rank;
        struct device_dense *d;
        struct error error = {0};
        struct factors f;
        struct device_dense_place two = {0};
        cudaEvent_t start, last = NULL;
        double *raw = host_array(square, sizeof *raw);
        factors_make(&f, rank, rank, 3000, PRECISION_DOUBLE);
        good(cudaStreamCreateWithFlags(&two.pass, cudaStreamNonBlocking));
        good(cudaStreamCreateWithFlags(&two.side, cudaStreamNonBlocking));
        good(cudaEventCreate(&start));
        good(cudaDeviceSynchronize());
        const struct device_dense_rows rows = rows_of(&f);
        ok(device_dense_open(&d, &two, rank, rank, PRECISION_DOUBLE, &error), &error);
        for (int k = 0; k < DEVICE_DENSE_PASSES + 2; k++) {
            float ms = -1, since = -1;
            good(cudaEventRecord(start, two.pass));
            ok(device_dense_apply(d, &rows, f.dw, &error), &error);
            good(cudaStreamSynchronize(two.side));
            cudaEvent_t passed = device_dense_passed(d);
            assert_ptr_not_equal(passed, last);
            good(cudaEventElapsedTime(&ms, start, passed));
            assert_true(ms > 0);
            if (last) {
                good(cudaEventElapsedTime(&since, last, passed));
                assert_true(since >= ms);
            }
            last = passed;
        }
        fetch(raw, f.draw, square * sizeof *raw);
        fetch(f.a, f.da, f.bytes + f.bytes / f.rows);
        check_solution(&f);
        check_gram(&f, raw);
        device_dense_close(d);
        good(cudaEventDestroy(start));
        good(cudaStreamDestroy(two.pass));
        good(cudaStreamDestroy(two.side));
        factors_free(&f);
        memory_free(raw);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The k-th allocation fails, for every k; returns how many there are. */
static int failing_allocations(uint64_t rank, enum precision precision)
{
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct device_dense *d;
        struct error error = {0};
        memory_hook_set(k);
        enum status status =
            device_dense_open(&d, &place, rank, row_length(rank, precision, 0), precision, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(d == NULL, fired);
        device_dense_close(d);
        failures += (int)fired;
    }
    return failures;
}

static void test_open_fails(void **state)
{
    (void)state;
    struct device_dense *d;
    struct error error = {0};
    /* itself, 6 arrays, the flags' copy, room for eigenvalues; for long rows W, Grams, a panel of
     * M, cuBLAS, cuSOLVER and its array too; in single precision a panel of A too */
    assert_int_equal(failing_allocations(8, PRECISION_DOUBLE), 9);
    assert_int_equal(failing_allocations(100, PRECISION_DOUBLE), 15);
    assert_int_equal(failing_allocations(100, PRECISION_SINGLE), 16);
    assert_int_equal(device_dense_open(&d, &place, 1 << 20, 1 << 20, PRECISION_DOUBLE, &error),
                     STATUS_INPUT);
    assert_null(d);
    device_dense_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_open_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
