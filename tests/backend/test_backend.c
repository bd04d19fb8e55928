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

/* V (R x R) = Hadamard product of the Grams of all modes but `mode`, plus ridge. */
static void naive_v(const struct ktensor *k, int mode, double ridge, long double *v)
{
    for (uint64_t i = 0; i < k->rank; i++)
        for (uint64_t j = 0; j < k->rank; j++) {
            long double product = 1;
            for (int n = 0; n < k->shape.order; n++) {
                long double dot = 0;
                for (uint64_t l = 0; l < k->shape.dims[n]; l++)
                    dot +=
                        (long double)k->factor[n][l * k->rank + i] * k->factor[n][l * k->rank + j];
                product *= n == mode ? 1 : dot;
            }
            v[i * k->rank + j] = product + (i == j ? (long double)ridge : 0);
        }
}

/* A_n V = M for the factor that solve left in `k`. */
static void assert_solved(const struct ktensor *k, int n, const long double *v, const double *m)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        for (uint64_t j = 0; j < k->rank; j++) {
            long double sum = 0, expected = m[i * k->rank + j];
            for (uint64_t r = 0; r < k->rank; r++)
                sum += k->factor[n][i * k->rank + r] * v[r * k->rank + j];
            difference += (sum - expected) * (sum - expected);
            norm += expected * expected;
        }
    assert_true(sqrtl(difference) <= 1e-12L * sqrtl(norm));
}

/* `after`, the normalised model, is `before` with unit columns in mode n and the norms in lambda.
 */
static void assert_normalised(const struct ktensor *before, const struct ktensor *after, int n)
{
    uint64_t rank = before->rank;
    for (uint64_t r = 0; r < rank; r++) {
        long double norm_sq = 0;
        for (uint64_t i = 0; i < before->shape.dims[n]; i++)
            norm_sq +=
                (long double)before->factor[n][i * rank + r] * before->factor[n][i * rank + r];
        long double norm = sqrtl(norm_sq);
        assert_true(fabsl(after->lambda[r] - norm) <= 1e-14L * norm);
        for (uint64_t i = 0; i < before->shape.dims[n]; i++)
            assert_true(fabsl(after->factor[n][i * rank + r] * norm -
                              before->factor[n][i * rank + r]) <= 1e-14L * norm);
    }
}

static void check_update(const struct backend_ops *ops, const struct tensor_case *s, uint64_t rank,
                         enum conflict conflict, enum flow flow, double ridge)
{
    struct error error = {0};
    struct backend_options options = {.rank = rank, .conflict = conflict, .ridge = ridge};
    struct backend b;
    struct coo x;
    struct ktensor k, solved, normalised;
    naive_random_coo(&x, SHAPE(s->order, s->dims), s->nnz, 3, s->skewed);
    if (!set_flow(&options, flow, ops, &x)) {
        coo_free(&x);
        return;
    }
    create_model(&k, &x, rank, 11);
    create_model(&solved, &x, rank, 0);
    create_model(&normalised, &x, rank, 0);
    assert_int_equal(backend_open(&b, ops, &x, &options, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    long double *v = memory_array(rank * rank, sizeof *v, &error);
    assert_non_null(v);
    assert_int_equal(backend_store(&b, &normalised, &error), STATUS_OK);
    for (int n = 0; n < x.shape.order; n++) {
        double fit, *m = memory_array(x.shape.dims[n] * rank, sizeof *m, &error);
        assert_non_null(m);
        naive_v(&normalised, n, ridge, v);
        assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
        assert_int_equal(ops->fetch(b.state, n, m, &error), STATUS_OK);
        assert_int_equal(backend_solve(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &solved, &error), STATUS_OK);
        assert_solved(&solved, n, v, m);
        assert_int_equal(backend_normalise(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &normalised, &error), STATUS_OK);
        assert_normalised(&solved, &normalised, n);
        assert_int_equal(backend_gram(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_fit(&b, n, &fit, &error), STATUS_OK);
        /* squared residuals, because next to an exact fit their root is all rounding */
        long double expected = 1 - naive_fit(&x, &normalised);
        assert_true(fabsl((1.0L - fit) * (1.0L - fit) - expected * expected) < 1e-13L);
        memory_free(m);
    }
    assert_int_equal(b.calls[OP_MTTKRP][0], 1);
    assert_int_equal(b.calls[OP_STORE][0], 1 + 2 * x.shape.order);
    assert_true(b.seconds[OP_MTTKRP][0] > 0);
    backend_close(&b);
    memory_free(v);
    ktensor_free(&k);
    ktensor_free(&solved);
    ktensor_free(&normalised);
    coo_free(&x);
}

static void test_update(void **state)
{
    const struct backend_ops *ops = backend_of(state);
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
            for (size_t c = 0; c < sizeof conflicts / sizeof *conflicts; c++)
                for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++)
                    check_update(ops, &shapes[s], ranks[r], conflicts[c], flow, c == 0 ? 0.5 : 0.0);
        }
}

/* What follows MTTKRP, up to where every backend has noticed a number that is not finite. */
static enum status update_and_fit(struct backend *b, int mode, struct error *error)
{
    double fit;
    enum status status = backend_solve(b, mode, error);
    if (status == STATUS_OK)
        status = backend_normalise(b, mode, error);
    if (status == STATUS_OK)
        status = backend_gram(b, mode, error);
    return status == STATUS_OK ? backend_fit(b, mode, &fit, error) : status;
}

static void test_infinite_factor(void **state)
{
    const struct backend_ops *ops = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    static const double bad[] = {NAN, INFINITY, 1e200};
    for (size_t i = 0; i < 3; i++) {
        struct error error = {0};
        struct backend b;
        struct coo x;
        struct ktensor k;
        naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
        create_model(&k, &x, 2, 1);
        k.factor[2][3] = bad[i];
        open_backend(&b, ops, &x, 2, CONFLICT_AUTO);
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        assert_int_equal(backend_mttkrp(&b, 1, &error), STATUS_OK);
        assert_int_equal(update_and_fit(&b, 1, &error), STATUS_NUMERICAL);
        assert_memory_equal(error.message, "mode 2: ", 8);
        backend_close(&b);
        ktensor_free(&k);
        coo_free(&x);
    }
}

static void test_bad_norm(void **state)
{
    const struct backend_ops *ops = backend_of(state);
    static const double value[] = {NAN, INFINITY, 1e200, 0.0, 1e-200};
    static const enum status expected[] = {STATUS_NUMERICAL, STATUS_NUMERICAL, STATUS_NUMERICAL,
                                           STATUS_INPUT, STATUS_INPUT};
    const uint64_t dims[] = {5, 6};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
        struct error error = {0};
        struct backend_options options = {.rank = 2};
        struct backend b;
        struct coo x;
        naive_random_coo(&x, SHAPE(2, dims), 1, 3, 0);
        x.value[0] = value[i];
        assert_int_equal(backend_open(&b, ops, &x, &options, NULL, &error), expected[i]);
        assert_null(b.state);
        backend_close(&b);
        coo_free(&x);
    }
}

