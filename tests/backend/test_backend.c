/* The operations around MTTKRP, on every backend that this machine can run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/backends.h"

/* A_n diag(lambda) V = M for the model that update left. */
static void assert_solved(const struct ktensor *k, int n, const long double *v, const double *m)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        for (uint64_t j = 0; j < k->rank; j++) {
            long double sum = 0, expected = m[i * k->rank + j];
            for (uint64_t r = 0; r < k->rank; r++)
                sum +=
                    k->lambda[r] * (long double)k->factor[n][i * k->rank + r] * v[r * k->rank + j];
            difference += (sum - expected) * (sum - expected);
            norm += expected * expected;
        }
    assert_true(sqrtl(difference) <= 1e-12L * sqrtl(norm));
}

/* The columns of mode n have unit norm, and no lambda is negative. */
static void assert_normalised(const struct ktensor *k, int n)
{
    for (uint64_t r = 0; r < k->rank; r++) {
        long double norm_sq = 0;
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            norm_sq += (long double)k->factor[n][i * k->rank + r] * k->factor[n][i * k->rank + r];
        assert_true(fabsl(sqrtl(norm_sq) - 1) <= 1e-14L && k->lambda[r] > 0);
    }
}

static void check_update(const struct backend_kind *kind, const struct tensor_case *s,
                         uint64_t rank, enum conflict conflict, enum flow flow, double ridge)
{
    struct error error = {0};
    struct backend_options setting = {.problem.rank = rank,
                                      .conflict = conflict,
                                      .problem.rules = {.ridge = {ridge, 0, 2 * ridge}}};
    struct backend b;
    struct coo x;
    struct ktensor k, model;
    naive_random_coo(&x, SHAPE(s->order, s->dims), s->nnz, 3, s->skewed);
    if (!set_flow(&setting, flow, kind, &x)) {
        coo_free(&x);
        return;
    }
    create_model(&k, &x, rank, 11);
    create_model(&model, &x, rank, 0);
    assert_int_equal(backend_open(&b, kind, &x, &setting, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    long double *v = memory_array(rank * rank, sizeof *v, &error);
    assert_non_null(v);
    assert_int_equal(backend_store(&b, &model, &error), STATUS_OK);
    for (int n = 0; n < x.shape.order; n++) {
        struct backend_fit fit;
        double *m = memory_array(x.shape.dims[n] * rank, sizeof *m, &error);
        assert_non_null(m);
        naive_v(&model, n, setting.problem.rules.ridge[n], v);
        assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_fetch(&b, n, m, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &model, &error), STATUS_OK);
        assert_solved(&model, n, v, m);
        assert_normalised(&model, n);
        assert_int_equal(backend_fit(&b, n, NULL, &fit, &error), STATUS_OK);
        /* squared residuals, because next to an exact fit their root is all rounding */
        long double expected = 1 - naive_fit(&x, &model);
        assert_true(fabsl((1.0L - fit.value) * (1.0L - fit.value) - expected * expected) < 1e-13L);
        memory_free(m);
    }
    assert_int_equal(backend_times(&b)->calls[OP_MTTKRP][0], 1);
    assert_int_equal(backend_times(&b)->calls[OP_STORE][0], 1 + x.shape.order);
    assert_true(backend_times(&b)->seconds[OP_MTTKRP][0] > 0);
    backend_close(&b);
    memory_free(v);
    ktensor_free(&k);
    ktensor_free(&model);
    coo_free(&x);
}

static void test_update(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {1, {300}, 200, 0},
        {2, {40, 45}, 500, 0},
        {3, {60, 50, 90}, 6000, 1},
        {4, {40, 30, 500, 35}, 5000, 0},
    };
    static const uint64_t ranks[] = {1, 2, 7, 16};
    omp_set_num_threads(2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
            if (shapes[s].order == 1 && ranks[r] > 1)
                continue; /* V is all ones: singular */
            for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++)
                for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++)
                    check_update(kind, &shapes[s], ranks[r], c, flow, c == 0 ? 0.5 : 0.0);
        }
}

