/* The norms of the columns in the start, or of fixed modes, change only the weights: on every
 * backend and several numbers of ranks, in every precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "model/ktensor_match.h"
#include "support/rank_runs.h"

#define RANK 3

static const double lengths[] = {1, 60, 1e2, 1e4, 1e8};

struct length_case {
    struct mode_rules rules;
    int iterations;
    bool zero; /* the last component is zero */
};

static const struct length_case cases[] = {
    {{.fixed = {false, true, true}}, 3, false},
    {{.fixed = {false, false, true}}, 12, false},
    {{.fixed = {false}}, 12, false},
    {{.fixed = {true, true, false}}, 3, true},
    {{.fixed = {false, true, true}, .nonneg = {true, false, false}}, 40, false},
    {{.fixed = {false, false, true}, .nonneg = {true, true, true}}, 40, false},
};

/* A model of nearly unit columns without a negative entry. */
static void plant(struct ktensor *k)
{
    static const uint64_t dims[] = {15, 12, 18};
    struct error error = {0};
    assert_int_equal(ktensor_create(k, SHAPE(3, dims), RANK, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, 21);
    assert_int_equal(ktensor_arrange(k, &error), STATUS_OK);
    for (uint64_t r = 0; r < RANK; r++)
        k->lambda[r] = 5 - (double)r;
}

/* Every cell of the model, off by up to a tenth. */
static void fill_near(struct coo *x, const struct ktensor *k)
{
    struct error error = {0};
    const uint64_t *dims = k->shape.dims;
    uint64_t seed = 5;
    assert_int_equal(coo_create(x, &k->shape, dims[0] * dims[1] * dims[2], &error), STATUS_OK);
    for (uint64_t c = 0; c < x->nnz; c++) {
        const uint64_t at[] = {c / dims[2] / dims[1], c / dims[2] % dims[1], c % dims[2]};
        x->value[c] = 0;
        for (uint64_t r = 0; r < RANK; r++) {
            double product = k->lambda[r];
            for (int n = 0; n < 3; n++)
                product *= k->factor[n][at[n] * RANK + r];
            x->value[c] += product;
        }
        x->value[c] *= 1 + (double)(naive_random(&seed) % 200) / 1000 - 0.1;
        for (int n = 0; n < 3; n++)
            x->index[n][c] = (uint32_t)at[n];
    }
}

/* The planted model, moved a little where it is not fixed, and longer by `length` in the columns of
 * the first component, shorter by it in those of the second. The weights make up for that. */
static void start_from(struct ktensor *k, const struct ktensor *planted,
                       const struct length_case *of, double length)
{
    const double by[RANK] = {length, 1 / length, 1};
    struct error error = {0};
    uint64_t seed = 7;
    assert_int_equal(ktensor_create(k, &planted->shape, RANK, &error), STATUS_OK);
    for (uint64_t r = 0; r < RANK; r++)
        k->lambda[r] = planted->lambda[r] / (by[r] * by[r] * by[r]);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < k->shape.dims[n] * RANK; e++) {
            double moved = of->rules.fixed[n] ? 0 : (double)(naive_random(&seed) % 100) / 1000;
            bool zero = of->zero && e % RANK == RANK - 1;
            k->factor[n][e] = zero ? 0 : (planted->factor[n][e] + moved) * by[e % RANK];
        }
}

static struct cpals_result run(const struct coo *x, const struct ktensor *planted,
                               const struct length_case *of, struct backend_options options,
                               double length, struct ktensor *k)
{
    const struct cpals_options als = {.max_iterations = of->iterations};
    struct cpals_result result;
    struct error error = {0};
    options.problem.rules = of->rules;
    start_from(k, planted, of, length);
    if (run_from(x, k, &options, &als, &result, &error) != STATUS_OK)
        fail_msg("length %g: %s", length, error.message);
    memset(k->fixed, 0, sizeof k->fixed);
    assert_int_equal(ktensor_arrange(k, &error), STATUS_OK);
    return result;
}

/* The same fit and the same model from columns of any lengths. */
static void assert_alike(const struct backend_options *options, double near)
{
    struct ktensor planted;
    struct coo x;
    struct error error = {0};
    plant(&planted);
    fill_near(&x, &planted);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct ktensor of_unit;
        struct cpals_result expected = run(&x, &planted, &cases[c], *options, 1, &of_unit);
        assert_true(expected.fit > (cases[c].zero ? 0.3 : 0.9));
        for (size_t l = 1; l < sizeof lengths / sizeof *lengths; l++) {
            struct ktensor k;
            double score;
            struct cpals_result result = run(&x, &planted, &cases[c], *options, lengths[l], &k);
            assert_int_equal(ktensor_score(&k, &of_unit, 1, &score, NULL, &error), STATUS_OK);
            if (cases[c].zero) /* which no component of the other model matches */
                score += 1.0 / RANK;
            if (!(fabs(result.fit - expected.fit) < near && score > 1 - 20 * near))
                fail_msg("case %zu, length %g: fit %.9f, expected %.9f, score %.9f", c, lengths[l],
                         result.fit, expected.fit, score);
            assert_true(result.health.zero == expected.health.zero);
            ktensor_free(&k);
        }
        ktensor_free(&of_unit);
    }
    ktensor_free(&planted);
    coo_free(&x);
}

static void test_double(void **state)
{
    use_ranks(state);
    assert_alike(&(struct backend_options){.problem.rank = RANK}, 1e-10);
}

static void test_momentum(void **state)
{
    use_ranks(state);
    assert_alike(&(struct backend_options){.problem.rank = RANK,
                                           .problem.acceleration = ACCELERATE_MOMENTUM},
                 1e-10);
}

static void test_single(void **state)
{
    use_ranks(state);
    assert_alike(
        &(struct backend_options){.problem.rank = RANK, .problem.precision = POLICY_SINGLE}, 1e-5);
}

static void test_single_first(void **state)
{
    use_ranks(state);
    assert_alike(&(struct backend_options){.problem.rank = RANK, .problem.precision = POLICY_AUTO},
                 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_double),
        ON_RANKS(test_momentum),
        ON_RANKS(test_single),
        ON_RANKS(test_single_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
