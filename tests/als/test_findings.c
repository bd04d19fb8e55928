/* The findings about a result: one list, each with a sentence and what helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "als/findings.h"
#include "base/memory.h"

/* What the first `count` findings say, each in one text line; frees the list. */
static void assert_says(struct findings *f, size_t count, const char *const *text)
{
    char shown[FINDING_TEXT];
    assert_int_equal(f->error.status, STATUS_OK);
    for (size_t i = 0; i < f->count && i < count; i++)
        assert_string_equal(finding_text(&f->finding[i], shown), text[i]);
    assert_int_equal(f->count, count);
    findings_free(f);
}

#define SAYS(f, ...)                                                                               \
    assert_says(f, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                         \
                (const char *[]){__VA_ARGS__})

/* A result that nothing speaks against. */
static struct cpals_result sound(void)
{
    return (struct cpals_result){.iterations = 9,
                                 .fit = 0.5,
                                 .change = 1e-7,
                                 .stop = CPALS_CONVERGED,
                                 .health.ridge = 2.47e-5};
}

static void find(struct findings *f, const struct cpals_result *r, double ridge)
{
    struct backend_options options = {.problem.rank = 4};
    const struct cpals_options als = {.max_iterations = 50, .tolerance = 1e-5};
    options.problem.rules.ridge[1] = ridge;
    find_in_result(f, r, &options, &als);
}

static void test_sound_result(void **state)
{
    (void)state;
    struct findings f = {0};
    struct cpals_result r = sound();
    find(&f, &r, 0);
    find(&f, &r, 0.1);
    assert_int_equal(f.count, 0);
    r.core = (struct core_consistency){.state = CORE_KNOWN, .percent = 80};
    find(&f, &r, 0);
    assert_false(f.finding[0].warning);
    SAYS(&f, "core consistency 80.0: each component is meaningful on its own");
}

