/* Several starts: the best run gives the result, and the meaning of the scores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "support/rank_runs.h"

/* Makes the starts on the backend and the ranks under test; the models are in s->model. The caller
 * frees *s. */
static enum status run_starts(const struct coo *x, const struct backend_options *options,
                              const struct cpals_options *als, int count, uint64_t seed,
                              struct runs *s, struct error *error)
{
    struct together t = make_together(under_test.kind, x, NULL, options, NULL, als);
    t.list.guess.seed = seed;
    t.list.starts = count;
    TRY(runs_create(s, &t.list, NULL, error));
    TRY(run_together(&t, under_test.ranks, error));
    struct ktensor *models = s->model;
    memcpy(models, t.models, (size_t)count * sizeof *models);
    memory_free(s->run);
    memory_free(s->starts);
    *s = t.account;
    s->model = models;
    s->borrows = false;
    return STATUS_OK;
}

/* Each start gives what a run of its seed alone gives, and the best is the best of them,
 * by the fit or the held-out error. */
static void check_starts(const struct problem *problem)
{
    struct error error = {0};
    const struct backend_options options = {.problem = *problem};
    const bool holds_out = problem->holdout.share > 0;
    const struct cpals_options als = {.max_iterations = 6, .core_consistency = true};
    struct runs s;
    struct coo x;
    struct ktensor best;
    naive_random_coo(&x, &(struct shape){3, {30, 20, 40}}, 2000, 7, 1);
    if (run_starts(&x, &options, &als, 4, 11, &s, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(s.starts[0].made, 4);
    double most = -INFINITY;
    for (int i = 0; i < 4; i++) {
        struct ktensor k;
        struct cpals_result alone = run_random(&x, &options, 11 + (uint64_t)i, &als, &k);
        const struct cpals_result *r = &s.run[i].result;
        const double good = holds_out ? -r->holdout_error.value : r->fit;
        assert_true(s.run[i].guess.seed == 11 + (uint64_t)i);
        assert_int_equal(r->iterations, 6);
        assert_true(fabs(r->fit - alone.fit) < 1e-10);
        for (uint64_t j = 0; j < 30 * 3; j++)
            assert_true(fabs(s.model[i].factor[0][j] - k.factor[0][j]) < 1e-6);
        assert_int_equal(r->core.state, good > most ? CORE_KNOWN : CORE_NOT_ASKED);
        assert_true(good <= most || fabs(r->core.percent - alone.core.percent) < 1e-6);
        most = fmax(most, good);
        ktensor_free(&k);
    }
    const struct cpals_result *r = &s.run[s.starts[0].best].result;
    assert_true((holds_out ? -r->holdout_error.value : r->fit) == most);
    assert_int_equal(runs_take_best(&s, 0, &best, &error), STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_true(i == s.starts[0].best ? s.run[i].score == 1
                                          : s.run[i].score > 0 && s.run[i].score < 1);
    assert_true(holds_out || fabsl(naive_fit(&x, &best) - (long double)most) < 1e-9L);
    ktensor_free(&best);
    runs_free(&s);
    coo_free(&x);
}

static void test_each_start_is_a_run(void **state)
{
    use_ranks(state);
    check_starts(&(struct problem){.rank = 3});
    check_starts(&(struct problem){
        .rank = 3, .unlisted.weighed = true, .rules = same_ridge(.05), .holdout = {.2, 7}});
}

/* A tensor of rank 2 whose components every start finds. */
static void create_planted(struct coo *x)
{
    struct error error = {0};
    struct ktensor k;
    assert_int_equal(coo_create(x, &(struct shape){3, {8, 9, 10}}, 720, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&k, &x->shape, 2, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 5);
    for (uint32_t i = 0; i < 720; i++) {
        uint32_t at[3] = {i / 90, i / 10 % 9, i % 10};
        x->value[i] = 0;
        for (int n = 0; n < 3; n++)
            x->index[n][i] = at[n];
        for (int r = 0; r < 2; r++)
            x->value[i] += k.factor[0][2 * at[0] + (uint32_t)r] *
                           k.factor[1][2 * at[1] + (uint32_t)r] *
                           k.factor[2][2 * at[2] + (uint32_t)r];
    }
    ktensor_free(&k);
}

static void test_agreement(void **state)
{
    use_ranks(state);
    struct error error = {0};
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = 2000, .tolerance = 1e-10};
    struct runs s;
    struct coo x;
    struct ktensor best;
    create_planted(&x);
    assert_int_equal(run_starts(&x, &options, &als, 3, 1, &s, &error), STATUS_OK);
    assert_int_equal(runs_take_best(&s, 0, &best, &error), STATUS_OK);
    const struct starts_agreement a = starts_agreement(&s.starts[0]);
    assert_int_equal(a.others, 2);
    assert_int_equal(a.agree, 2);
    assert_int_equal(a.different, 0);
    for (int i = 0; i < 3; i++)
        assert_true(s.run[i].score > 0.999);
    ktensor_free(&best);
    runs_free(&s);
    coo_free(&x);
}

/* --starts auto: the starts are the first of those that a number of starts makes; they end as soon
 * as three have the best components, and only the best model stays. The halves go on likewise. */
static void test_until_found(void **state)
{
    use_ranks(state);
    struct error error = {0};
    const struct cpals_options als = {.max_iterations = 300, .tolerance = 1e-8};
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {7, 8, 9}}, 300, 7, 1);
    for (int rank = 1; rank <= 3; rank++) {
        const struct backend_options options = {.problem.rank = (uint64_t)rank};
        struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &als);
        struct runs all;
        struct ktensor best;
        assert_int_equal(run_starts(&x, &options, &als, 12, 1, &all, &error), STATUS_OK);
        t.list = (struct run_list){.guess.seed = 1, .starts = 12, .until_found = true};
        if (run_together(&t, under_test.ranks, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        const struct starts *s = &t.account.starts[0];
        const int found = starts_found(s), made = s->made;
        assert_true(made == 12 ? found <= STARTS_ENOUGH : found == STARTS_ENOUGH);
        assert_true(rank > 1 || made == STARTS_ENOUGH);
        for (int i = 0; i < made; i++) {
            assert_true(fabs(s->start[i].result.fit - all.run[i].result.fit) < 1e-6);
            assert_true((t.models[i].lambda != NULL) == (i == s->best));
        }
        all.starts[0].made = all.starts[0].modelled =
            made; /* the same starts, compared at the end */
        all.starts[0].best = s->best;
        for (int i = made; i < 12; i++)
            ktensor_free(&all.model[i]);
        assert_int_equal(runs_take_best(&all, 0, &best, &error), STATUS_OK);
        assert_int_equal(starts_found(&all.starts[0]), found);
        for (int i = 0; i < made; i++)
            assert_true(isnan(s->start[i].score) ||
                        fabs(s->start[i].score - all.run[i].score) < .02);
        ktensor_free(&best);
        ktensor_free(&t.models[s->best]);
        runs_free(&t.account);
        runs_free(&all);
    }
    coo_free(&x);
}

/* A signal and the time limit end the start that is under way, and no other begins. */
static void test_ended(void **state)
{
    use_ranks(state);
    static const volatile sig_atomic_t now = SIGTERM;
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als[] = {{.max_iterations = 50, .interrupted = &now},
                                        {.max_iterations = 50, .deadline = 1e-9}};
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 200, 1, 0);
    for (int i = 0; i < 2; i++) {
        struct error error = {0};
        struct runs s;
        struct ktensor best;
        assert_int_equal(run_starts(&x, &options, &als[i], MOST_STARTS, 1, &s, &error), STATUS_OK);
        assert_int_equal(s.starts[0].made, 1);
        assert_true(runs_ended(&s));
        assert_int_equal(s.run[0].result.iterations, 1);
        assert_int_equal(runs_take_best(&s, 0, &best, &error), STATUS_OK);
        assert_int_equal(best.rank, 2);
        ktensor_free(&best);
        runs_free(&s);
    }
    coo_free(&x);
}

/* a o a o b + a o b o a + b o a o a, whose two components of a model cancel each other: their
 * weights are 2.2 to 2.3 after thirty iterations from the seeds 1 to 5 and 7, and 3.0 from seed 6.
 * The values are so large that no double holds 2.6 times as much. */
static void create_near_overflow(struct coo *x)
{
    static const uint32_t at[3][3] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
    struct error error = {0};
    assert_int_equal(coo_create(x, &(struct shape){3, {2, 2, 2}}, 3, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        x->value[i] = DBL_MAX / 2.6;
        for (int n = 0; n < 3; n++)
            x->index[n][i] = at[i][n];
    }
}

/* A start that breaks down has no model and does not count; the others are as they would be. */
static void test_breakdown(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = 30};
    struct coo x;
    create_near_overflow(&x);
    for (uint64_t seed = 5; seed <= 6; seed++) { /* the second start breaks down, or the first */
        struct error error = {0};
        struct runs s;
        struct ktensor best;
        int bad = (int)(6 - seed);
        if (run_starts(&x, &options, &als, 3, seed, &s, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(s.starts[0].made, 3);
        assert_int_equal(s.starts[0].modelled, 2);
        for (int i = 0; i < 3; i++) {
            const struct cpals_result *r = &s.run[i].result;
            assert_int_equal(r->stop, i == bad ? CPALS_BREAKDOWN : CPALS_ITERATIONS);
            assert_int_equal(r->breakdown.status, i == bad ? STATUS_NUMERICAL : STATUS_OK);
            assert_true((s.model[i].lambda == NULL) == (i == bad));
        }
        assert_non_null(strstr(s.run[bad].result.breakdown.message, "a weight of the model"));
        assert_true(s.starts[0].best != bad);
        assert_int_equal(runs_take_best(&s, 0, &best, &error), STATUS_OK);
        assert_true(isfinite(best.lambda[0]) && best.lambda[0] > DBL_MAX / 2.6);
        assert_int_equal(starts_agreement(&s.starts[0]).others, 1);
        ktensor_free(&best);
        runs_free(&s);
    }
    coo_free(&x);
}

/* Where no start comes to a model, the first one's reason is the failure. */
static void test_all_break_down(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 3};
    const struct cpals_options als = {.max_iterations = 30};
    struct coo x;
    create_near_overflow(&x);
    for (size_t i = 0; i < x.nnz; i++)
        x.value[i] *= 2; /* beyond the weights of any model of rank 2 or 3 */
    for (int count = 1; count <= 2; count++) {
        struct error error = {0};
        struct runs s;
        assert_int_equal(run_starts(&x, &options, &als, count, 1, &s, &error), STATUS_NUMERICAL);
        const char *from =
            count == 1 ? "a weight of" : "none of 2 starts gave a model; start 1: a weight of";
        if (strncmp(error.message, from, strlen(from)) != 0)
            fail_msg("%s", error.message);
        runs_free(&s);
    }
    coo_free(&x);
}

/* Makes the next run with this fit, or, where `fit` is not finite, a breakdown. */
static struct run make_next(struct runs *s, double fit)
{
    struct run run;
    assert_true(runs_next(s, &run));
    run.result.fit = fit;
    run.result.stop = isfinite(fit) ? CPALS_CONVERGED : CPALS_BREAKDOWN;
    runs_note(s, &run);
    return run;
}

/* Ridges are tried first; then come the starts, and those of the replicates, from seeds of their
 * own. */
static void test_order(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    struct run run;
    const struct run_list list = {.starts = 2,
                                  .guess = {.kind = GUESS_NVECS, .seed = 7},
                                  .choose_ridge = true,
                                  .parts = {.mode = 1, .parts = 3, .divisions = 2}};
    assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
    ridge_search_begin(&s.ridge, RIDGE_BALANCED, 1, 3);
    for (int i = 0; i < 3; i++) { /* 1, 3 and .3 */
        assert_true(runs_next(&s, &run) && run.trial && run.replicate == 0);
        assert_true(run.guess.seed == 7 && run.guess.kind == GUESS_NVECS);
        run.result.holdout_error.value = run.ridge == 1 ? 1 : 2;
        runs_note(&s, &run);
    }
    assert_int_equal(run_list_models(&list), 8);
    for (int i = 0; i < 14; i++) {
        run = make_next(&s, i);
        assert_true(!run.trial && run.ridge == 1);
        assert_int_equal(run.replicate, i / 2);
        assert_true(run.guess.seed == 7 + (uint64_t)i);
        assert_int_equal(run.guess.kind, i % 2 == 0 ? GUESS_NVECS : GUESS_RANDOM);
    }
    assert_false(runs_next(&s, &run));
    for (int k = 0; k < 7; k++)
        assert_true(runs_best(&s, k) == &s.run[3 + 2 * k + 1]);
    runs_free(&s);
}

/* No run follows one that a signal or the time limit has ended, nor a replicate without a model. */
static void test_no_more_runs(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    struct run run;
    struct run_list list = {.starts = 1, .guess.kind = GUESS_NORMAL, .parts = {2, 2, 1, 0}};
    for (int broken = 0; broken < 3; broken++) {
        assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
        for (int k = 0; k <= broken; k++)
            make_next(&s, k == broken ? INFINITY : 1);
        assert_false(runs_next(&s, &run));
        assert_false(runs_ended(&s));
        assert_null(runs_best(&s, broken));
        runs_free(&s);
    }
    list.choose_ridge = true;
    assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
    ridge_search_begin(&s.ridge, RIDGE_UNIT, 1, 3);
    assert_true(runs_next(&s, &run));
    run.result.stop = CPALS_INTERRUPTED;
    run.result.interrupted = SIGTERM;
    runs_note(&s, &run);
    assert_false(runs_next(&s, &run));
    assert_true(runs_ended(&s) && runs_interrupted(&s) == SIGTERM);
    assert_true(s.ridge.count == 1 && s.ridge.best == s.ridge.ridge[0]);
    assert_true(s.run[0].trial && runs_best(&s, 0) == &s.run[1] && !s.run[1].trial);
    runs_free(&s);
}

static const struct run_list four_starts = {.starts = 4};

/* What scores and fits say, straight from a table. */
static void test_agreement_counts(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    struct run run;
    static const double fit[] = {0.5, 0.9, 0.8995, 0.9 - 2e-3}, score[] = {0.2, 1, 0.94, 0.96};
    assert_int_equal(runs_create(&s, &four_starts, NULL, &error), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        make_next(&s, fit[i]);
        s.run[i].score = score[i];
    }
    assert_false(runs_next(&s, &run));
    assert_int_equal(s.starts[0].best, 1);
    const struct starts_agreement a = starts_agreement(&s.starts[0]);
    assert_int_equal(a.others, 3);
    assert_int_equal(a.agree, 1);
    assert_int_equal(a.different, 1);
    runs_free(&s);
}

/* Whether fits are equally good depends on how good they are; a start that broke down says nothing.
 */
static void test_agreement_of_small_fits(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    static const double fit[] = {INFINITY, 0.0039, 0.0035, 0.003899};
    assert_int_equal(runs_create(&s, &four_starts, NULL, &error), STATUS_OK);
    for (int i = 0; i < 4; i++)
        make_next(&s, fit[i]);
    assert_int_equal(s.starts[0].best, 1);
    const struct starts_agreement a = starts_agreement(&s.starts[0]);
    assert_int_equal(a.others, 2);
    assert_int_equal(a.agree, 0);
    assert_int_equal(a.different, 1);
    runs_free(&s);
}

/* Makes a start with this fit, whose model has this score with the best one so far. */
static void make_compared(struct runs *s, double fit, double score)
{
    const struct run *before = runs_best(s, 0);
    make_next(s, fit);
    if (before)
        runs_compare(s, before, score);
}

/* --starts auto ends when three starts have the best components and as good a fit. A better model
 * of the same components changes nothing, one of others begins anew. */
static void test_compared(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    struct run run;
    struct run_list list = {.starts = STARTS_MOST, .until_found = true};
    assert_int_equal(run_list_models(&list), 2);
    assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
    make_compared(&s, .5, 0);
    make_compared(&s, .49, .99);    /* the same, but a lower fit */
    make_compared(&s, .4999, .94);  /* as good a fit, but other components */
    make_compared(&s, .50001, .96); /* better, and the same */
    const struct starts *starts = &s.starts[0];
    assert_int_equal(starts->best, 3);
    assert_int_equal(starts_found(starts), 2);
    assert_true(s.run[0].score == .96 && s.run[1].score == .99 && s.run[3].score == 1);
    assert_true(starts_agreement(starts).agree == 2 && starts_agreement(starts).different == 1);
    make_next(&s, INFINITY); /* breaks down */
    make_compared(&s, .6, .5);
    assert_int_equal(starts_found(starts), 1);
    assert_true(isnan(s.run[0].score) && isnan(s.run[2].score) && s.run[3].score == .5);
    make_compared(&s, .6, .97);
    assert_true(runs_next(&s, &run));
    make_compared(&s, .5999, .97);
    assert_false(runs_next(&s, &run));
    assert_true(starts->made == 8 && starts->modelled == 7 && starts_found(starts) == 3);
    runs_free(&s);
    list.starts = 4;
    list.parts = (struct slice_parts){.mode = 1, .parts = 2, .divisions = 1};
    assert_int_equal(run_list_models(&list), 4);
    assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
    for (int i = 0; i < 4; i++)
        make_compared(&s, .5, .1);
    assert_true(runs_next(&s, &run) && run.replicate == 1 && run.guess.seed == 4);
    runs_free(&s);
    list.until_found = false;
    assert_int_equal(run_list_models(&list), 6);
}

/* A fit of 0 is rounding, as that of counts by one component. */
static void test_fits_of_nothing(void **state)
{
    (void)state;
    struct error error = {0};
    struct runs s;
    struct run run;
    const struct run_list list = {.starts = STARTS_MOST, .until_found = true};
    assert_int_equal(runs_create(&s, &list, NULL, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        const struct run *before = runs_best(&s, 0);
        assert_true(runs_next(&s, &run));
        run.result.fit = i * -2e-16;
        run.result.trust.noise = 1e-15;
        run.result.stop = CPALS_CONVERGED;
        runs_note(&s, &run);
        if (before)
            runs_compare(&s, before, 1);
    }
    assert_int_equal(starts_found(&s.starts[0]), 3);
    assert_false(runs_next(&s, &run));
    runs_free(&s);
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
        struct runs s;
        struct ktensor best = {0};
        memory_hook_set(i);
        enum status status = run_starts(&x, &options, &als, 2, 1, &s, &error);
        if (status == STATUS_OK)
            status = runs_take_best(&s, 0, &best, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        ktensor_free(&best);
        runs_free(&s);
    }
    assert_true(failures > 30);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_each_start_is_a_run),
        ON_RANKS(test_agreement),
        ON_RANKS(test_until_found),
        ON_RANKS(test_ended),
        ON_RANKS(test_breakdown),
        ON_RANKS(test_all_break_down),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_more_runs),
        cmocka_unit_test(test_agreement_counts),
        cmocka_unit_test(test_agreement_of_small_fits),
        cmocka_unit_test(test_compared),
        cmocka_unit_test(test_fits_of_nothing),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
