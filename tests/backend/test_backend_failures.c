/* What every backend does with numbers that are not finite, too little memory and allocations that
 * fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/backends.h"

/* What follows MTTKRP, up to where every backend has noticed a number that is not finite. */
static enum status update_and_fit(struct backend *b, int mode, struct error *error)
{
    struct backend_fit fit;
    enum status status = backend_update(b, mode, error);
    return status == STATUS_OK ? backend_fit(b, mode, NULL, &fit, error) : status;
}

static void test_infinite_factor(void **state)
{
    const struct backend_kind *kind = backend_of(state);
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
        open_backend(&b, kind, &x, 2, CONFLICT_AUTO);
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
    const struct backend_kind *kind = backend_of(state);
    static const double value[] = {NAN, INFINITY, 0.0};
    static const enum status expected[] = {STATUS_INPUT, STATUS_NUMERICAL, STATUS_INPUT};
    const uint64_t dims[] = {5, 6};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
        struct error error = {0};
        struct backend_options options = {.problem.rank = 2};
        struct backend b;
        struct coo x;
        naive_random_coo(&x, SHAPE(2, dims), 1, 3, 0);
        x.value[0] = value[i];
        assert_int_equal(backend_open(&b, kind, &x, &options, NULL, &error), expected[i]);
        assert_null(b.kind);
        backend_close(&b);
        coo_free(&x);
    }
}

static void test_does_not_fit(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct backend_options options = {.problem.rank = 4};
    const uint64_t dims[] = {500, 600, 700};
    struct backend b;
    struct coo x;
    struct plan plan;
    naive_random_coo(&x, SHAPE(3, dims), 400, 3, 0);
    plan = plan_of(kind, &x, &options);
    options.memory = options.host_memory = plan.tensor_bytes / 2;
    assert_int_equal(backend_open(&b, kind, &x, &options, NULL, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.message, "no lower rank would fit"));
    assert_null(b.kind);

    /* what fits at rank 4 with one ordering is named, and does fit */
    struct backend_options smallest = {.problem.rank = 4, .conflict = CONFLICT_REGISTER};
    plan = plan_of(kind, &x, &smallest);
    smallest.memory = smallest.host_memory = plan.total_bytes;
    smallest.problem.rank = 1000;
    error = (struct error){0};
    assert_int_equal(backend_open(&b, kind, &x, &smallest, NULL, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.message, "rank 4 would fit"));
    smallest.problem.rank = 4;
    error = (struct error){0};
    assert_int_equal(backend_open(&b, kind, &x, &smallest, NULL, &error), STATUS_OK);
    backend_close(&b);
    coo_free(&x);
}

/* One sweep over two modes; every array that it takes may be refused. */
static enum status small_run(const struct backend_kind *kind, const struct coo *x,
                             const struct ktensor *k, const struct backend_options *setting,
                             struct error *error)
{
    struct backend b;
    struct backend_fit fit;
    enum status status = backend_open(&b, kind, x, setting, NULL, error);
    if (status == STATUS_OK)
        status = backend_load(&b, k, error);
    for (int n = 0; n < x->shape.order; n++) {
        if (status == STATUS_OK)
            status = backend_mttkrp(&b, n, error);
        if (status == STATUS_OK)
            status = backend_update(&b, n, error);
    }
    if (status == STATUS_OK)
        status = backend_fit(&b, x->shape.order - 1, NULL, &fit, error);
    backend_close(&b);
    return status;
}

static void check_allocation_fails(const struct backend_kind *kind, const struct coo *x,
                                   const struct ktensor *k, const struct backend_options *setting)
{
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        memory_hook_set(i);
        enum status status = small_run(kind, x, k, setting, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (fired && status == STATUS_OK) /* it went on with less, as a GPU may */
            assert_ptr_equal(kind, &backend_cuda);
        else
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
    }
    assert_true(failures > 10);
}

static void test_allocation_fails(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {30, 20};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(2, dims), 300, 1, 0);
    create_model(&k, &x, 3, 1);
    for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++)
        for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
            struct backend_options setting = {.problem.rank = k.rank, .conflict = c};
            if (set_flow(&setting, flow, kind, &x))
                check_allocation_fails(kind, &x, &k, &setting);
        }
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_infinite_factor),
        ON_ALL(test_bad_norm),
        ON_ALL(test_does_not_fit),
        ON_ALL(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