/* Of a tensor that the model fills in for the most part, a core near 100 proves nothing. */
static void test_imputed_core(void **state)
{
    (void)state;
    static const struct {
        double percent, imputed;
        bool counts, warning;
        const char *expected;
    } cases[] = {
        {99.94, .2991, false, false,
         "core consistency 99.9 (29.9 % of the tensor taken from the model): each component is "
         "meaningful on its own"},
        {99.94, .97, false, false,
         "core consistency 99.9 (97 % of the tensor taken from the model): with so little data, "
         "nearly every model comes near 100"},
        {7, .97, false, true,
         "warning: core consistency 7.0 (97 % of the tensor taken from the model): the components "
         "only describe the tensor together, and a single one means little; try a lower rank"},
        {98, 0, true, false,
         "core consistency 98.0 (of the counts as squares): each component is meaningful on its "
         "own"},
        {98, .1, true, false,
         "core consistency 98.0 (of the counts as squares, 10 % of the tensor taken from the "
         "model): each component is meaningful on its own"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct backend_options options = {
            .problem = {.rank = 4, .loss = cases[i].counts ? LOSS_POISSON : LOSS_SQUARES}};
        const struct cpals_options als = {.max_iterations = 50, .tolerance = 1e-5};
        struct findings f = {0};
        struct cpals_result r = sound();
        r.core = (struct core_consistency){
            .state = CORE_KNOWN, .percent = cases[i].percent, .imputed = cases[i].imputed};
        find_in_result(&f, &r, &options, &als);
        assert_true(f.finding[0].warning == cases[i].warning);
        SAYS(&f, cases[i].expected);
    }
}

static void test_unused_column(void **state)
{
    (void)state;
    struct findings f = {0};
    find_unused_column(&f, "x.csv", NULL);
    assert_int_equal(f.count, 0);
    find_unused_column(&f, "x.csv", "n");
    find_unused_column(&f, "-", "it's");
    assert_false(f.finding[0].warning);
    SAYS(&f,
         "x.csv: column 'n' is a number and not used: rows are counted; --value n makes it the "
         "value of a row",
         "standard input: column 'it's' is a number and not used: rows are counted; --value "
         "'it'\\''s' makes it the value of a row");
}

static void test_ends(void **state)
{
    (void)state;
    struct findings f = {0};
    struct cpals_result r = sound();
    const struct backend_options options = {.problem.rank = 4};
    const struct cpals_options never = {.max_iterations = 9};
    r.stop = CPALS_ITERATIONS;
    find_in_result(&f, &r, &options, &never);
    assert_int_equal(f.count, 0);
    find(&f, &r, 0);
    r.stop = CPALS_INTERRUPTED;
    r.iterations = 1;
    find(&f, &r, 0);
    SAYS(
        &f,
        "warning: the run has not converged: it stopped at the limit, after 9 iterations, the last "
        "of which changed the fit by 1.0e-07; -i allows more iterations",
        "warning: the run has not converged: a signal ended it, after 1 iteration, the last of "
        "which changed the fit by 1.0e-07; --resume goes on from a --checkpoint");
}

static void test_what_speaks_against_a_result(void **state)
{
    (void)state;
    struct findings f = {0};
    struct cpals_result r = sound();
    r.trust.noise = 2e-8;
    r.trust.falls = 2;
    r.trust.fall = 3e-6;
    r.best_iteration = 7;
    r.last_fit = 0.61159;
    r.health.zero = 1;
    r.health.degenerate = 2;
    r.health.pair[0] = 1;
    r.health.pair[1] = 3;
    r.health.congruence = -0.99;
    r.health.growth = 1.5;
    r.health.since = 8;
    r.core = (struct core_consistency){.state = CORE_KNOWN, .percent = -5e4};
    find(&f, &r, 0);
    SAYS(
        &f, "warning: rounding leaves 7 digits of this fit; --check-every 1 gives all",
        "warning: the fit fell in 2 iterations, by 3.0e-06 at most: the components are nearly "
        "dependent; try --ridge 2e-05, or a lower rank",
        "the model is that of iteration 7: its fit is higher than that of the last, 0.611590",
        "warning: 2 pairs of components degenerate: components 1 and 3 cancel each other "
        "(congruence -0.9900), and the product of their weights grew by a factor of 1.5 since "
        "iteration 8; try --ridge 2e-05, or a lower rank",
        "warning: 1 of 4 components became zero; a lower rank gives the same fit",
        "warning: core consistency -5.0e+04: the components only describe the tensor together, and "
        "a single one means little; try a lower rank");
    r = sound();
    r.trust.falls = 1;
    r.trust.fall = 3e-6;
    r.stop = CPALS_BREAKDOWN; /* it did not converge */
    r.core = (struct core_consistency){
        .state = CORE_KNOWN, .percent = 62, .estimated = true, .error = 3};
    find(&f, &r, 0.1);
    SAYS(&f,
         "the fit fell in 1 iteration, by 3.0e-06 at most: --ridge keeps weights small at the cost "
         "of fit",
         "warning: core consistency 62 +- 3 (estimated, with its standard error): it is doubtful "
         "whether each component is meaningful on its own; let the run converge, or try a lower "
         "rank");
}

/* An error that has grown by more than its standard error, and by more than a fiftieth. */
static void test_held_out_errors(void **state)
{
    (void)state;
    static const struct {
        double now, error;
        bool said;
    } cases[] = {{.6, .05, true}, {.6, .2, false}, {.505, .001, false}, {.5, .001, false}};
    const struct backend_options options = {.problem.rank = 4};
    const struct cpals_options early = {.max_iterations = 50, .early_stop = 5};
    struct findings f = {0};
    struct cpals_result r = sound();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        r.holdout_error =
            (struct holdout_error){.entries = 9, .value = cases[i].now, .error = cases[i].error};
        r.least_holdout_error = .5;
        r.least_iteration = 3;
        find(&f, &r, 0);
        if (cases[i].said)
            SAYS(&f, "warning: the held-out error was 0.5 after iteration 3 and is 0.6 now: the "
                     "model is overfitting; try --ridge auto, a lower rank, or "
                     "--early-stop 10");
        else
            assert_int_equal(f.count, 0);
    }
    r.best_iteration = 3;
    r.stop = CPALS_EARLY;
    find_in_result(&f, &r, &options, &early);
    SAYS(&f, "the model is that of iteration 3, which has the least held-out error");
}

