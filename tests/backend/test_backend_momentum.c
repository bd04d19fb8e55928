/* Between two sweeps with momentum: the fit brings the decision on the next sweep, which the
 * backend begins when it is asked to; until then it has the model of the sweep. On every backend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "problem/initial_guess.h"
#include "support/backends.h"

#define RANK 3

/* After the next sweep, of which this is what the sweep before has left, the step goes beyond A; or
 * the sweep is rejected. */
static const struct momentum goes_beyond = {.t = 3, .objective = 1, .sweeps = 9};
static const struct momentum rejects = {.t = 3, .objective = 1, .sweeps = 9, .extrapolated = 1};

static const struct mode_rules rules[] = {{.ridge = {0}},
                                          {.ridge = {0.5, 0.5, 0.5}},
                                          {.nonneg = {true, false, true}},
                                          {.fixed = {false, true}}};

static void must(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        fail_msg("%s", error->message);
}

static struct backend_fit sweep(struct backend *b, const struct momentum *m)
{
    struct error error = {0};
    struct backend_fit fit;
    for (int n = 0; n < b->order; n++) {
        if (b->options.problem.rules.fixed[n])
            continue;
        must(backend_mttkrp(b, n, &error), &error);
        must(backend_update(b, n, &error), &error);
    }
    must(backend_fit(b, mode_rules_last(&b->options.problem.rules, b->order), m, &fit, &error),
         &error);
    return fit;
}

static void step(struct backend *b, double now, double before)
{
    struct error error = {0};
    const struct momentum_step step = {now, before};
    must(backend_extrapolate(b, &step, &error), &error);
}

static void make_tensor(struct coo *x)
{
    naive_random_coo(x, &(struct shape){3, {9, 8, 7}}, 300, 4, 0);
    for (uint64_t e = 0; e < x->nnz; e++)
        x->value[e] = fabs(x->value[e]);
}

static void open_with(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                      const struct mode_rules *of)
{
    const struct backend_options s = {
        .problem = {.rank = RANK, .acceleration = ACCELERATE_MOMENTUM, .rules = *of}};
    open_setting(b, kind, x, &s);
}

/* From a start, to after the sweep of which *m tells; the sweep before has left its columns. */
static struct backend_fit begin(struct backend *b, const struct coo *x, const struct momentum *m)
{
    struct error error = {0};
    struct ktensor k;
    create_model(&k, x, RANK, 3);
    for (int n = 0; n < 3; n++)
        ktensor_drop_signs(&k, n);
    must(backend_load(b, &k, &error), &error);
    ktensor_free(&k);
    sweep(b, NULL);
    step(b, 1, 0);
    return sweep(b, m);
}

/* The model of the backend fits so. */
static void assert_model(struct backend *b, const struct coo *x, double fit)
{
    struct error error = {0};
    struct ktensor k;
    create_model(&k, x, RANK, 1);
    must(backend_store(b, &k, &error), &error);
    assert_true(fabsl(naive_fit(x, &k) - (long double)fit) < 1e-9L);
    ktensor_free(&k);
}

/* The decision is that of momentum_next, in the same bits, from sweep to sweep. */
static void test_decision(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const struct momentum none = {0};
    struct coo x;
    int restarts = 0;
    make_tensor(&x);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct backend b;
        open_with(&b, kind, &x, &rules[i]);
        begin(&b, &x, NULL);
        struct momentum m = momentum_start(PRECISION_DOUBLE, 2);
        int extrapolated = 0;
        for (int s = 0; s < 80; s++) {
            struct backend_fit fit = sweep(&b, &m);
            const struct momentum_step next = momentum_next(&m, fit.objective, fit.noise);
            assert_memory_equal(&fit.momentum, &m, sizeof m);
            assert_true(fit.step.now == next.now && fit.step.before == next.before);
            extrapolated += m.extrapolated;
            step(&b, next.now, next.before);
        }
        assert_true(extrapolated > 5);
        restarts += m.restarts;
        struct backend_fit fit = sweep(&b, NULL);
        assert_memory_equal(&fit.momentum, &none, sizeof none);
        assert_true(fit.step.now == 0 && fit.step.before == 0);
        backend_close(&b);
    }
    assert_true(restarts > 0);
    coo_free(&x);
}

/* Until the step is asked for, and after a swap, the model is that of the sweep, a rejected one,
 * too. */
static void test_model(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    make_tensor(&x);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct backend b;
        struct backend_fit fit;
        open_with(&b, kind, &x, &rules[i]);
        fit = begin(&b, &x, &rejects);
        assert_true(fit.momentum.rejected && fit.step.now == 0 && fit.step.before == 1);
        assert_model(&b, &x, fit.value);
        fit = begin(&b, &x, &goes_beyond);
        assert_true(!fit.momentum.rejected && fit.step.now > 1 && fit.step.before < 0);
        assert_model(&b, &x, fit.value);
        step(&b, fit.step.now, fit.step.before);
        backend_swap(&b);
        assert_model(&b, &x, fit.value);
        backend_close(&b);
    }
    coo_free(&x);
}

/* The fit of the sweep after the step *asked, which follows a fit with *m. looks: the weights are
 * read before. */
static double after_step(struct backend *b, const struct coo *x, const struct momentum *m,
                         const struct momentum_step *asked, bool looks)
{
    struct error error = {0};
    double lambda[RANK];
    begin(b, x, m);
    if (looks)
        must(backend_weights(b, lambda, &error), &error);
    step(b, asked->now, asked->before);
    return sweep(b, NULL).value;
}

/* The step that the fit has decided on is the same as one that is asked for without a decision,
 * whoever reads the model meanwhile. */
static void test_step(void **state)
{
    static const struct momentum *const before[] = {&goes_beyond, &rejects};
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    make_tensor(&x);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct backend b;
        double fit[2];
        open_with(&b, kind, &x, &rules[i]);
        for (size_t m = 0; m < 2; m++) {
            const struct momentum_step decided = begin(&b, &x, before[m]).step;
            fit[m] = after_step(&b, &x, NULL, &decided, false);
            for (int looks = 0; looks < 2; looks++)
                assert_true(fabs(after_step(&b, &x, before[m], &decided, looks == 1) - fit[m]) <
                            1e-9);
        }
        assert_true(fabs(fit[0] - fit[1]) > 1e-6);
        backend_close(&b);
    }
    coo_free(&x);
}

static void test_refused(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const struct backend_options plain = {.problem.rank = RANK};
    struct error error = {0};
    struct coo x;
    struct backend b;
    struct ktensor k;
    struct backend_fit fit;
    make_tensor(&x);
    create_model(&k, &x, RANK, 3);
    open_setting(&b, kind, &x, &plain);
    must(backend_load(&b, &k, &error), &error);
    sweep(&b, NULL);
    assert_int_equal(backend_fit(&b, 2, &goes_beyond, &fit, &error), STATUS_INTERNAL);
    error = (struct error){0};
    assert_int_equal(backend_extrapolate(&b, &(struct momentum_step){1, 0}, &error),
                     STATUS_INTERNAL);
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_decision), ON_ALL(test_model), ON_ALL(test_step),
                                       ON_ALL(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