static void test_does_not_fit(void **state)
{
    const struct backend_ops *ops = backend_of(state);
    struct error error = {0};
    struct backend_options options = {.rank = 4};
    const uint64_t dims[] = {500, 600, 700};
    struct backend b;
    struct coo x;
    struct plan plan;
    naive_random_coo(&x, SHAPE(3, dims), 400, 3, 0);
    assert_int_equal(ops->plan(3, dims, x.nnz, &options, &plan, &error), STATUS_OK);
    options.memory = options.host_memory = plan.tensor_bytes / 2;
    assert_int_equal(backend_open(&b, ops, &x, &options, NULL, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.message, "no lower rank would fit"));
    assert_null(b.state);

    /* what fits at rank 4 with one ordering is named, and does fit */
    struct backend_options smallest = {.rank = 4, .conflict = CONFLICT_REGISTER};
    assert_int_equal(ops->plan(3, dims, x.nnz, &smallest, &plan, &error), STATUS_OK);
    smallest.memory = smallest.host_memory = plan.total_bytes;
    smallest.rank = 1000;
    error = (struct error){0};
    assert_int_equal(backend_open(&b, ops, &x, &smallest, NULL, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.message, "rank 4 would fit"));
    smallest.rank = 4;
    error = (struct error){0};
    assert_int_equal(backend_open(&b, ops, &x, &smallest, NULL, &error), STATUS_OK);
    backend_close(&b);
    coo_free(&x);
}

/* One sweep over two modes; every array that it takes may be refused. */
static enum status small_run(const struct backend_ops *ops, const struct coo *x,
                             const struct ktensor *k, const struct backend_options *options,
                             struct error *error)
{
    struct backend b;
    double fit;
    enum status status = backend_open(&b, ops, x, options, NULL, error);
    if (status == STATUS_OK)
        status = backend_load(&b, k, error);
    for (int n = 0; n < x->shape.order; n++) {
        if (status == STATUS_OK)
            status = backend_mttkrp(&b, n, error);
        if (status == STATUS_OK)
            status = backend_solve(&b, n, error);
        if (status == STATUS_OK)
            status = backend_normalise(&b, n, error);
        if (status == STATUS_OK)
            status = backend_gram(&b, n, error);
    }
    if (status == STATUS_OK)
        status = backend_fit(&b, x->shape.order - 1, &fit, error);
    backend_close(&b);
    return status;
}

static void check_allocation_fails(const struct backend_ops *ops, const struct coo *x,
                                   const struct ktensor *k, const struct backend_options *options)
{
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        memory_hook_set(i);
        enum status status = small_run(ops, x, k, options, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (fired && status == STATUS_OK) /* it went on with less, as a GPU may */
            assert_ptr_equal(ops, &backend_cuda);
        else
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
    }
    assert_true(failures > 10);
}