/* Nothing is said where something tests the model, or where it is fitted to all entries. */
static void test_untested(void **state)
{
    (void)state;
    static const struct {
        struct problem problem;
        bool said;
    } cases[] = {{{.rank = 4, .unlisted = {.weighed = true}}, true},
                 {{.rank = 4, .unlisted = {.weighed = true}, .holdout.share = .1}, false},
                 {{.rank = 4, .unlisted = {.weighed = true, .weight = .1}}, false},
                 {{.rank = 4}, false}};
    const struct cpals_options als = {.max_iterations = 50, .tolerance = 1e-5};
    const struct cpals_result r = sound();
    struct findings f = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct backend_options options = {.problem = cases[i].problem};
        find_in_result(&f, &r, &options, &als);
        if (cases[i].said)
            SAYS(&f, "the fit is that of the known entries alone; --holdout 0.1 tells how well "
                     "such a model predicts others");
        else
            assert_int_equal(f.count, 0);
    }
}

static void test_unknown_core(void **state)
{
    (void)state;
    static const char *const why[CORE_STATES] = {
        [CORE_FEW_MODES] = "it takes three modes or more",
        [CORE_TOO_LARGE] = "it is computed for 1024 components at most",
        [CORE_ZERO] = "a component is zero",
        [CORE_DEPENDENT] = "the columns of mode 2 are dependent",
        [CORE_OVERFLOW] = "its numbers are more than a double holds",
        [CORE_ENDED] = "the run ended before it was computed",
        [CORE_NO_ROOM] = "memory has no room for what the entries differ from the model"};
    for (int i = CORE_KNOWN + 1; i < CORE_STATES; i++) {
        struct findings f = {0};
        struct cpals_result r = sound();
        char expected[128];
        r.core = (struct core_consistency){.state = (enum core_state)i, .mode = 1};
        find(&f, &r, 0);
        snprintf(expected, sizeof expected, "core consistency not known: %s", why[i]);
        SAYS(&f, expected);
    }
}

/* Starts of these fits and scores, of which the first is the best. */
static void find_starts(struct findings *f, int asked, int count, const double (*of)[2])
{
    struct run start[4] = {0};
    struct starts s = {.asked = asked, .made = count, .modelled = count, .start = start};
    for (int i = 0; i < count; i++) {
        start[i].result.fit = of[i][0];
        start[i].result.stop = CPALS_CONVERGED;
        start[i].score = of[i][1];
    }
    find_in_starts(f, &s, 100, true);
}

static void test_starts(void **state)
{
    (void)state;
    struct findings f = {0};
    find_starts(&f, 1, 1, (const double[][2]){{0.5, 1}});
    struct run one = {.score = 1};
    find_in_starts(&f, &(struct starts){.asked = 1, .made = 1, .modelled = 1, .start = &one}, 9,
                   false);
    SAYS(&f, "one start was made, and another may lead to a better fit or to other components; "
             "--starts 5 tells whether the result depends on the start");
    find_starts(&f, 3, 1, (const double[][2]){{0.5, 1}});
    find_starts(&f, 3, 3, (const double[][2]){{0.5, 1}, {0.5, 0.96}, {0.4, 0.95}});
    find_starts(&f, 3, 3, (const double[][2]){{0.5, 1}, {0.4, 0.96}, {0.4, 0.94}});
    find_starts(&f, 3, 3, (const double[][2]){{0.5, 1}, {0.4999, 0.9}, {0.4, 0.96}});
    find_starts(&f, 2, 2, (const double[][2]){{0.2447, 1}, {0.228, 0.7}});
    assert_true(!f.finding[1].warning && !f.finding[2].warning && f.finding[3].warning);
    SAYS(&f, "only 1 of 3 starts began before the run ended",
         "all starts lead to the same components (score 0.95 or more): others would hardly find "
         "better ones",
         "1 of 2 other starts lead to the components of the best (score 0.95 or more), the rest to "
         "others that fit less",
         "warning: 1 of 2 other starts fit as well (within 0.1 %) with other components: the "
         "components of this rank are not unique; try --starts auto, or a smaller --tol",
         "warning: no other start leads to the components of the best (score 0.95 or more); try "
         "--starts auto, or more iterations");
}

