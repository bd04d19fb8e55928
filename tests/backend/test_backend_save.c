/* What backend_save hands out is all that an iteration begins with: another backend that resumes it
 * goes on as the first one does, which saving leaves as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "support/backends.h"

#define SWEEPS 4

static void assert_same_fit(const struct backend_kind *kind, double fit, double expected)
{
    if (kind == &backend_host ? fit != expected : !(fabs(fit - expected) < 1e-12))
        fail_msg("fit %.17g, expected %.17g", fit, expected);
}

/* Both have the same model: on the host the same bits. */
static void assert_same_model(const struct backend_kind *kind, struct backend *a, struct backend *b,
                              const struct coo *x, uint64_t rank)
{
    struct error error = {0};
    struct ktensor left, right;
    create_model(&left, x, rank, 1);
    create_model(&right, x, rank, 2);
    assert_int_equal(backend_store(a, &left, &error), STATUS_OK);
    assert_int_equal(backend_store(b, &right, &error), STATUS_OK);
    double most = kind == &backend_host ? 0 : 1e-9;
    for (uint64_t r = 0; r < rank; r++)
        assert_true(fabs(left.lambda[r] - right.lambda[r]) <= most * left.lambda[r]);
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t i = 0; i < x->shape.dims[n] * rank; i++)
            assert_true(fabs(left.factor[n][i] - right.factor[n][i]) <= most);
    ktensor_free(&left);
    ktensor_free(&right);
}

/* After `before` sweeps a second backend resumes what the first one has saved. */
static void check_resume(const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *setting, int before, const double *expected)
{
    struct error error = {0};
    struct backend first, second;
    struct ktensor start, saved;
    struct carried carried;
    uint64_t rank = setting->problem.rank;
    create_model(&start, x, rank, 7);
    create_model(&saved, x, rank, 8);
    assert_int_equal(carried_create(&carried, x->shape.order, rank, &error), STATUS_OK);
    open_setting(&first, kind, x, setting);
    open_setting(&second, kind, x, setting);
    assert_int_equal(backend_load(&first, &start, &error), STATUS_OK);
    for (int i = 0; i < before; i++)
        assert_same_fit(kind, sweep_modes(&first), expected[i]);
    assert_int_equal(backend_save(&first, &saved, &carried, &error), STATUS_OK);
    assert_int_equal(backend_resume(&second, &saved, &carried, &error), STATUS_OK);
    assert_same_model(kind, &first, &second, x, rank);
    for (int i = before; i < SWEEPS; i++) {
        assert_same_fit(kind, sweep_modes(&first), expected[i]);
        assert_same_fit(kind, sweep_modes(&second), expected[i]);
    }
    assert_same_model(kind, &first, &second, x, rank);
    backend_close(&first);
    backend_close(&second);
    carried_free(&carried);
    ktensor_free(&start);
    ktensor_free(&saved);
}

static void check_setting(const struct backend_kind *kind, const struct coo *x,
                          const struct backend_options *setting)
{
    struct error error = {0};
    struct backend b;
    struct ktensor start;
    double expected[SWEEPS];
    create_model(&start, x, setting->problem.rank, 7);
    open_setting(&b, kind, x, setting);
    assert_int_equal(backend_load(&b, &start, &error), STATUS_OK);
    for (int i = 0; i < SWEEPS; i++)
        expected[i] = sweep_modes(&b);
    backend_close(&b);
    ktensor_free(&start);
    for (int before = 0; before <= SWEEPS; before++)
        check_resume(kind, x, setting, before, expected);
}

/* Factor matrices whose rows are scaled, and larger ones, whose scales are stored apart. */
static void test_resume(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    omp_set_num_threads(1); /* with more, sums that meet in alto's atomics have any order */
    static const struct tensor_case cases[] = {{3, {40, 50, 60}, 2000, 1},
                                               {4, {900, 7, 1500, 30}, 6000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(cases[i].order, cases[i].dims), cases[i].nnz, i,
                         cases[i].skewed);
        for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++)
            for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
                struct backend_options setting = {.problem.rank = 6, .conflict = c};
                if (set_flow(&setting, flow, kind, &x))
                    check_setting(kind, &x, &setting);
            }
        coo_free(&x);
    }
}

/* In single precision the saved numbers are those of the backend, exactly. */
static void test_single(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor start, saved, again;
    struct carried carried;
    naive_random_coo(&x, &(struct shape){3, {40, 50, 60}}, 2000, 1, 0);
    const struct backend_options setting = {.problem.rank = 5, .problem.precision = POLICY_SINGLE};
    create_model(&start, &x, 5, 7);
    create_model(&saved, &x, 5, 8);
    create_model(&again, &x, 5, 9);
    assert_int_equal(carried_create(&carried, 3, 5, &error), STATUS_OK);
    open_setting(&b, kind, &x, &setting);
    assert_int_equal(backend_load(&b, &start, &error), STATUS_OK);
    sweep_modes(&b);
    assert_int_equal(backend_save(&b, &saved, &carried, &error), STATUS_OK);
    assert_int_equal(backend_resume(&b, &saved, &carried, &error), STATUS_OK);
    assert_int_equal(backend_save(&b, &again, &carried, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        assert_memory_equal(saved.factor[n], again.factor[n], x.shape.dims[n] * 5 * sizeof(double));
    assert_memory_equal(saved.lambda, again.lambda, 5 * sizeof(double));
    backend_close(&b);
    carried_free(&carried);
    ktensor_free(&start);
    ktensor_free(&saved);
    ktensor_free(&again);
    coo_free(&x);
}

/* What one backend saves, the other resumes. */
static void test_other_backend(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct backend b, host;
    struct coo x;
    struct ktensor start, saved;
    struct carried carried;
    naive_random_coo(&x, &(struct shape){3, {900, 50, 1500}}, 6000, 1, 0);
    create_model(&start, &x, 6, 7);
    create_model(&saved, &x, 6, 8);
    assert_int_equal(carried_create(&carried, 3, 6, &error), STATUS_OK);
    open_backend(&b, kind, &x, 6, CONFLICT_AUTO);
    open_backend(&host, &backend_host, &x, 6, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, &start, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        sweep_modes(&b);
        assert_int_equal(backend_save(&b, &saved, &carried, &error), STATUS_OK);
        assert_int_equal(backend_resume(&host, &saved, &carried, &error), STATUS_OK);
        double fit = sweep_modes(&host);
        assert_int_equal(backend_save(&host, &saved, &carried, &error), STATUS_OK);
        assert_true(fabs(sweep_modes(&b) - fit) < 1e-12);
        assert_int_equal(backend_resume(&b, &saved, &carried, &error), STATUS_OK);
        assert_true(fabs(sweep_modes(&b) - sweep_modes(&host)) < 1e-12);
    }
    backend_close(&b);
    backend_close(&host);
    carried_free(&carried);
    ktensor_free(&start);
    ktensor_free(&saved);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_resume), ON_ALL(test_single),
                                       ON_ALL(test_other_backend)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
