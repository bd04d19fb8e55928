/* The fit from the residual, and what components explain, on every backend, against sums cell by
 * cell; and by how much the fit without a pass over the nonzeros is off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "backend/host/simd_width.h"
#include "base/memory.h"
#include "support/backends.h"
#include "support/naive_components.h"
#include "support/sanitized.h"

/* ||X - Y||^2 cell by cell, straight from the definition: nothing cancels, so that long double is
 * exact enough. The tensor must have few cells. */
static long double exact_fit(const struct coo *x, const struct ktensor *k)
{
    struct error error = {0};
    uint64_t cells = 1;
    long double residual_sq = 0, norm_sq = 0;
    for (int n = 0; n < k->shape.order; n++)
        cells *= k->shape.dims[n];
    double *value = memory_zeros(cells, sizeof *value, &error);
    assert_non_null(value);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t cell = 0;
        for (int n = 0; n < k->shape.order; n++)
            cell = cell * k->shape.dims[n] + x->index[n][i];
        value[cell] = x->value[i];
    }
    for (uint64_t c = 0; c < cells; c++) {
        uint64_t rest = c, at[MAX_ORDER];
        long double model = 0;
        for (int n = k->shape.order - 1; n >= 0; n--) {
            at[n] = rest % k->shape.dims[n];
            rest /= k->shape.dims[n];
        }
        for (uint64_t r = 0; r < k->rank; r++) {
            long double product = k->lambda[r];
            for (int n = 0; n < k->shape.order; n++)
                product *= k->factor[n][at[n] * k->rank + r];
            model += product;
        }
        residual_sq += (value[c] - model) * (value[c] - model);
        norm_sq += (long double)value[c] * value[c];
    }
    memory_free(value);
    return 1 - sqrtl(residual_sq / norm_sq);
}

/* By how much the rounding of the stored factors' entries may change a fit. */
static long double rounding_of(const struct coo *x, const struct ktensor *k)
{
    long double weights = 0;
    for (uint64_t r = 0; r < k->rank; r++)
        weights += fabsl(k->lambda[r]);
    return 0x1p-52L * k->shape.order * weights / sqrtl(coo_norm_sq(x));
}