static void test_allocation_fails(void **state)
{
    const struct backend_ops *ops = backend_of(state);
    const uint64_t dims[] = {30, 20};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(2, dims), 300, 1, 0);
    create_model(&k, &x, 3, 1);
    for (size_t c = 0; c < sizeof conflicts / sizeof *conflicts; c++)
        for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
            struct backend_options options = {.rank = k.rank, .conflict = conflicts[c]};
            if (set_flow(&options, flow, ops, &x))
                check_allocation_fails(ops, &x, &k, &options);
        }
    ktensor_free(&k);
    coo_free(&x);
}

static void test_choose(void **state)
{
    (void)state;
    struct error error = {0}, why_not = {0}, reason = {0};
    const struct backend_ops *ops;
    int have_gpu = backend_cuda.available(&reason) == STATUS_OK;
    assert_int_equal(backend_choose(&ops, "host", NULL, &error), STATUS_OK);
    assert_ptr_equal(ops, &backend_host);
    assert_int_equal(backend_choose(&ops, "auto", &why_not, &error), STATUS_OK);
    assert_ptr_equal(ops, have_gpu ? &backend_cuda : &backend_host);
    assert_string_equal(why_not.message, reason.message);
    assert_int_equal(backend_choose(&ops, "auto", NULL, &error), STATUS_OK);

    assert_int_equal(backend_choose(&ops, "cuda", NULL, &error), reason.status);
    if (!have_gpu) {
        assert_null(ops);
        assert_non_null(strstr(error.message, reason.message));
    }
    error = (struct error){0};
    assert_int_equal(backend_choose(&ops, "gpu", NULL, &error), STATUS_INPUT);
    assert_null(ops);
    assert_non_null(strstr(error.message, "\"gpu\""));
}

/* Three sweeps; the fit that the backend reports is that of the model which it stores. */
static double fit_after_sweeps(const struct backend_ops *ops, const struct coo *x,
                               const struct ktensor *start, const struct backend_options *options)
{
    struct error error = {0};
    struct backend b;
    struct ktensor k;
    double fit = 0;
    assert_int_equal(ktensor_create(&k, &x->shape, start->rank, &error), STATUS_OK);
    assert_int_equal(backend_open(&b, ops, x, options, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, start, &error), STATUS_OK);
    for (int n = 0; n < 3 * x->shape.order; n++) {
        int mode = n % x->shape.order;
        assert_int_equal(backend_mttkrp(&b, mode, &error), STATUS_OK);
        assert_int_equal(backend_solve(&b, mode, &error), STATUS_OK);
        assert_int_equal(backend_normalise(&b, mode, &error), STATUS_OK);
        assert_int_equal(backend_gram(&b, mode, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&b, x->shape.order - 1, &fit, &error), STATUS_OK);
    assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
    assert_true(fabsl(fit - naive_fit(x, &k)) < (options->precision ? 1e-5 : 1e-10));
    backend_close(&b);
    ktensor_free(&k);
    return fit;
}

/* Tensors that are dense enough for modes to share partial products: the same fit with and without
 * them, and streamed, on every backend, and in single precision where there is one. */
static void test_sharing(void **state)
{
    const struct backend_ops *ops = backend_of(state);
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
        struct backend_options options = {.rank = 5};
        double reference = fit_after_sweeps(&backend_host, &x, &k, &options);
        assert_true(fabs(fit_after_sweeps(ops, &x, &k, &options) - reference) < 1e-10);
        options.no_sharing = true;
        assert_true(fabs(fit_after_sweeps(ops, &x, &k, &options) - reference) < 1e-10);
        options.precision = PRECISION_SINGLE;
        if (ops != &backend_host)
            assert_true(fabs(fit_after_sweeps(ops, &x, &k, &options) - reference) < 1e-4);
        for (enum flow flow = IN_BATCHES; flow < FLOWS; flow++) {
            struct backend_options streamed = {.rank = 5};
            if (set_flow(&streamed, flow, ops, &x))
                assert_true(fabs(fit_after_sweeps(ops, &x, &k, &streamed) - reference) < 1e-10);
        }
        ktensor_free(&k);
        coo_free(&x);
    }
}

static void test_host_is_double_only(void **state)
{
    (void)state;
    struct error error = {0};
    struct backend_options options = {.rank = 2, .precision = PRECISION_SINGLE};
    const uint64_t dims[] = {3};
    struct plan plan;
    assert_int_equal(backend_host.plan(1, dims, 1, &options, &plan, &error), STATUS_INPUT);
}

static void test_operation_names(void **state)
{
    (void)state;
    assert_string_equal(operation_name(OP_OPEN), "open");
    assert_string_equal(operation_name(OP_STORE), "store");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_update),
        ON_ALL(test_infinite_factor),
        ON_ALL(test_bad_norm),
        ON_ALL(test_does_not_fit),
        ON_ALL(test_allocation_fails),
        ON_ALL(test_sharing),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_host_is_double_only),
        cmocka_unit_test(test_operation_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
