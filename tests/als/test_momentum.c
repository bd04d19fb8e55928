/* Accelerated runs, on every backend and on several ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "selftest/known_tensors.h"
#include "support/naive_momentum.h"
#include "support/rank_runs.h"

#define SWEEPS 40

static const uint64_t small[] = {9, 8, 7}, grouped[] = {4, 5, 30, 20}, middling[] = {90, 80, 70};

/* A random start, and a trace of the fits, which the caller frees. */
static struct cpals_result run_traced(const struct coo *x, const struct backend_options *options,
                                      struct cpals_options als, struct fit_trace *trace,
                                      struct ktensor *k)
{
    *trace = (struct fit_trace){0};
    als.trace = trace;
    return run_random(x, options, 3, &als, k);
}

static void assert_never_falls(const struct fit_trace *trace)
{
    for (size_t i = 1; i < trace->count; i++)
        assert_true(trace->fit[i] >= trace->fit[i - 1] - 1e-12);
}

static bool close_fits(double a, double b)
{
    return fabs(a - b) < 1e-8;
}

/* The whole sequence of fits, and the sweeps that are rejected, are the oracle's. Returns how
 * many these are. */
static int check_oracle(const struct coo *x, const struct backend_options *options)
{
    struct error error = {0};
    struct ktensor k, naive;
    struct fit_trace trace;
    const struct cpals_options als = {.max_iterations = SWEEPS};
    struct cpals_result result = run_traced(x, options, als, &trace, &k);
    assert_int_equal(ktensor_create(&naive, &x->shape, options->problem.rank, &error), STATUS_OK);
    ktensor_randomise(&naive, KTENSOR_RANDOM, 3);
    struct naive_run run = naive_momentum(x, &naive, &options->problem.rules, SWEEPS);
    assert_int_equal(trace.count, SWEEPS);
    for (int i = 0; i + 1 < SWEEPS; i++)
        if (!close_fits(trace.fit[i], run.fit[i]))
            fail_msg("sweep %d: %.15g, expected %.15g", i + 1, trace.fit[i], run.fit[i]);
    assert_true(result.fit >= run.fit[SWEEPS - 1] - 1e-8);
    assert_int_equal(result.restarts, run.restarts);
    ktensor_free(&naive);
    ktensor_free(&k);
    fit_trace_free(&trace);
    return run.restarts;
}

/* Dense and sparse, with and without mode groups. */
static void test_oracle(void **state)
{
    use_ranks(state);
    int restarts = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(3, small), 100, seed + 1, 0);
        restarts +=
            check_oracle(&x, &(struct backend_options){
                                 .problem.rank = 3, .problem.acceleration = ACCELERATE_MOMENTUM});
        coo_free(&x);
    }
    assert_true(restarts > 0);
    for (int alone = 0; alone < 2; alone++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(4, grouped), 1500, 5, 0);
        check_oracle(&x, &(struct backend_options){.problem.rank = 4,
                                                   .problem.acceleration = ACCELERATE_MOMENTUM,
                                                   .no_sharing = alone == 1});
        coo_free(&x);
    }
}

/* Nonnegative modes are solved for from what they are: the first one counts, too. With a ridge, the
 * objective counts. */
static void test_oracle_of_rules(void **state)
{
    use_ranks(state);
    static const struct mode_rules rules[] = {{.nonneg = {true, true, true}},
                                              {.nonneg = {false, true, false}},
                                              {.ridge = {0.5, 0.5, 0.5}},
                                              {.nonneg = {true}, .ridge = {0.1, 0.1, 0.1}},
                                              {.fixed = {true}},
                                              {.fixed = {false, false, true}, .nonneg = {true}}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(3, small), 300, 7, 0);
        for (uint64_t e = 0; e < x.nnz; e++)
            x.value[e] = fabs(x.value[e]);
        check_oracle(&x, &(struct backend_options){.problem.rank = 3,
                                                   .problem.acceleration = ACCELERATE_MOMENTUM,
                                                   .problem.rules = rules[i]});
        coo_free(&x);
    }
}

