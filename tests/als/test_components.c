/* What the components of a run's model explain, on every backend and number of ranks, against sums
 * cell by cell over the model that the run gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "support/data_tensors.h"
#include "support/naive_components.h"
#include "support/rank_runs.h"

static void check(const struct coo *x, const struct coo *known, const struct problem *p,
                  const struct cpals_options *als)
{
    const struct backend_options options = {.problem = *p};
    const bool single = p->precision == POLICY_SINGLE;
    struct ktensor k;
    run_random(x, &options, 5, als, &k);
    assert_components(known, &k, p, k.explained, k.lost, single ? 1e-5L : 1e-11L);
    ktensor_free(&k);
}

/* In the order of the model, which the backend arranges, or after the core consistency the host. */
static void test_oracle(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {
        {2, {30, 40}, 400, 0},
        {3, {25, 1, 60}, 500, 1},
        {3, {3, 400, 5}, 900, 0}, /* longer than the others */
        {5, {4, 9, 5, 6, 12}, 900, 1}};
    static const uint64_t ranks[] = {2, 5, 20};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int which = 0; which < COMPONENT_CASES; which++) {
            const struct tensor_case *t = &cases[c];
            const struct cpals_options als = {
                .max_iterations = 3, .components = true, .core_consistency = c % 2};
            struct problem p = {.rank = ranks[(c + (size_t)which) % 3]};
            struct coo x;
            if (under_test.ranks > 1 && ((int)c + which + under_test.ranks) % 2)
                continue;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
            make_component_case(which, &x, &p);
            check(&x, &x, &p, &als);
            p.precision = POLICY_SINGLE;
            check(&x, &x, &p, &als);
            coo_free(&x);
        }
}

/* Held-out entries are no part of the tensor. */
static void test_holdout(void **state)
{
    use_ranks(state);
    static const uint64_t first[MAX_ORDER];
    const struct cpals_options als = {.max_iterations = 4, .components = true};
    struct problem p = {.rank = 3, .unlisted.weighed = true, .holdout = {.2, 7}};
    struct coo x, known;
    bool chosen[900];
    for (int n = 0; n < 3; n++)
        p.rules.ridge[n] = .05;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){20, 15, 25})), 900, 2, 0);
    assert_true(x.nnz <= 900 && holdout_choose(&p.holdout, &x, first, chosen) > 100);
    known = x;
    known.value = calloc(x.nnz, sizeof *known.value);
    for (uint64_t i = 0; i < x.nnz; i++)
        known.value[i] = chosen[i] ? NAN : x.value[i];
    check(&x, &known, &p, &als);
    free(known.value);
    coo_free(&x);
}

/* Values whose squares are no numbers leave the shares as they are; without the option there are
 * none. */
static void test_scales(void **state)
{
    use_ranks(state);
    static const double scales[] = {1, 1e-200, 1e170, 1};
    const struct backend_options options = {.problem.rank = 3};
    struct ktensor k[4];
    for (int s = 0; s < 4; s++) {
        const struct cpals_options als = {.max_iterations = 5, .components = s < 3};
        struct coo x;
        naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){20, 30, 25})), 900, 2, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] *= scales[s];
        run_random(&x, &options, 5, &als, &k[s]);
        for (uint64_t r = 0; r < 3; r++) {
            assert_true(s < 3 ? k[s].explained[r] > 0 : isnan(k[s].explained[r]));
            assert_true(s < 3 ? fabs(k[s].explained[r] - k[0].explained[r]) < 1e-6
                              : isnan(k[s].lost[r]));
        }
        coo_free(&x);
    }
    for (int s = 0; s < 4; s++)
        ktensor_free(&k[s]);
}

/* Where the updates have converged, what is lost without a component is the square of its weight;
 * each component of a model of counts accounts for as many counts as its weight says. */
static void test_converged(void **state)
{
    use_ranks(state);
    const struct cpals_options als = {
        .max_iterations = 2000, .tolerance = 1e-12, .components = true};
    for (int counts = 0; counts < 2; counts++) {
        struct backend_options options = {.problem.rank = 2};
        struct ktensor k;
        struct coo x;
        options.problem.loss = counts ? LOSS_POISSON : LOSS_SQUARES;
        problem_complete_loss(&options.problem);
        read_data_tensor(&x, "data/ucb-admissions.tns");
        run_random(&x, &options, 5, &als, &k);
        for (uint64_t r = 0; r < k.rank; r++) {
            const double expected = counts ? k.lambda[r] / (k.lambda[0] + k.lambda[1])
                                           : k.lambda[r] * k.lambda[r] / coo_norm_sq(&x);
            const double found = counts ? k.explained[r] : k.lost[r];
            if (!(fabs(found - expected) < 1e-4))
                fail_msg("component %d: %.9g, expected %.9g", (int)r, found, expected);
        }
        assert_true(!counts || fabs(k.explained[0] + k.explained[1] - 1) < 1e-12);
        ktensor_free(&k);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_RANKS(test_oracle),
                                       ON_RANKS(test_holdout),
                                       ON_RANKS(test_scales),
                                       ON_RANKS(test_converged),
                                       ON_FLOW(test_oracle, IN_MANY_BATCHES),
                                       ON_FLOW(test_oracle, IN_PART)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
