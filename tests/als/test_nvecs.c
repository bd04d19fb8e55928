/* Starts from sketched singular vectors, on every backend and on several ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/decompose.h"
#include "model/factor_columns.h"
#include "support/rank_runs.h"

/* The dense tensor of this model. */
static void create_tensor_of(struct coo *x, const struct ktensor *k)
{
    struct error error = {0};
    const uint64_t *dims = k->shape.dims;
    assert_int_equal(coo_create(x, &k->shape, dims[0] * dims[1] * dims[2], &error), STATUS_OK);
    for (uint64_t i = 0; i < x->nnz; i++) {
        const uint64_t at[] = {i / (dims[1] * dims[2]), i / dims[2] % dims[1], i % dims[2]};
        x->value[i] = 0;
        for (int n = 0; n < 3; n++)
            x->index[n][i] = (uint32_t)at[n];
        for (uint64_t r = 0; r < k->rank; r++)
            x->value[i] += k->factor[0][at[0] * k->rank + r] * k->factor[1][at[1] * k->rank + r] *
                           k->factor[2][at[2] * k->rank + r];
    }
}

static void sketch(struct ktensor *k, const struct backend_kind *kind, const struct coo *x,
                   uint64_t rank)
{
    struct error error = {0};
    struct backend b;
    open_backend(&b, kind, x, rank, CONFLICT_AUTO);
    assert_int_equal(ktensor_create(k, &x->shape, rank, &error), STATUS_OK);
    if (nvecs_start(k, &b, 3, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    backend_close(&b);
}

/* Where the unfoldings have as many singular values as there are components, the vectors are
 * orthonormal and span the columns of the factor matrices. */
static void test_low_rank(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct ktensor model, k;
    struct coo x;
    double gram[9], product[9];
    assert_int_equal(ktensor_create(&model, &(struct shape){3, {12, 15, 9}}, 3, &error), STATUS_OK);
    ktensor_randomise(&model, KTENSOR_NORMAL, 8);
    create_tensor_of(&x, &model);
    sketch(&k, kind, &x, 3);
    for (int n = 0; n < 3; n++) {
        uint64_t rows = x.shape.dims[n];
        const struct factor_rows found_rows = {.a = k.factor[n], .rows = rows, .rank = 3};
        const struct factor_rows model_rows = {.a = model.factor[n], .rows = rows, .rank = 3};
        assert_int_equal(factor_columns_products(&found_rows, &found_rows, gram, &error),
                         STATUS_OK);
        for (int i = 0; i < 9; i++)
            assert_true(fabs(gram[i] - (i % 4 == 0)) < 1e-8);
        assert_int_equal(factor_columns_products(&model_rows, &found_rows, product, &error),
                         STATUS_OK);
        for (int r = 0; r < 3; r++) { /* a column of the model is the sum of its projections */
            double norm_sq = 0, found = 0;
            for (uint64_t i = 0; i < rows; i++)
                norm_sq +=
                    model.factor[n][i * 3 + (uint64_t)r] * model.factor[n][i * 3 + (uint64_t)r];
            for (int s = 0; s < 3; s++)
                found += product[r * 3 + s] * product[r * 3 + s];
            assert_true(fabs(found - norm_sq) < 1e-8 * norm_sq);
        }
    }
    ktensor_free(&k);
    ktensor_free(&model);
    coo_free(&x);
}

/* Of a tensor of one component, the first vector is that component's, and the others, of which
 * there are none, are multiples of it. */
static void test_fewer_vectors(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct ktensor model, k;
    struct coo x;
    assert_int_equal(ktensor_create(&model, &(struct shape){3, {6, 7, 2}}, 1, &error), STATUS_OK);
    ktensor_randomise(&model, KTENSOR_RANDOM, 8);
    create_tensor_of(&x, &model);
    sketch(&k, kind, &x, 4);
    for (int n = 0; n < 3; n++)
        for (uint64_t r = 0; r < 4; r++) {
            double inner = 0, norm_sq = 0, other = 0;
            for (uint64_t i = 0; i < x.shape.dims[n]; i++) {
                inner += k.factor[n][i * 4 + r] * model.factor[n][i];
                norm_sq += model.factor[n][i] * model.factor[n][i];
                other += k.factor[n][i * 4 + r] * k.factor[n][i * 4 + r];
            }
            assert_true(other > 0);
            assert_true(fabs(inner * inner - norm_sq * other) < 1e-8 * norm_sq * other);
        }
    ktensor_free(&k);
    ktensor_free(&model);
    coo_free(&x);
}

/* A run from this start, on the ranks under test. */
static enum status run_sketched(const struct coo *x, const struct backend_options *options,
                                const struct cpals_options *als, struct ktensor *k,
                                struct cpals_result *result, struct error *error)
{
    if (under_test.ranks == 1) {
        struct backend b = {0};
        if (ktensor_create(k, &x->shape, options->problem.rank, error) == STATUS_OK &&
            backend_open(&b, under_test.kind, x, options, NULL, error) == STATUS_OK &&
            nvecs_start(k, &b, 3, NULL, error) == STATUS_OK)
            run_als(&b, k, als, result, error);
        backend_close(&b);
        return error->status;
    }
    struct together t = make_together(under_test.kind, x, NULL, options, NULL, als);
    t.list.guess = (struct initial_guess){.kind = GUESS_NVECS, .seed = 3};
    run_together(&t, under_test.ranks, error);
    *k = t.model;
    *result = t.result;
    return error->status;
}

/* Every number of ranks begins alike. */
static void test_ranks(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {
        {3, {30, 20, 25}, 900, 0}, {3, {700, 52, 900}, 4000, 0}, {4, {9, 1, 17, 20}, 900, 1}};
    for (size_t c = 0; c < 3; c++) {
        const struct backend_options options = {.problem.rank = 4};
        const struct cpals_options als = {.max_iterations = 2};
        const struct ranked ranks = under_test;
        struct error error = {0};
        struct cpals_result result, alone;
        struct coo x;
        struct ktensor k, of_one;
        naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                         cases[c].skewed);
        if (run_sketched(&x, &options, &als, &k, &result, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        under_test = (struct ranked){.kind = &backend_host, .ranks = 1};
        assert_int_equal(run_sketched(&x, &options, &als, &of_one, &alone, &error), STATUS_OK);
        under_test = ranks;
        assert_true(fabs(result.fit - alone.fit) < 1e-9);
        assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-9L);
        ktensor_free(&of_one);
        ktensor_free(&k);
        coo_free(&x);
    }
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2, .host_memory = 1 << 28};
    const struct cpals_options als = {.max_iterations = 1};
    struct coo x;
    int failures = 0;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 100, 1, 0);
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        struct cpals_result result;
        struct ktensor k = {0};
        memory_hook_set(i);
        enum status status = run_sketched(&x, &options, &als, &k, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        ktensor_free(&k);
    }
    assert_true(failures > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_low_rank),
        ON_ALL(test_fewer_vectors),
        ON_RANKS(test_ranks),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