/* Wherever the limit of iterations ends the run, the model is the best so far, and its weights
 * belong to it: after a rejected sweep, too. */
static void test_every_end(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 4,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    struct coo x;
    int before = 0, ended_rejected = 0;
    double best = 0;
    const double between_runs = under_test.kind == &backend_host ? 1e-12 : 1e-8; /* sums vary */
    const int step = under_test.kind->devices && under_test.ranks > 1 ? 5 : 1;   /* meet slowly */
    naive_random_coo(&x, SHAPE(3, small), 100, 2, 0);
    for (int limit = 1; limit <= SWEEPS; limit += step) {
        struct ktensor k;
        struct fit_trace trace;
        const struct cpals_options als = {.max_iterations = limit};
        struct cpals_result result = run_traced(&x, &options, als, &trace, &k);
        assert_int_equal(result.iterations, limit);
        assert_never_falls(&trace);
        assert_true(trace.fit[trace.count - 1] == result.fit);
        assert_true(result.fit >= best - between_runs);
        assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-11L);
        assert_int_equal(result.trust.falls, 0);
        ended_rejected += result.restarts > before;
        before = result.restarts;
        best = result.fit;
        ktensor_free(&k);
        fit_trace_free(&trace);
    }
    assert_true(ended_rejected > 0);
    coo_free(&x);
}

/* Without momentum a run is the sweeps, one after the other, to the bit. */
static void test_off(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor k, plain;
    struct backend b;
    struct backend_fit fit = {0};
    double last = 0, change = 1;
    int sweeps = 0;
    const struct backend_options options = {.problem.rank = 4};
    const struct cpals_options als = {.max_iterations = 200, .tolerance = 1e-4};
    if (under_test.ranks > 1)
        skip(); /* the loop below has one rank */
    naive_random_coo(&x, SHAPE(3, small), 400, 2, 0);
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    create_model(&plain, &x, 4, 3);
    ktensor_randomise(&plain, KTENSOR_RANDOM, 3);
    open_backend(&b, under_test.kind, &x, 4, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, &plain, &error), STATUS_OK);
    for (; sweeps < 2 || fabs(change) >= als.tolerance; sweeps++) {
        assert_int_equal(cpals_sweep(&b, NULL, &fit, &error), STATUS_OK);
        change = fit.value - last;
        last = fit.value;
    }
    assert_int_equal(backend_store(&b, &plain, &error), STATUS_OK);
    assert_int_equal(ktensor_arrange(&plain, &error), STATUS_OK);
    assert_int_equal(result.iterations, sweeps);
    bool bits = under_test.kind == &backend_host;
    assert_true(bits ? result.fit == fit.value : fabs(result.fit - fit.value) < 1e-12);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < x.shape.dims[n] * 4; e++)
            assert_true(bits ? k.factor[n][e] == plain.factor[n][e]
                             : fabs(k.factor[n][e] - plain.factor[n][e]) < 1e-8);
    backend_close(&b);
    ktensor_free(&plain);
    ktensor_free(&k);
    coo_free(&x);
}

/* Two runs are the same, and a start after another start is the same as alone. */
static void test_again(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct cpals_result alone[2];
    const struct backend_options options = {.problem.rank = 4,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options als = {.max_iterations = SWEEPS};
    bool bits = under_test.kind == &backend_host;
    naive_random_coo(&x, SHAPE(3, small), 400, 2, 0);
    for (uint64_t s = 0; s < 2; s++) {
        alone[s] = run_random(&x, &options, 3 + s, &als, &k);
        ktensor_free(&k);
        double again = run_random(&x, &options, 3 + s, &als, &k).fit;
        assert_true(bits ? again == alone[s].fit : close_fits(again, alone[s].fit));
        ktensor_free(&k);
    }
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &als);
    t.list.guess.seed = 3;
    t.list.starts = 2;
    if (run_together(&t, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (int s = 0; s < 2; s++) {
        double fit = t.account.starts[0].start[s].result.fit;
        assert_true(bits ? fit == alone[s].fit : close_fits(fit, alone[s].fit));
        ktensor_free(&t.models[s]);
    }
    runs_free(&t.account);
    coo_free(&x);
}

/* Fits from the residual change nothing else: the others decide what is rejected. */
static void test_checks(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    const struct backend_options options = {.problem.rank = 4,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    struct cpals_options als = {.max_iterations = SWEEPS};
    naive_random_coo(&x, SHAPE(3, small), 400, 2, 0);
    struct cpals_result plain = run_random(&x, &options, 3, &als, &k);
    ktensor_free(&k);
    als.check_every = 3;
    struct cpals_result checked = run_random(&x, &options, 3, &als, &k);
    assert_true(checked.trust.checks > SWEEPS / 6 && checked.trust.exact);
    assert_true(checked.trust.error < 1e-12);
    assert_true(close_fits(checked.fit, plain.fit));
    assert_int_equal(checked.restarts, plain.restarts);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)checked.fit) < 1e-12L);
    ktensor_free(&k);
    coo_free(&x);
}

