/* The model of a run is that of its best iteration, however the run ends and goes on: on every
 * backend and several ranks. In place of rounding that hides falls, which takes thousands of
 * iterations to bring a model down, the backend under test spoils the model of one sweep and says
 * that its fits are blind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/checkpoint_runs.h"

#define SPOILED 4 /* the sweep whose model is spoiled */

static const uint64_t dims[] = {9, 8, 7};

static const struct backend_kind *real; /* what does the work      */
static _Thread_local int sweeps;        /* of this rank's run      */
static int begun_with;                  /* sweeps, before the run  */

static enum status load(void *state, const struct model_source *from, struct error *error)
{
    sweeps = begun_with;
    return real->ops->load(state, from, error);
}

static enum status spoil(void *state, struct error *error)
{
    const double lambda[] = {1, 1, 1, 1};
    const struct model_source from = {.init = KTENSOR_RANDOM, .seed = 9, .lambda = lambda};
    return real->ops->load(state, &from, error);
}

static enum status fit(void *state, int mode, const struct momentum *m, struct backend_fit *f,
                       struct error *error)
{
    TRY(real->ops->fit(state, mode, NULL, f, error));
    f->noise = 1;
    backend_fit_decide(f, m);
    return ++sweeps == SPOILED ? spoil(state, error) : STATUS_OK;
}

static struct backend_ops ops;
static struct backend_kind spoiling;

static void use_spoiling(void **state, int before)
{
    use_ranks(state);
    real = under_test.kind;
    ops = *real->ops;
    ops.load = load;
    ops.fit = fit;
    spoiling = *real;
    spoiling.ops = &ops;
    under_test.kind = &spoiling;
    begun_with = before;
}

static void make_tensor(struct coo *x)
{
    naive_random_coo(x, SHAPE(3, dims), 200, 4, 0);
}

static void check_model(const struct coo *x, const struct ktensor *k, double fit_of_model)
{
    assert_true(fabsl(naive_fit(x, k) - (long double)fit_of_model) < 1e-9L);
}

/* The fit of the best model of a run that is not spoiled and stops before SPOILED. */
static double best_fit(const struct coo *x, const struct backend_options *options)
{
    struct ktensor k;
    const struct cpals_options als = {.max_iterations = SPOILED - 1};
    struct cpals_result result = run_random(x, options, 3, &als, &k);
    assert_int_equal(result.best_iteration, 0);
    ktensor_free(&k);
    return result.fit;
}

/* The run ends with the model of the previous iteration, for any options. */
static void test_spoiled(void **state)
{
    static const struct backend_options options[] = {
        {.problem.rank = 3},
        {.problem.rank = 3, .problem.acceleration = ACCELERATE_MOMENTUM},
        {.problem.rank = 3, .problem.rules = {.nonneg = {true, true, true}}},
        {.problem.rank = 3, .problem.rules = {.ridge = {0.1, 0.1, 0.1}, .fixed = {false, true}}}};
    struct coo x;
    use_spoiling(state, 0);
    make_tensor(&x);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int check_every = 0; check_every < 2; check_every++) {
            struct ktensor k;
            struct fit_trace trace = {0};
            const struct cpals_options als = {.max_iterations = SPOILED,
                                              .check_every = check_every,
                                              .tolerance = check_every ? 1e-12 : 0,
                                              .trace = &trace};
            struct cpals_result result = run_random(&x, &options[i], 3, &als, &k);
            assert_int_equal(result.iterations, SPOILED);
            assert_int_equal(result.best_iteration, SPOILED - 1);
            assert_true(result.trust.falls == 1 && result.trust.exact);
            assert_true(result.fit == trace.fit[SPOILED - 2]);
            assert_true(trace.fit[SPOILED - 1] < result.fit - 0.01);
            assert_true(fabs(result.fit - best_fit(&x, &options[i])) < 1e-9);
            check_model(&x, &k, result.fit);
            ktensor_free(&k);
            fit_trace_free(&trace);
        }
    coo_free(&x);
}