static void sweep(struct backend *b, struct backend_fit *fit)
{
    struct error error = {0};
    for (int n = 0; n < b->order; n++) {
        assert_int_equal(backend_mttkrp(b, n, &error), STATUS_OK);
        assert_int_equal(backend_update(b, n, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(b, b->order - 1, NULL, fit, &error), STATUS_OK);
}

/* Before the first update, after a sweep, and after a sweep that followed a residual. */
static void check_residual(const struct backend_kind *kind, const struct tensor_case *s,
                           uint64_t rank, enum conflict conflict, enum flow flow,
                           enum precision_policy precision)
{
    struct error error = {0};
    struct backend_options setting = {
        .problem.rank = rank, .conflict = conflict, .problem.precision = precision};
    struct backend b;
    struct backend_fit fit;
    struct coo x;
    struct ktensor k;
    struct backend_fit found = {0};
    naive_random_coo(&x, SHAPE(s->order, s->dims), s->nnz, 3, s->skewed);
    for (uint64_t i = 0; i < x.nnz && precision; i++)
        x.value[i] = (double)(float)x.value[i];
    if (!set_flow(&setting, flow, kind, &x)) {
        coo_free(&x);
        return;
    }
    create_model(&k, &x, rank, 11);
    for (uint64_t r = 0; r < rank; r++)
        k.lambda[r] = 0.5 + (double)r;
    assert_int_equal(backend_open(&b, kind, &x, &setting, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    for (int sweeps = 0; sweeps < 3; sweeps++) {
        assert_int_equal(backend_residual(&b, &found, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
        long double expected = exact_fit(&x, &k);
        long double slack = 0x1p-50L * (1 + fabsl(1 - expected)) + rounding_of(&x, &k);
        assert_true(fabsl(found.value - expected) <= slack);
        sweep(&b, &fit);
        found = fit;
        assert_int_equal(backend_residual(&b, &found, &error), STATUS_OK);
        const double exact = found.value;
        if (!(fabs(fit.value - exact) <= (precision ? fmax(1e-5, fit.noise) : fit.noise)))
            fail_msg("order %d, rank %d, conflict %d, flow %d: fit %.17g, exact %.17g, noise %.3g",
                     s->order, (int)rank, (int)conflict, (int)flow, fit.value, exact, fit.noise);
    }
    assert_true(backend_times(&b)->seconds[OP_RESIDUAL][0] > 0);
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_residual(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {1, {300}, 200, 0},
        {2, {40, 45}, 500, 0},
        {3, {30, 20, 40}, 6000, 1},
        {3, {6, 7, 8}, 5000, 0},
        {4, {10, 12, 40, 15}, 20000, 0},
        {3, {3, 2, 300}, 900, 0},
        {5, {4, 5, 3, 6, 5}, 3000, 1},
    };
    static const uint64_t ranks[] = {1, 3, 8, 19};
    omp_set_num_threads(2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
            if (shapes[s].order == 1 && ranks[r] > 1)
                continue;
            const int some = ranks[r] == 3 ? CONFLICTS : 1;
            for (int c = 0; c < some; c++)
                for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++)
                    check_residual(kind, &shapes[s], ranks[r], (enum conflict)c, flow,
                                   POLICY_DOUBLE);
            check_residual(kind, &shapes[s], ranks[r], CONFLICT_AUTO, IN_MEMORY, POLICY_SINGLE);
        }
}

/* The same residual with every SIMD width and number of threads. */
static void test_simd_widths(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {300, 200, 150}, widths[] = {2, 4, 8};
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    double fit[3];
    naive_random_coo(&x, SHAPE(3, dims), 30000, 8, 1);
    create_model(&k, &x, 13, 5);
    for (int i = 0; i < 3; i++) {
        struct backend b;
        simd_width_limit(widths[i]);
        omp_set_num_threads(1 + i);
        open_backend(&b, kind, &x, 13, CONFLICT_AUTO);
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        struct backend_fit found = {0};
        assert_int_equal(backend_residual(&b, &found, &error), STATUS_OK);
        fit[i] = found.value;
        backend_close(&b);
        assert_true(fabs(fit[i] - fit[0]) <= 1e-15 * fabs(fit[0]));
    }
    simd_width_limit(0);
    assert_true(fabsl(fit[0] - naive_fit(&x, &k)) < 1e-14L * fabsl(fit[0]));
    ktensor_free(&k);
    coo_free(&x);
}

/* A tensor that a model makes, changed by a little in one cell: the residual tells how much, where
 * no double could; also where most cells have no nonzero. */
static void test_next_to_exact(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {9, 10, 11};
    static const double change[] = {1e-6, 1e-9, 1e-12};
    struct error error = {0};
    for (int dense = 0; dense < 2; dense++)
        for (int c = 0; c < 3; c++) {
            struct ktensor k;
            struct coo x;
            struct backend b;
            struct backend_fit fit = {0};
            assert_int_equal(coo_create(&x, SHAPE(3, dims), 990, &error), STATUS_OK);
            assert_int_equal(ktensor_create(&k, &x.shape, 1, &error), STATUS_OK);
            x.nnz = 0;
            for (int n = 0; n < 3; n++)
                for (uint64_t i = 0; i < dims[n];
                     i++) /* products of such small integers are exact */
                    k.factor[n][i] = dense || i % 3 == 0 ? (double)(i + 1) : 0;
            for (uint32_t cell = 0; cell < 990; cell++) {
                uint32_t i = cell / 110, j = cell / 11 % 10, l = cell % 11;
                double value = k.factor[0][i] * k.factor[1][j] * k.factor[2][l];
                if (value == 0)
                    continue;
                x.index[0][x.nnz] = i;
                x.index[1][x.nnz] = j;
                x.index[2][x.nnz] = l;
                x.value[x.nnz++] = value;
            }
            double norm = sqrt(coo_norm_sq(&x)), before = x.value[5];
            x.value[5] += change[c] * norm;
            open_backend(&b, kind, &x, 1, CONFLICT_AUTO);
            assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
            assert_int_equal(backend_residual(&b, &fit, &error), STATUS_OK);
            double expected = (x.value[5] - before) / sqrt(coo_norm_sq(&x));
            assert_true(fabs((1 - fit.value) - expected) < 2e-16);
            backend_close(&b);
            ktensor_free(&k);
            coo_free(&x);
        }
}

/* Before the first update and after a sweep; the model stays as it was. */
static void check_components(const struct backend_kind *kind, const struct coo *x,
                             struct backend_options setting, enum flow flow)
{
    const uint64_t rank = setting.problem.rank;
    const bool single = setting.problem.precision == POLICY_SINGLE;
    struct error error = {0};
    struct backend b;
    struct ktensor k, after;
    double *explained = calloc(2 * rank, sizeof *explained), *lost = explained + rank;
    if (!set_flow(&setting, flow, kind, x)) {
        free(explained);
        return;
    }
    create_model(&after, x, rank, 3);
    create_model(&k, x, rank, 3);
    ktensor_randomise(&k, KTENSOR_RANDOM, 11);
    for (uint64_t r = 0; r < rank; r++)
        k.lambda[r] = 0.5 + (double)r;
    open_setting(&b, kind, x, &setting);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    for (int sweeps = 0; sweeps < 2; sweeps++) {
        if (sweeps > 0)
            sweep_modes(&b);
        assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
        assert_int_equal(backend_components(&b, explained, lost, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &after, &error), STATUS_OK);
        assert_components(x, &k, &setting.problem, explained, lost, single ? 1e-5L : 1e-12L);
        assert_memory_equal(k.factor[0], after.factor[0], rank * x->shape.dims[0] * sizeof(double));
    }
    assert_true(backend_times(&b)->calls[OP_COMPONENTS][0] == 2);
    backend_close(&b);
    ktensor_free(&k);
    ktensor_free(&after);
    free(explained);
}

/* Ways in which entries count, ranks above the columns of a lane group, where nonzeros are. Under a
 * sanitizer each tensor has some of these ways. */
static void test_components(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {1, {300}, 200, 0},     {2, {40, 45}, 500, 0},      {3, {30, 1, 60}, 900, 1},
        {3, {6, 7, 8}, 250, 0}, {3, {20, 30, 40}, 9000, 0}, {5, {4, 5, 3, 6, 5}, 700, 1}};
    static const uint64_t ranks[] = {1, 3, 19, 40, 70, 150};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int which = 0; which < COMPONENT_CASES; which++) {
            const struct tensor_case *t = &shapes[s];
            const size_t r = s == 4 ? 1 : (s + (size_t)which) % 6;
            struct backend_options setting = {.problem.rank = ranks[r]};
            struct coo x;
            if (SANITIZED && which > 0 && (s + (size_t)which) % 3 != 0)
                continue;
            if (kind->devices && which > 0 && ranks[r] > 64) /* of systems of rows there */
                setting.problem.rank = 64;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, 3, t->skewed);
            make_component_case(which, &x, &setting.problem);
            const int some = which == 0 ? CONFLICTS : 1;
            for (int c = 0; c < some; c++) {
                setting.conflict = (enum conflict)c;
                for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++)
                    check_components(kind, &x, setting, flow);
            }
            setting.conflict = CONFLICT_AUTO;
            setting.problem.precision = POLICY_SINGLE;
            check_components(kind, &x, setting, IN_MEMORY);
            coo_free(&x);
        }
}

static void test_allocation_fails(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {6, 7, 8};
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k;
    struct backend_fit fit = {0};
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    create_model(&k, &x, 4, 5);
    open_backend(&b, kind, &x, 4, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    for (long i = 0, fired = 1; fired; i++) {
        error = (struct error){0};
        memory_hook_set(i);
        double explained[4], lost[4];
        enum status status = backend_residual(&b, &fit, &error);
        if (status == STATUS_OK)
            status = backend_components(&b, explained, lost, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
    }
    assert_true(failures >= 9);
    assert_true(fabsl(fit.value - naive_fit(&x, &k)) < 1e-14L * fabsl(fit.value));
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_residual),   ON(test_simd_widths, backend_host), ON_ALL(test_next_to_exact),
        ON_ALL(test_components), ON_ALL(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