/* Near an exact model the fit is noise: nothing has fallen, and the run ends. */
static void test_exact_model(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor k, planted;
    const struct backend_options options = {.problem.rank = 2,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options als = {.max_iterations = 300, .tolerance = 1e-9};
    assert_int_equal(ktensor_create(&planted, SHAPE(3, small), 2, &error), STATUS_OK);
    ktensor_randomise(&planted, KTENSOR_RANDOM, 12);
    assert_int_equal(known_planted(&x, &planted, &error), STATUS_OK);
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_true(result.fit > 1 - 1e-5);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-8L);
    ktensor_free(&planted);
    ktensor_free(&k);
    coo_free(&x);
}

/* A component that is zero stays so, and no V can be inverted: a GPU repeats what it has queued. */
static void test_zero_component(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct cpals_result result;
    struct fit_trace trace = {0};
    const struct backend_options options = {.problem.rank = 4,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options als = {.max_iterations = SWEEPS, .trace = &trace};
    naive_random_coo(&x, SHAPE(3, small), 400, 2, 0);
    assert_int_equal(ktensor_create(&k, &x.shape, 4, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 3);
    for (uint64_t i = 0; i < x.shape.dims[1]; i++)
        k.factor[1][4 * i + 2] = 0;
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_OK);
    assert_never_falls(&trace);
    assert_int_equal(result.health.zero, 1);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-10L);
    ktensor_free(&k);
    fit_trace_free(&trace);
    coo_free(&x);
}

/* Wherever the nonzeros are, and in single precision where there is such, as far as that goes. */
static void test_flows(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    double fit[FLOWS][2] = {{0}};
    naive_random_coo(&x, SHAPE(3, middling), 3000, 2, 0);
    for (int single = 0; single < (kind->devices ? 2 : 1); single++)
        for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
            struct ktensor k;
            struct backend b;
            struct cpals_result result;
            const struct cpals_options als = {.max_iterations = 15};
            struct backend_options s = {.problem.rank = 5,
                                        .problem.acceleration = ACCELERATE_MOMENTUM,
                                        .problem.precision =
                                            single ? POLICY_SINGLE : POLICY_DOUBLE};
            if (!set_flow(&s, flow, kind, &x))
                continue;
            create_model(&k, &x, 5, 3);
            if (backend_open(&b, kind, &x, &s, NULL, &error) != STATUS_OK ||
                run_als(&b, &k, &als, &result, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            fit[flow][single] = result.fit;
            assert_true(fabs(result.fit - fit[IN_MEMORY][0]) < (single ? 1e-3 : 1e-8));
            assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) <
                        (single ? 1e-5L : 1e-11L));
            backend_close(&b);
            ktensor_free(&k);
        }
    coo_free(&x);
}

/* Rows that are longer than what a GPU keeps in registers. */
static void test_many_components(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    struct fit_trace trace;
    const struct backend_options options = {.problem.rank = 70,
                                            .problem.acceleration = ACCELERATE_MOMENTUM,
                                            .problem.rules = same_ridge(0.01)};
    const struct cpals_options als = {.max_iterations = 12};
    naive_random_coo(&x, SHAPE(3, middling), 3000, 2, 0);
    struct cpals_result result = run_traced(&x, &options, als, &trace, &k);
    assert_true(trace.fit[11] > trace.fit[5]);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-10L);
    fit_trace_free(&trace);
    ktensor_free(&k);
    coo_free(&x);
}