/* A better model that comes later counts. */
static void test_better_later(void **state)
{
    use_spoiling(state, 0);
    struct coo x;
    struct ktensor k;
    const struct backend_options options = {.problem.rank = 3,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options als = {.max_iterations = 60};
    make_tensor(&x);
    const double before = best_fit(&x, &options);
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_true(result.fit > before);
    check_model(&x, &k, result.fit);
    ktensor_free(&k);
    coo_free(&x);
}

/* A checkpoint keeps the best model: a run that goes on from it, with as many ranks or one, ends
 * with that model where none is better. */
static void test_resume(void **state)
{
    for (int momentum = 0; momentum < 2; momentum++) {
        struct coo x;
        struct ktensor k;
        const char *path = scratch_path("checkpoint");
        const struct backend_options options = {
            .problem.rank = 3,
            .problem.acceleration = momentum == 1 ? ACCELERATE_MOMENTUM : ACCELERATE_OFF};
        use_spoiling(state, 0);
        make_tensor(&x);
        struct checkpoint_options saving = save_to(path, &x, &options);
        const struct cpals_options als = {.max_iterations = SPOILED, .saving = &saving};
        struct cpals_result stopped = run_random(&x, &options, 3, &als, &k);
        assert_int_equal(stopped.best_iteration, SPOILED - 1);
        ktensor_free(&k);
        begun_with = SPOILED;
        const int ranks = under_test.ranks;
        for (int alone = 0; alone < 2; alone++) {
            under_test.ranks = alone ? 1 : ranks;
            struct cpals_result result = go_on_from(&x, &options, path, SPOILED, &k);
            assert_int_equal(result.best_iteration, SPOILED - 1);
            assert_true(result.fit == stopped.fit);
            check_model(&x, &k, result.fit);
            ktensor_free(&k);
            result = go_on_from(&x, &options, path, SPOILED + 1, &k);
            assert_true(result.fit >= stopped.fit);
            check_model(&x, &k, result.fit);
            ktensor_free(&k);
        }
        coo_free(&x);
    }
}

/* Two columns that are nearly the same in each mode, of more components than the tensor needs. */
static void make_collinear(struct coo *x)
{
    static const uint64_t lengths[] = {3, 2, 8};
    struct error error = {0};
    uint64_t seed = 7;
    double column[3][8], other[3][8];
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < 8; i++) {
            column[n][i] = (double)(naive_random(&seed) >> 11) * 0x1p-52 - 1;
            other[n][i] = column[n][i] + 1e-3 * ((double)(naive_random(&seed) >> 11) * 0x1p-52 - 1);
        }
    assert_int_equal(coo_create(x, SHAPE(3, lengths), 48, &error), STATUS_OK);
    for (uint32_t e = 0; e < 48; e++) {
        const uint32_t at[] = {e / 16, e / 8 % 2, e % 8};
        double products[] = {1, 1};
        for (int n = 0; n < 3; n++) {
            x->index[n][e] = at[n];
            products[0] *= column[n][at[n]];
            products[1] *= other[n][at[n]];
        }
        x->value[e] = products[0] + products[1];
    }
}

/* Where V is nearly singular, sweeps of a good fit fall by up to a hundredth, though no fit is
 * blind. The model that is written is as good as the best one. */
static void test_falls(void **state)
{
    use_ranks(state);
    struct coo x;
    int falls = 0;
    make_collinear(&x);
    for (int momentum = 0; momentum < 2; momentum++)
        for (int most = 40; most < 52; most++) {
            const struct backend_options options = {
                .problem = {.rank = 9,
                            .acceleration = momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF}};
            struct ktensor k;
            struct fit_trace trace = {0};
            const struct cpals_options als = {
                .max_iterations = most, .check_every = 1, .trace = &trace};
            const struct cpals_result result = run_random(&x, &options, 3, &als, &k);
            double best = 0;
            for (size_t i = 0; i < trace.count; i++)
                best = fmax(best, trace.fit[i]);
            falls += result.trust.falls;
            if (!(result.fit >= best - 1e-8))
                fail_msg("momentum %d, %d iterations: fit %.12f, best %.12f", momentum, most,
                         result.fit, best);
            check_model(&x, &k, result.fit);
            fit_trace_free(&trace);
            ktensor_free(&k);
        }
    assert_true(falls > 0 || under_test.kind != &backend_host); /* a GPU rounds otherwise */
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    use_spoiling(state, 0);
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = SPOILED};
    struct coo x;
    make_tensor(&x);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_spoiled),
        ON_RANKS(test_better_later),
        ON_RANKS(test_falls),
        IN_FOLDER(test_resume),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