/* --starts auto says what has ended it. A lower rank is advised only after many starts. */
static void test_starts_until_found(void **state)
{
    (void)state;
    struct findings f = {0};
    struct run start[STARTS_MOST] = {0};
    struct starts s = {.asked = STARTS_MOST, .modelled = 4, .made = 4, .start = start};
    s.until_found = true;
    for (int i = 0; i < STARTS_MOST; i++) {
        start[i].result.fit = i < 3 ? .5 : .4;
        start[i].score = i < 3 ? 1 : .5;
    }
    find_in_starts(&f, &s, 100, true);
    SAYS(&f, "--starts auto made 4 starts: 3 found the best model",
         "2 of 3 other starts lead to the components of the best (score 0.95 or more), the rest to "
         "others that fit less");
    start[1].score = start[2].score = .9;
    find_in_starts(&f, &s, 100, true);
    SAYS(&f, "the run ended after 4 starts, before the best model was found 3 times (1 so far)",
         "warning: 2 of 3 other starts fit as well (within 0.1 %) with other components: the "
         "components of this rank are not unique; try --starts auto with more time, or a smaller "
         "--tol");
    s.made = s.modelled = STARTS_MOST;
    find_in_starts(&f, &s, 100, true);
    start[1].result.fit = start[2].result.fit = .4;
    find_in_starts(&f, &s, 100, true);
    SAYS(&f, "--starts auto made 30 starts, the most: 1 found the best model",
         "warning: 2 of 29 other starts fit as well (within 0.1 %) with other components: the "
         "components of this rank are not unique; try a lower rank, or a smaller --tol",
         "--starts auto made 30 starts, the most: 1 found the best model",
         "warning: no other start leads to the components of the best (score 0.95 or more); try a "
         "lower rank, or more iterations");
}

/* Of counts, in nats for each entry; a start that broke down says nothing. */
static void test_starts_of_counts(void **state)
{
    (void)state;
    struct findings f = {0};
    struct run start[4] = {{.result = {.fit = .5, .log_likelihood = -100}, .score = 1},
                           {.result = {.fit = .4, .log_likelihood = -125}, .score = .96},
                           {.result = {.stop = CPALS_BREAKDOWN}},
                           {.result = {.fit = .4, .log_likelihood = -110}, .score = .96}};
    find_in_starts(&f, &(struct starts){.asked = 1, .made = 1, .modelled = 1, .start = start}, 50,
                   true);
    find_in_starts(&f, &(struct starts){.asked = 4, .made = 4, .modelled = 3, .start = start}, 50,
                   true);
    SAYS(
        &f,
        "one start was made, and another may lead to other components: the likelihoods of starts "
        "are often 0.05 to 0.5 nats an entry apart; --starts 5 tells whether the result depends on "
        "the start",
        "all starts that gave a model lead to the same components (score 0.95 or more): others "
        "would hardly find better ones",
        "the likelihoods of the starts are up to 0.5 nats an entry apart");
}

static void test_shape_and_tolerance(void **state)
{
    (void)state;
    struct findings f = {0};
    const struct problem nine = {.rank = 9}, six = {.rank = 6};
    const struct problem counts = {.rank = 6, .loss = LOSS_POISSON};
    find_in_shape(&f, &(struct shape){1, {5}}, &nine);
    find_in_shape(&f, &(struct shape){3, {5, 6, 7}}, &six);
    find_in_shape(&f, &(struct shape){3, {5, 6, 7}}, &counts);
    find_in_shape(&f, &(struct shape){2, {7, 5}}, &counts);
    const struct backend_options single = {.problem.precision = POLICY_SINGLE};
    const struct backend_options both = {.problem.precision = POLICY_DOUBLE};
    find_in_tolerance(&f, &single, 1e-9);
    find_in_tolerance(&f, &single, 0);
    find_in_tolerance(&f, &single, 1e-6);
    find_in_tolerance(&f, &both, 1e-9);
    SAYS(
        &f,
        "warning: a tensor of one mode is a vector: one component gives fit 1, and more "
        "components add nothing",
        "warning: rank 6 is larger than mode 1 (length 5): its columns cannot be independent",
        "warning: rank 6 is larger than mode 2 (length 5): its columns cannot be independent",
        "warning: --tol 1e-09 is below 1e-06, the resolution of single precision; --precision auto "
        "ends in double precision");
}