/* Where one rank has no room for momentum, no rank has momentum. */
static void test_room(void **state)
{
    static const uint64_t dims[] = {3000, 2000, 1000};
    const struct ranked *on = *state;
    struct coo x;
    const struct cpals_options als = {.max_iterations = 12};
    struct backend_options options = {.problem.rank = 32, .problem.acceleration = ACCELERATE_AUTO};
    double fit[2] = {0}; /* of plain iterations, and with momentum */
    bool refused = false, had[2] = {false};
    use_ranks(state);
    naive_random_coo(&x, SHAPE(3, dims), 3000, 2, 0);
    for (int momentum = 0; momentum < 2; momentum++) {
        options.problem.acceleration = momentum == 1 ? ACCELERATE_AUTO : ACCELERATE_OFF;
        struct together t = make_together(on->kind, &x, NULL, &options, NULL, &als);
        struct error error = {0};
        assert_int_equal(run_together(&t, on->ranks, &error), STATUS_OK);
        assert_true(t.result.momentum == (momentum == 1));
        fit[momentum] = t.result.fit;
        ktensor_free(&t.model);
    }
    assert_true(fit[0] != fit[1]);
    for (uint64_t kib = 400; kib < 6400; kib += 100) {
        struct together t = make_together(on->kind, &x, NULL, &options, NULL, &als);
        struct error error = {0};
        t.host_memory[on->ranks - 1] = kib << 10;
        refused = run_together(&t, on->ranks, &error) != STATUS_OK;
        if (refused) {
            assert_int_equal(error.status, STATUS_MEMORY);
            assert_false(had[0] || had[1]);
            continue;
        }
        assert_true(t.result.momentum || !had[1]);
        assert_true(t.result.fit == fit[t.result.momentum]);
        had[t.result.momentum] = true;
        ktensor_free(&t.model);
    }
    assert_true(had[0] && had[1]);
    coo_free(&x);
}

static bool is_plain(const struct momentum_step *step)
{
    return step->now == 1 && step->before == 0;
}

static bool goes_beyond(const struct momentum_step *step)
{
    return step->now > 1 && step->before < 0;
}

static bool rejects(const struct momentum_step *step)
{
    return step->now == 0 && step->before == 1;
}

/* The b of the step after a sweep that gains so much. */
static double step_after(struct momentum *m, double gain)
{
    struct momentum_step step = momentum_next(m, m->objective + gain, 1e-15);
    assert_true(is_plain(&step) || goes_beyond(&step));
    assert_true(fabs(step.now + step.before - 1) < 1e-15);
    return -step.before;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) < 1e-9))
        fail_msg("%.15g, expected %.15g", a, b);
}

/* After five plain sweeps b grows; after a fast sweep, t is at most .06 / sqrt(gain). */
static void test_decision(void **state)
{
    (void)state;
    struct momentum m = momentum_start(PRECISION_DOUBLE, 0);
    struct momentum_step step;
    double objective;
    for (int i = 1; i <= 5; i++)
        assert_near(step_after(&m, 5e-5), 0);
    for (int t = 1; t <= 8; t++)
        assert_near(step_after(&m, 5e-5), 1 - 1. / t);
    assert_near(step_after(&m, 4e-4), 2 / 3.);    /* t = 3 */
    assert_near(step_after(&m, 9e-5), 3 / 4.);    /* not fast */
    assert_near(step_after(&m, 9e-4), 1 / 2.);    /* t = 2 */
    assert_near(step_after(&m, 1.44e-4), 2 / 3.); /* t = 3, where 5 would be allowed */
    assert_near(step_after(&m, 4e-3), 0);
    assert_true(m.t == 1 && m.extrapolated == 0 && m.restarts == 0);
    for (int i = 0; i < 3; i++)
        step_after(&m, 1e-6);
    objective = m.objective;
    step = momentum_next(&m, objective - 1e-3, 1e-15);
    assert_true(rejects(&step) && m.rejected && m.restarts == 1 && m.t == 1);
    assert_true(m.objective == objective);
    assert_near(step_after(&m, 1e-6), 0);
    assert_true(!m.rejected && !m.extrapolated);
}