/* Three sweeps; the fit that the backend reports is that of the model which it stores. */
static double fit_after_sweeps(const struct backend_kind *kind, const struct coo *x,
                               const struct ktensor *start, const struct backend_options *setting)
{
    struct error error = {0};
    struct backend b;
    struct ktensor k;
    struct backend_fit fit;
    assert_int_equal(ktensor_create(&k, &x->shape, start->rank, &error), STATUS_OK);
    assert_int_equal(backend_open(&b, kind, x, setting, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, start, &error), STATUS_OK);
    for (int n = 0; n < 3 * x->shape.order; n++) {
        int mode = n % x->shape.order;
        assert_int_equal(backend_mttkrp(&b, mode, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, mode, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&b, x->shape.order - 1, NULL, &fit, &error), STATUS_OK);
    assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
    assert_true(fabsl(fit.value - naive_fit(x, &k)) <
                (setting->problem.precision == POLICY_SINGLE ? 1e-5 : 1e-10));
    backend_close(&b);
    ktensor_free(&k);
    return fit.value;
}

/* What load takes in comes back as it is: factors and lambda, also before the first update. */
static void test_load_and_store(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k, again;
    naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
    create_model(&k, &x, 3, 1);
    create_model(&again, &x, 3, 2);
    for (uint64_t r = 0; r < k.rank; r++)
        k.lambda[r] = 2.5 * (double)(r + 1);
    open_backend(&b, kind, &x, 3, CONFLICT_AUTO);
    for (int i = 0; i < 2; i++) { /* the second time after updates */
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &again, &error), STATUS_OK);
        assert_memory_equal(again.lambda, k.lambda, k.rank * sizeof *k.lambda);
        for (int n = 0; n < 3; n++)
            assert_memory_equal(again.factor[n], k.factor[n],
                                dims[n] * k.rank * sizeof *k.factor[n]);
        for (int n = 0; n < 3; n++) {
            assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
            assert_int_equal(backend_update(&b, n, &error), STATUS_OK);
        }
    }
    backend_close(&b);
    ktensor_free(&k);
    ktensor_free(&again);
    coo_free(&x);
}

/* The lambda of a start plays no part: the same fit for every one. */
static void test_start_of_any_lambda(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {15, 16, 17};
    struct coo x;
    struct ktensor k;
    struct backend_options setting = {.problem.rank = 3};
    naive_random_coo(&x, SHAPE(3, dims), 900, 3, 0);
    create_model(&k, &x, 3, 1);
    double expected = fit_after_sweeps(kind, &x, &k, &setting);
    for (uint64_t r = 0; r < k.rank; r++)
        k.lambda[r] = 1e6 * (double)(r + 1);
    assert_true(fabs(fit_after_sweeps(kind, &x, &k, &setting) - expected) < 1e-12);
    ktensor_free(&k);
    coo_free(&x);
}

