/* The values of a backend's model at coordinates, on every backend, against the sum
 * of products; another ridge; the memory of held-out entries. */
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
#include "ranks/rank_tensor.h"
#include "support/backends.h"
#include "support/naive_rows.h"

/* After a sweep: the values at x are those of the stored model, and reading them changes nothing.
 */
static void check(const struct backend_kind *kind, const struct coo *x,
                  const struct backend_options *options, double scale)
{
    const bool single = options->problem.precision == POLICY_SINGLE;
    const long double tolerance = single ? 1e-5L : 1e-12L;
    struct error error = {0};
    struct backend b;
    struct ktensor k, before;
    double *value = memory_array(x->nnz, sizeof *value, &error);
    create_model(&k, x, options->problem.rank, 3);
    create_model(&before, x, options->problem.rank, 3);
    open_setting(&b, kind, x, options);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    sweep_modes(&b);
    assert_int_equal(backend_store(&b, &before, &error), STATUS_OK);
    assert_int_equal(backend_values(&b, x, value, &error), STATUS_OK);
    assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
    assert_memory_equal(k.lambda, before.lambda, k.rank * sizeof *k.lambda);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t at[MAX_ORDER];
        naive_rows_at(x, i, at);
        long double size, expected = naive_model_terms(&k, at, &size);
        if (!(fabsl(value[i] - expected) <= tolerance * (size + (long double)scale)))
            fail_msg("entry %d: %.17g instead of %.17Lg", (int)i, value[i], expected);
    }
    omp_set_num_threads(3);
    double *again = memory_array(x->nnz, sizeof *again, &error);
    assert_int_equal(backend_values(&b, x, again, &error), STATUS_OK);
    assert_memory_equal(again, value, x->nnz * sizeof *value);
    omp_set_num_threads(2);
    memory_free(again);
    memory_free(value);
    ktensor_free(&k);
    ktensor_free(&before);
    backend_close(&b);
}

static void test_values(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {{1, {900}, 300, 0},
                                               {2, {30, 40}, 500, 0},
                                               {3, {20, 1, 60}, 700, 1},
                                               {4, {9, 8, 7, 20}, 1500, 0},
                                               {6, {4, 3, 5, 2, 6, 4}, 700, 0}};
    static const uint64_t ranks[] = {1, 7, 16, 33, 70};
    static const double scales[] = {1, 1e-150, 1e120};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            for (int s = 0; s < 3; s++) {
                const struct tensor_case *t = &cases[c];
                struct backend_options options = {.problem.rank = ranks[r]};
                struct coo x;
                if (kind->devices && ranks[r] > 64) /* more than systems of rows have there */
                    continue;
                options.problem.unlisted = (struct unlisted){.weighed = true, .weight = s ? .5 : 0};
                options.problem.rules = same_ridge(.1);
                naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
                for (uint64_t i = 0; i < x.nnz; i++)
                    x.value[i] *= scales[s];
                check(kind, &x, &options, 0);
                options.problem.precision = POLICY_SINGLE;
                check(kind, &x, &options, scales[s]);
                coo_free(&x);
            }
}

/* A backend that takes a ridge works as one that was opened with it. */
static void test_ridge(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct backend_options options = {.problem.rank = 4};
    struct error error = {0};
    struct backend b;
    struct coo x;
    double fit[2];
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){20, 30, 25})), 900, 2, 0);
    options.problem.unlisted.weighed = true;
    for (int i = 0; i < 2; i++) {
        options.problem.rules = same_ridge(i ? .7 : 3);
        open_setting(&b, kind, &x, &options);
        if (i == 0)
            backend_take_ridge(&b, .7);
        assert_true(b.options.problem.rules.ridge[2] == .7);
        assert_int_equal(backend_randomise(&b, KTENSOR_RANDOM, 5, &error), STATUS_OK);
        fit[i] = sweep_modes(&b);
        backend_close(&b);
    }
    assert_true(fit[0] == fit[1] && fit[0] > 0);
    coo_free(&x);
}

static void test_plan(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const struct backend_options options = {.problem.rank = 4};
    struct plan_tensor tensor = {.shape = {3, {200, 300, 250}}, .nnz = 9000};
    struct error error = {0};
    struct plan without, with;
    assert_int_equal(backend_plan(&without, kind, &tensor, &options, &error), STATUS_OK);
    tensor.holdout_entries = 1000;
    assert_int_equal(backend_plan(&with, kind, &tensor, &options, &error), STATUS_OK);
    /* they are in host memory, which a GPU's plan does not count */
    const uint64_t holdout = kind->devices ? 0 : holdout_set_bytes(3, 1000);
    assert_true(with.total_bytes == without.total_bytes + holdout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_values), ON_ALL(test_ridge), ON_ALL(test_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