/* The list grows, and says so where it cannot; what was found before stays. */
static void test_memory(void **state)
{
    (void)state;
    struct findings f = {0};
    for (int i = 0; i < 20; i++)
        findings_add(&f, "zero", true, "finding %d", i);
    assert_int_equal(f.count, 20);
    assert_string_equal(f.finding[19].sentence, "finding 19");
    findings_free(&f);
    findings_free(&f);
    for (int k = 0; k < 4; k++) {
        memory_hook_set(k);
        findings_add(&f, "zero", true, "first");
        findings_advise(&f, "advice");
        findings_add(&f, "zero", true, "second");
        memory_hook_set(-1);
        assert_int_equal(f.error.status, STATUS_MEMORY);
        assert_int_equal(f.count, k < 2 ? 0 : 1);
        findings_add(&f, "zero", true, "lost");
        findings_advise(&f, "lost");
        assert_int_equal(f.count, k < 2 ? 0 : 1);
        findings_free(&f);
    }
}

/* What is known is too little: rank 4, with 12, 5 and 30 rows that have known entries. */
static void test_few_entries(void **state)
{
    (void)state;
    const struct shape shape = {3, {12, 6, 33}};
    struct known_rows known = {.entries = 4 * (12 + 5 + 30 - 2),
                               .rows = {12, 5, 30},
                               .unknown = {0, 0, 2},
                               .first = {NO_ROW, 2, 30}};
    const char *label[MAX_ORDER] = {NULL};
    struct problem problem = {.rank = 4};
    struct findings f = {0};
    find_in_known(&f, &known, &shape, &problem, label);
    known.entries--;
    find_in_known(&f, &known, &shape, &problem, label);
    problem.rules.fixed[0] = problem.rules.fixed[2] = true; /* no scale is free */
    known.entries = 4 * 5;
    find_in_known(&f, &known, &shape, &problem, label);
    known.rows[1] = 6;
    find_in_known(&f, &known, &shape, &problem, label);
    problem.loss = LOSS_POISSON; /* a ridge is for squares alone */
    find_in_known(&f, &known, &shape, &problem, label);
    problem = (struct problem){.unlisted = {.weighed = true, .weight = .5}};
    label[2] = "Zürich";
    find_in_known(&f, &known, &shape, &problem, label);
    SAYS(&f,
         "some slices have no known entry, and their rows become 0: 1 of the 6 of mode 2 (3), 3 of "
         "the 33 of mode 3 (the first is 31)",
         "some slices have no known entry, and their rows become 0: 1 of the 6 of mode 2 (3), 3 of "
         "the 33 of mode 3 (the first is 31)",
         "warning: the known entries (179) are fewer than the unknowns of the model (180), which "
         "may "
         "fit them and mean nothing elsewhere; try a lower rank, or --holdout 0.1 --ridge auto",
         "some slices have no known entry, and their rows become 0: 1 of the 6 of mode 2 (3)",
         "warning: the known entries (20) are fewer than the unknowns of the model (24), which may "
         "fit them and mean nothing elsewhere; try a lower rank, or --holdout 0.1 --ridge auto",
         "warning: the known entries (20) are fewer than the unknowns of the model (24), which may "
         "fit them and mean nothing elsewhere; try a lower rank, or --holdout 0.1",
         "some slices have no known entry, and their rows become 0: 2 of the 33 of mode 3 (the "
         "first is 'Zürich')");
}

/* Two components, of which the second has this score in so many replicates; each has made a start
 * that ended so. */
static void find_replication(struct findings *f, enum replication_state state, int parts, int made,
                             double score, enum cpals_stop stop)
{
    struct run start = {.result.stop = stop};
    struct replicated_component component[] = {{.score = .99}, {.score = score}};
    struct starts starts[5];
    const struct replication s = {.parts = {.mode = 3, .parts = parts, .divisions = 1},
                                  .replicates = parts,
                                  .starts = starts,
                                  .state = state,
                                  .made = made,
                                  .pairs = made > 1 ? (size_t)(made * (made - 1) / 2) : 0,
                                  .least = .81,
                                  .median = .95,
                                  .greatest = .97,
                                  .rank = made > 1 ? 2 : 0,
                                  .component = component,
                                  .weakest = 1,
                                  .alike = score >= REPLICATES_ALIKE ? 2 : 1};
    for (int k = 0; k < 5; k++)
        starts[k] = (struct starts){.asked = 1, .made = 1, .modelled = k < made, .start = &start};
    snprintf(start.result.breakdown.message, sizeof start.result.breakdown.message, "a NaN");
    find_in_replication(f, &s);
}