/* Where rows have systems of their own, b follows Nesterov's sequence: of an infinite reach, no
 * gain limits it; of reach 0, a plain sweep follows each fast one. */
static void test_decision_of_rows(void **state)
{
    (void)state;
    static const double sequence[] = {1, 1.618033988749895, 2.193527085331054, 2.749791340120445};
    for (int limited = 0; limited < 2; limited++) {
        struct momentum m = momentum_start(PRECISION_DOUBLE, 5);
        m.nesterov = 1;
        m.reach = limited ? 0 : INFINITY;
        const double gain = limited ? 9e-5 : 1e-2;
        for (int i = 0; i < 3; i++)
            assert_near(step_after(&m, gain), (sequence[i] - 1) / sequence[i + 1]);
        const double b = step_after(&m, 1.1e-4);
        assert_true(limited ? b == 0 && m.t == 1 : b > 0.5 && m.t > 3);
    }
}

/* Falls that rounding explains are no reason to reject a sweep, but do not add up either. */
static void test_small_falls(void **state)
{
    (void)state;
    struct momentum m = momentum_start(PRECISION_DOUBLE, 5);
    struct momentum_step step = momentum_next(&m, 0.5, 1e-8);
    for (int i = 0; i < 3; i++)
        step = momentum_next(&m, 0.5 + 1e-6, 1e-8);
    assert_true(goes_beyond(&step));
    step = momentum_next(&m, 0.5 + 1e-6 - 1.5e-8, 1e-8);
    assert_true(goes_beyond(&step) && m.objective == 0.5 + 1e-6);
    step = momentum_next(&m, 0.5 + 1e-6 - 3e-8, 1e-8);
    assert_true(rejects(&step) && m.objective == 0.5 + 1e-6);
}

/* A fit that rounding may have changed by more than a run can do without decides nothing. */
static void test_blind(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++) {
        const enum precision precision = p ? PRECISION_SINGLE : PRECISION_DOUBLE;
        const double blind = 1.1 * (p ? FIT_BLIND_SINGLE : FIT_BLIND_DOUBLE);
        struct momentum m = momentum_start(precision, 5), before;
        momentum_next(&m, 0.5, blind / 2);
        before = m;
        struct momentum_step step = momentum_next(&m, 0.4, blind);
        assert_true(rejects(&step) && m.undecided && !m.rejected);
        m.undecided = 0;
        assert_memory_equal(&m, &before, sizeof m);
        m.undecided = 1;
        step = momentum_next(&m, 0.5 + 1e-6, 1e-16);
        assert_true(goes_beyond(&step) || is_plain(&step));
        assert_true(!m.undecided && m.sweeps == before.sweeps + 1);
    }
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options als = {.max_iterations = 8};
    static const uint64_t dims[] = {5, 6, 4};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_oracle),
        ON_RANKS(test_oracle_of_rules),
        ON_RANKS(test_every_end),
        ON_RANKS_OF(test_off, backend_host, 1),
        ON_RANKS_OF(test_off, backend_cuda, 1),
        ON_RANKS(test_again),
        ON_RANKS(test_checks),
        ON_RANKS(test_exact_model),
        ON_RANKS(test_zero_component),
        ON_ALL(test_flows),
        ON_RANKS_OF(test_room, backend_host, 2),
        ON_RANKS_OF(test_room, backend_host, 3),
        cmocka_unit_test(test_decision),
        cmocka_unit_test(test_decision_of_rows),
        cmocka_unit_test(test_small_falls),
        cmocka_unit_test(test_blind),
        ON_RANKS_OF(test_many_components, backend_host, 1),
        ON_RANKS_OF(test_many_components, backend_host, 3),
        ON_RANKS_OF(test_many_components, backend_cuda, 1),
        ON_RANKS_OF(test_many_components, backend_cuda, 2),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