/* An update and a fetch belong to the MTTKRP of their mode, a fit to the last update. */
static void test_order_of_operations(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k;
    struct backend_fit fit;
    double m[7 * 2];
    naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
    create_model(&k, &x, 2, 1);
    open_backend(&b, kind, &x, 2, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    assert_int_equal(backend_update(&b, 0, &error), STATUS_INTERNAL);
    assert_string_equal(error.message, "mode 1: there is no MTTKRP");
    for (int sweep = 0; sweep < 2; sweep++) { /* also where a device has begun the next sweep */
        error = (struct error){0};
        assert_int_equal(backend_mttkrp(&b, 1, &error), STATUS_OK);
        assert_int_equal(backend_fit(&b, 1, NULL, &fit, &error), STATUS_INTERNAL);
        assert_string_equal(error.message, "mode 2: there is no update");
        error = (struct error){0};
        assert_int_equal(backend_update(&b, 0, &error), STATUS_INTERNAL);
        assert_string_equal(error.message, "mode 1: the last MTTKRP was that of mode 2");
        error = (struct error){0};
        assert_int_equal(backend_fetch(&b, 2, m, &error), STATUS_INTERNAL);
        error = (struct error){0};
        assert_int_equal(backend_update(&b, 1, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, 1, &error), STATUS_INTERNAL); /* M is used up */
        error = (struct error){0};
        assert_int_equal(backend_fetch(&b, 1, m, &error), STATUS_INTERNAL);
        error = (struct error){0};
        assert_int_equal(backend_fit(&b, 0, NULL, &fit, &error), STATUS_INTERNAL);
        assert_string_equal(error.message, "mode 1: the last update was that of mode 2");
        error = (struct error){0};
        assert_int_equal(backend_fit(&b, 1, NULL, &fit, &error), STATUS_OK);
    }
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_choose(void **state)
{
    (void)state;
    struct error error = {0}, why_not = {0}, reason = {0};
    const struct backend_kind *kind;
    int have_gpu = backend_cuda.available(&reason) == STATUS_OK;
    assert_int_equal(backend_choose(&kind, "host", NULL, &error), STATUS_OK);
    assert_ptr_equal(kind, &backend_host);
    assert_int_equal(backend_choose(&kind, "auto", &why_not, &error), STATUS_OK);
    assert_ptr_equal(kind, have_gpu ? &backend_cuda : &backend_host);
    assert_string_equal(why_not.message, reason.message);
    assert_int_equal(backend_choose(&kind, "auto", NULL, &error), STATUS_OK);

    assert_int_equal(backend_choose(&kind, "cuda", NULL, &error), reason.status);
    if (!have_gpu) {
        assert_null(kind);
        assert_non_null(strstr(error.message, reason.message));
    }
    error = (struct error){0};
    assert_int_equal(backend_choose(&kind, "gpu", NULL, &error), STATUS_INPUT);
    assert_null(kind);
    assert_non_null(strstr(error.message, "\"gpu\""));
}

/* Tensors that are dense enough for modes to share partial products: the same fit with and without
 * them, and streamed, on every backend, and in single precision. */
static void test_sharing(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {4, {12, 9, 14, 10}, 9000, 0},
        {4, {300, 6, 5, 7}, 20000, 0},
        {3, {500, 40, 2}, 15000, 1},
        {5, {8, 7, 9, 30, 4}, 20000, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct coo x;
        struct ktensor k;
        const struct tensor_case *s = &shapes[i];
        naive_random_coo(&x, SHAPE(s->order, s->dims), s->nnz, i, s->skewed);
        create_model(&k, &x, 5, 3);
        struct backend_options setting = {.problem.rank = 5};
        double reference = fit_after_sweeps(&backend_host, &x, &k, &setting);
        assert_true(fabs(fit_after_sweeps(kind, &x, &k, &setting) - reference) < 1e-10);
        setting.no_sharing = true;
        assert_true(fabs(fit_after_sweeps(kind, &x, &k, &setting) - reference) < 1e-10);
        setting.problem.precision = POLICY_SINGLE;
        assert_true(fabs(fit_after_sweeps(kind, &x, &k, &setting) - reference) < 1e-4);
        for (enum flow flow = IN_BATCHES; flow < FLOWS; flow++) {
            struct backend_options streamed = {.problem.rank = 5};
            if (set_flow(&streamed, flow, kind, &x))
                assert_true(fabs(fit_after_sweeps(kind, &x, &k, &streamed) - reference) < 1e-10);
        }
        ktensor_free(&k);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_update),
        ON_ALL(test_load_and_store),
        ON_ALL(test_start_of_any_lambda),
        ON_ALL(test_order_of_operations),
        ON_ALL(test_sharing),
        cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