static void test_replication(void **state)
{
    (void)state;
    struct findings f = {0};
    find_in_replication(&f, &(struct replication){.state = REPLICATION_ENDED});
    assert_int_equal(f.count, 0);
    find_replication(&f, REPLICATION_WHOLE, 2, 2, .91, CPALS_CONVERGED);
    SAYS(&f, "both halves of mode 3 lead to the same components (score 0.9500; the least, of "
             "component 2, 0.9100)");
    find_replication(&f, REPLICATION_WHOLE, 2, 2, .5, CPALS_CONVERGED);
    SAYS(&f, "warning: 1 of 2 components are not found in both halves of mode 3 (score below "
             "0.90): the least alike, component 2, has 0.5000; try --starts auto, or a lower rank");
    find_replication(&f, REPLICATION_WHOLE, 2, 2, .5, CPALS_ITERATIONS);
    SAYS(&f, "warning: 1 of 2 components are not found in both halves of mode 3 (score below "
             "0.90): the least alike, component 2, has 0.5000; let the halves converge (-i), or "
             "try --starts auto, or a lower rank");
    for (int made = 0; made < 2; made++) {
        find_replication(&f, REPLICATION_ENDED, 2, made, 0, CPALS_TIME_LIMIT);
        SAYS(&f, "the halves of mode 3 were not compared: the run ended before");
    }
    find_replication(&f, REPLICATION_BREAKDOWN, 2, 0, 0, CPALS_BREAKDOWN);
    SAYS(&f, "warning: the halves of mode 3 were not compared: half 1 broke down: a NaN");
    find_replication(&f, REPLICATION_BREAKDOWN, 2, 1, 0, CPALS_BREAKDOWN);
    SAYS(&f, "warning: the halves of mode 3 were not compared: half 2 broke down: a NaN");
    find_replication(&f, REPLICATION_WHOLE, 5, 5, .91, CPALS_CONVERGED);
    SAYS(&f, "the 5 replicates of mode 3 lead to the same components (median score 0.9500, least "
             "0.8100; the least of a component, of component 2, 0.9100)");
    find_replication(&f, REPLICATION_WHOLE, 5, 5, .5, CPALS_ITERATIONS);
    SAYS(&f, "warning: 1 of 2 components are not found again in the 5 replicates of mode 3 (score "
             "below 0.90): the least alike, component 2, has 0.5000; let the replicates converge "
             "(-i), or try --starts auto, or a lower rank");
    find_replication(&f, REPLICATION_ENDED, 5, 1, 0, CPALS_INTERRUPTED);
    SAYS(&f, "the replicates of mode 3 were not compared: the run ended before");
    find_replication(&f, REPLICATION_ENDED, 5, 3, .5, CPALS_INTERRUPTED);
    SAYS(&f, "the replicates of mode 3 were not all compared: the run ended before; in the first "
             "3, 1 of 2 components are found again (scores from 0.8100 to 0.9700)");
    find_replication(&f, REPLICATION_BREAKDOWN, 5, 2, .91, CPALS_BREAKDOWN);
    SAYS(&f, "warning: the replicates of mode 3 were not all compared: replicate 3 broke down: a "
             "NaN; in the first 2, 2 of 2 components are found again (scores from 0.8100 to "
             "0.9700)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_result),
        cmocka_unit_test(test_imputed_core),
        cmocka_unit_test(test_few_entries),
        cmocka_unit_test(test_untested),
        cmocka_unit_test(test_unused_column),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_what_speaks_against_a_result),
        cmocka_unit_test(test_held_out_errors),
        cmocka_unit_test(test_unknown_core),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_starts_until_found),
        cmocka_unit_test(test_starts_of_counts),
        cmocka_unit_test(test_shape_and_tolerance),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_replication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
