/* Runs with held-out entries, on several numbers of ranks: their errors, stopping early, the choice
 * of rank and ridge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/rank_choice.h"
#include "support/naive_rows.h"
#include "support/rank_runs.h"

static struct problem holdout_problem(uint64_t rank, double weight, double ridge)
{
    return (struct problem){
        .rank = rank,
        .rules = same_ridge(ridge),
        .unlisted = {.weighed = true, .weight = weight, .fade = weight < 1 ? .8 : 0},
        .ridge_scale = weight < 1 ? RIDGE_BALANCED : RIDGE_UNIT,
        .holdout = {.share = .2, .seed = 3}};
}

static uint64_t cell_of(const struct shape *shape, const uint32_t *at)
{
    uint64_t cell = 0;
    for (int n = 0; n < shape->order; n++)
        cell = cell * shape->dims[n] + at[n];
    return cell;
}

/* What each cell of x has; the caller frees it. */
enum cell { UNLISTED, LISTED_ZERO, LISTED_VALUE };

static unsigned char *cells_of(const struct coo *x)
{
    uint64_t cells = 1;
    for (int n = 0; n < x->shape.order; n++)
        cells *= x->shape.dims[n];
    unsigned char *cell = calloc(cells, 1);
    assert_non_null(cell);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t at[MAX_ORDER];
        naive_rows_at(x, i, at);
        cell[cell_of(&x->shape, at)] = x->value[i] == 0 ? LISTED_ZERO : LISTED_VALUE;
    }
    return cell;
}

/* Model values at the first `count` coordinates of the sequence that are not listed. */
static long double *unlisted_values(const struct coo *x, const struct holdout *h,
                                    const struct ktensor *k, uint64_t count)
{
    long double *value = calloc(count + 1, sizeof *value);
    unsigned char *cell = cells_of(x);
    uint64_t found = 0;
    assert_non_null(value);
    for (uint64_t draw = 0; found < count; draw++) {
        uint32_t at[MAX_ORDER] = {0};
        holdout_draw(h, &x->shape, draw, at);
        if (cell[cell_of(&x->shape, at)] != UNLISTED)
            continue;
        cell[cell_of(&x->shape, at)] = LISTED_ZERO; /* it is drawn once */
        value[found++] = naive_model_value(k, at);
    }
    free(cell);
    return value;
}

struct naive_error {
    uint64_t count;
    long double rmse, mae, error, auc;
    long double deviance, deviance_error, log_likelihood; /* of counts */
    long double log_loss;                                 /* of binary values */
    long double reciprocal[MAX_ORDER], hits[MAX_ORDER];
};

/* The mean of the values that are not held out, over all cells that are not, or over the listed. */
static long double mean_of_rest(const struct coo *x, const bool *chosen, bool unlisted)
{
    long double total = 0, listed = 0, cells = 1;
    for (int n = 0; n < x->shape.order; n++)
        cells *= x->shape.dims[n];
    for (uint64_t i = 0; i < x->nnz; i++) {
        total += chosen[i] ? 0 : x->value[i];
        listed += !chosen[i];
    }
    /* as many unlisted entries are held out as listed ones */
    return total / (unlisted ? cells - 2 * (x->nnz - listed) : listed);
}

/* value: the model's at the held-out entries, in the order of x. */
static void naive_deviance(struct naive_error *e, const struct coo *x, const bool *chosen,
                           const long double *value, bool unlisted, bool clipped)
{
    const long double mean = mean_of_rest(x, chosen, unlisted);
    const long double least = (clipped ? -log1pl(-mean) : mean) / 1000;
    long double sum = 0, squares = 0;
    for (uint64_t i = 0, k = 0; i < x->nnz; i++) {
        if (!chosen[i])
            continue;
        const long double count = x->value[i], m = value[k] > least ? value[k] : least;
        const long double of_count = m - count - (count > 0 ? count * logl(m / count) : 0);
        const long double of_binary = count > 0 ? -logl(-expm1l(-m)) : m;
        const long double d = 2 * (clipped ? of_binary : of_count);
        e->log_likelihood +=
            clipped ? -of_binary : (count > 0 ? count * logl(m) : 0) - m - lgammal(count + 1);
        sum += d;
        squares += d * d;
        k++;
    }
    e->deviance = sum / e->count;
    e->deviance_error = sqrtl((squares / e->count - e->deviance * e->deviance) / e->count);
}

/* Where each held-out entry that is not 0 stands among the indices of each mode, those of other
 * such entries left out. */
static void naive_places(struct naive_error *e, const struct coo *x, const bool *chosen,
                         const struct ktensor *k)
{
    unsigned char *cell = cells_of(x);
    uint64_t entries = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (!chosen[i] || x->value[i] == 0)
            continue;
        entries++;
        for (int n = 0; n < x->shape.order; n++) {
            uint32_t at[MAX_ORDER];
            naive_rows_at(x, i, at);
            const long double value = naive_model_value(k, at);
            double place = 1;
            for (at[n] = 0; at[n] < x->shape.dims[n]; at[n]++) {
                const long double other = naive_model_value(k, at);
                const bool close = fabsl(other - value) <= 1e-14L * fabsl(value);
                if (cell[cell_of(&x->shape, at)] != LISTED_VALUE)
                    place += close ? .5 : other > value;
            }
            e->reciprocal[n] += 1 / place;
            e->hits[n] += place <= 10;
        }
    }
    for (int n = 0; n < x->shape.order; n++) {
        e->reciprocal[n] /= (double)entries;
        e->hits[n] /= (double)entries;
    }
    free(cell);
}

/* From sums over all held-out entries and all pairs. */
static struct naive_error naive_error(const struct coo *x, const struct problem *p,
                                      const struct ktensor *k, bool unlisted)
{
    const struct holdout *h = &p->holdout;
    const bool clipped = loss_of(p->loss)->kind == POISSON_CLIPPED;
    static const uint64_t first[MAX_ORDER];
    struct naive_error e = {0};
    long double squares = 0, fourths = 0, *value = calloc(x->nnz, sizeof *value), *other = NULL;
    bool *chosen = calloc(x->nnz, sizeof *chosen);
    assert_true(chosen && value);
    holdout_choose(h, x, first, chosen);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t at[MAX_ORDER];
        naive_rows_at(x, i, at);
        if (!chosen[i])
            continue;
        value[e.count] = naive_model_value(k, at);
        const long double m = value[e.count++];
        const long double d = x->value[i] - (clipped ? -expm1l(-m) : m);
        e.mae += fabsl(d);
        squares += d * d;
        fourths += d * d * d * d;
    }
    e.mae /= e.count;
    squares /= e.count;
    e.rmse = sqrtl(squares);
    e.error = sqrtl((fourths / e.count - squares * squares) / e.count) / (2 * e.rmse);
    naive_deviance(&e, x, chosen, value, unlisted, clipped);
    if (unlisted)
        other = unlisted_values(x, h, k, e.count);
    for (uint64_t i = 0; unlisted && i < e.count; i++)
        for (uint64_t j = 0; j < e.count; j++)
            e.auc += value[i] > other[j] ? 1 : value[i] == other[j] ? .5L : 0;
    e.auc /= (long double)e.count * e.count;
    e.log_loss = e.deviance / 2 * e.count;
    for (uint64_t j = 0; unlisted && j < e.count; j++)
        e.log_loss += other[j];
    e.log_loss /= 2 * (long double)e.count;
    if (unlisted)
        naive_places(&e, x, chosen, k);
    free(value);
    free(other);
    free(chosen);
    return e;
}

static void assert_close(double a, long double b, double tolerance)
{
    if (!(fabsl(a - b) <= tolerance * fabsl(b)))
        fail_msg("%.17g instead of %.17Lg", a, b);
}

static void compare(const struct coo *x, const struct problem *p)
{
    const struct cpals_options als = {.max_iterations = 7};
    const struct backend_options options = {.problem = *p};
    const double tolerance = p->precision == POLICY_SINGLE ? 1e-5 : 1e-10;
    struct ktensor k;
    const struct cpals_result result = run_random(x, &options, 5, &als, &k);
    const bool unlisted = p->unlisted.weight > 0;
    const struct naive_error e = naive_error(x, p, &k, unlisted);
    assert_true(result.holdout_error.entries == e.count && e.count > 20);
    assert_close(result.holdout_error.rmse, e.rmse, tolerance);
    assert_close(result.holdout_error.mae, e.mae, tolerance);
    if (loss_of(p->loss)->rates) {
        assert_close(result.holdout_error.value, e.deviance, tolerance);
        assert_close(result.holdout_error.error, e.deviance_error, 10 * tolerance);
        assert_close(result.holdout_error.log_likelihood, e.log_likelihood, tolerance);
    } else {
        assert_true(result.holdout_error.value == result.holdout_error.rmse);
        assert_close(result.holdout_error.error, e.error, 10 * tolerance);
    }
    assert_true(result.holdout_error.unlisted == (unlisted ? e.count : 0));
    if (unlisted) /* a rounding may swap two pairs */
        assert_true(fabsl(result.holdout_error.auc - e.auc) <=
                    2.0L / ((long double)e.count * e.count));
    if (unlisted && loss_of(p->loss)->kind == POISSON_CLIPPED)
        assert_close(result.holdout_error.log_loss, e.log_loss, tolerance);
    assert_true((result.holdout_error.places.entries > 0) == unlisted);
    for (int n = 0; unlisted && n < x->shape.order; n++) { /* or two indices */
        const double near = 1.01 / (double)result.holdout_error.places.entries;
        if (!(fabsl(result.holdout_error.places.reciprocal[n] - e.reciprocal[n]) <= near))
            fail_msg("mode %d: mean reciprocal rank %g, expected %Lg", n,
                     result.holdout_error.places.reciprocal[n], e.reciprocal[n]);
        assert_true(fabsl(result.holdout_error.places.hits[n] - e.hits[n]) <= near);
    }
    ktensor_free(&k);
}

static void test_oracle(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {{2, {30, 40}, 400, 0},
                                               {3, {25, 1, 60}, 500, 1},
                                               {3, {3, 40, 300}, 1500, 1},
                                               {5, {4, 9, 5, 6, 12}, 600, 0}};
    static const double weights[] = {0, .2, 1};
    static const uint64_t ranks[] = {1, 5, 20};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < 3; i++) {
            const struct tensor_case *t = &cases[c];
            struct problem p = holdout_problem(ranks[(c + i) % 3], weights[i], .3);
            struct coo x;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
            compare(&x, &p);
            p.precision = POLICY_SINGLE;
            compare(&x, &p);
            p.precision = POLICY_AUTO;
            p.rules.nonneg[0] = true;
            p.acceleration = ACCELERATE_MOMENTUM;
            compare(&x, &p);
            coo_free(&x);
        }
}

static struct problem holdout_counts(uint64_t rank, double weight)
{
    struct problem p = holdout_problem(rank, weight, 0);
    p.loss = LOSS_POISSON;
    for (int n = 0; n < MAX_ORDER; n++)
        p.rules.nonneg[n] = true;
    return p;
}

/* Counts: the deviance, of listed zeros too; rates that are almost 0 count as a small part of the
 * mean. */
static void test_counts(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {
        {2, {30, 40}, 400, 0}, {3, {3, 40, 300}, 1500, 1}, {5, {4, 9, 5, 6, 12}, 600, 0}};
    static const double weights[] = {0, 1};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < 2; i++) {
            const struct tensor_case *t = &cases[c];
            struct problem p = holdout_counts(c == 0 ? 12 : 3, weights[i]);
            struct coo x;
            naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
            for (uint64_t e = 0; e < x.nnz; e++)
                x.value[e] = (double)(e * e % 7) * (c == 1 ? 1e6 : 1);
            compare(&x, &p);
            p.solver = SOLVER_MU;
            p.acceleration = ACCELERATE_MOMENTUM;
            compare(&x, &p);
            p.loss = LOSS_BINARY;
            for (uint64_t e = 0; e < x.nnz; e++)
                x.value[e] = e % 5 > 0;
            compare(&x, &p);
            coo_free(&x);
        }
}

/* Values near the ends of the range of doubles. */
static void test_scales(void **state)
{
    use_ranks(state);
    static const double scales[] = {1e-200, 1e160};
    const struct cpals_options als = {.max_iterations = 5};
    const struct backend_options options = {.problem = holdout_problem(3, 1, .001)};
    struct cpals_result plain;
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){20, 30, 25})), 900, 2, 0);
    plain = run_random(&x, &options, 5, &als, &k);
    ktensor_free(&k);
    for (int s = 0; s < 2; s++) {
        struct coo y = x;
        y.value = calloc(x.nnz, sizeof *y.value);
        for (uint64_t i = 0; i < x.nnz; i++)
            y.value[i] = scales[s] * x.value[i];
        const struct cpals_result r = run_random(&y, &options, 5, &als, &k);
        assert_close(r.holdout_error.rmse, scales[s] * plain.holdout_error.rmse, 1e-6);
        assert_close(r.holdout_error.mae, scales[s] * plain.holdout_error.mae, 1e-6);
        assert_close(r.holdout_error.error, scales[s] * plain.holdout_error.error, 1e-5);
        assert_true(fabs(r.holdout_error.auc - plain.holdout_error.auc) < 1e-4);
        ktensor_free(&k);
        free(y.value);
    }
    coo_free(&x);
}

#define PLANTED 3

/* A share of the cells of a model of PLANTED components, with noise of this standard deviation;
 * values have a variance of about PLANTED. */
static void noisy_cells(struct coo *x, double share, double noise)
{
    static const uint64_t dims[] = {30, 25, 20};
    struct error error = {0};
    struct ktensor k;
    uint64_t count = 0;
    assert_int_equal(ktensor_create(&k, SHAPE(3, dims), PLANTED, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 11);
    assert_int_equal(coo_create(x, SHAPE(3, dims), 30 * 25 * 20, &error), STATUS_OK);
    srand(4);
    for (uint32_t cell = 0; cell < x->nnz; cell++) {
        const uint32_t at[] = {cell / 500, cell / 20 % 25, cell % 20};
        double normal = -6;
        if (rand() > share * RAND_MAX)
            continue;
        for (int i = 0; i < 12; i++)
            normal += rand() / (double)RAND_MAX;
        for (int n = 0; n < 3; n++)
            x->index[n][count] = at[n];
        x->value[count++] = (double)naive_model_value(&k, at) + noise * normal;
    }
    assert_int_equal(coo_resize(x, count, &error), STATUS_OK);
    ktensor_free(&k);
}

/* A run of some starts; the caller frees t->account and t->models. */
static struct together run_starts(const struct coo *x, const struct problem *p, int starts,
                                  const struct cpals_options *als, bool choose)
{
    const struct backend_options options = {.problem = *p};
    struct together t = make_together(under_test.kind, x, NULL, &options, NULL, als);
    struct error error = {0};
    t.list.starts = starts;
    t.list.guess = (struct initial_guess){.kind = GUESS_NORMAL, .seed = 1};
    t.list.choose_ridge = choose;
    if (run_together(&t, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return t;
}

static void free_starts(struct together *t)
{
    runs_free(&t->account);
    for (int i = 0; i < MOST_RUNS; i++)
        ktensor_free(&t->models[i]);
}

static const struct cpals_options long_run = {.max_iterations = 400, .tolerance = 1e-6};

static void test_planted_rank_is_suggested(void **state)
{
    use_ranks(state);
    struct rank_outcome outcome[5];
    char text[RANK_CHOICE_TEXT];
    struct coo x;
    noisy_cells(&x, .3, .5);
    for (uint64_t rank = 1; rank <= 5; rank++) {
        const struct problem p = holdout_problem(rank, 0, .1);
        struct together t = run_starts(&x, &p, 4, &long_run, false);
        const struct starts *s = &t.account.starts[0];
        outcome[rank - 1] = (struct rank_outcome){.rank = rank, .result = s->start[s->best].result};
        for (int i = 0; i < 4; i++) /* the best start is that of the least held-out error */
            assert_true(s->start[i].result.holdout_error.rmse >=
                        s->start[s->best].result.holdout_error.rmse);
        free_starts(&t);
    }
    assert_int_equal(rank_suggestion(outcome, 5, text), PLANTED);
    assert_true(outcome[PLANTED - 1].result.holdout_error.rmse < .55);
    assert_true(outcome[PLANTED - 2].result.holdout_error.rmse > .7);
    assert_true(outcome[4].result.fit > outcome[PLANTED - 1].result.fit);
    coo_free(&x);
}

static void test_ridge_is_chosen(void **state)
{
    use_ranks(state);
    const struct problem p = holdout_problem(6, 0, 1);
    struct coo x;
    noisy_cells(&x, .1, .7);
    struct together t = run_starts(&x, &p, 1, &long_run, true);
    const struct ridge_search s = t.account.ridge;
    const double chosen = t.account.starts[0].start[0].result.holdout_error.rmse;
    assert_true(s.count >= 3 && s.best > 0 && chosen == s.least); /* the run is the trial's */
    for (int i = 0; i < s.count; i++)
        assert_true(s.holdout_error[i] >= s.least);
    free_starts(&t);
    const struct problem same = holdout_problem(6, 0, s.best), small = holdout_problem(6, 0, 1e-4);
    t = run_starts(&x, &same, 1, &long_run, false);
    assert_true(t.account.starts[0].start[0].result.holdout_error.rmse == chosen);
    free_starts(&t);
    t = run_starts(&x, &small, 1, &long_run, false); /* overfits */
    assert_true(t.account.starts[0].start[0].result.holdout_error.rmse > 1.1 * chosen);
    free_starts(&t);
    coo_free(&x);
}

/* A search that the time limit ends gives the model of the run that it ended. */
static void test_search_ends(void **state)
{
    use_ranks(state);
    const struct problem p = holdout_problem(3, 0, 1);
    const struct cpals_options als = {.max_iterations = 9, .deadline = 1e-9};
    struct coo x;
    noisy_cells(&x, .1, .7);
    struct together t = run_starts(&x, &p, 2, &als, true);
    const struct starts *s = &t.account.starts[0];
    const struct ridge_search *ridge = &t.account.ridge;
    assert_true(s->made == 1 && s->start[0].result.stop == CPALS_TIME_LIMIT);
    assert_true(ridge->count == 1 && ridge->best == ridge->ridge[0]);
    assert_true(t.account.count == 2 && t.account.run[0].trial && t.models[1].rank == 3);
    free_starts(&t);
    coo_free(&x);
}

/* The run ends after so many iterations without a smaller error, and has the best model. */
static void test_early_stop(void **state)
{
    use_ranks(state);
    static const enum precision_policy policies[] = {POLICY_DOUBLE, POLICY_SINGLE, POLICY_AUTO};
    struct coo x;
    noisy_cells(&x, .1, .7);
    for (int i = 0; i < 6; i++) {
        struct problem p = holdout_problem(6, 0, 1e-4);
        struct fit_trace trace = {0};
        struct cpals_options als = {.max_iterations = 400, .early_stop = 15, .trace = &trace};
        struct ktensor k;
        p.precision = policies[i % 3];
        p.acceleration = i < 3 ? ACCELERATE_OFF : ACCELERATE_MOMENTUM;
        const struct backend_options options = {.problem = p};
        const struct cpals_result r = run_random(&x, &options, 5, &als, &k);
        const struct naive_error e = naive_error(&x, &p, &k, false);
        assert_int_equal(r.stop, CPALS_EARLY);
        assert_int_equal(r.iterations, r.best_iteration + 15);
        assert_true(trace.count == (size_t)r.iterations);
        assert_true(r.holdout_error.rmse < trace.holdout_error[trace.count - 1]);
        assert_close(r.holdout_error.rmse, trace.holdout_error[r.best_iteration - 1], 1e-12);
        assert_close(r.holdout_error.rmse, e.rmse, 1e-5);
        for (size_t after = (size_t)r.best_iteration; after < trace.count; after++)
            assert_true(trace.holdout_error[after] >= r.holdout_error.rmse);
        assert_int_equal(r.least_iteration, r.best_iteration);
        /* a GPU sums in another order after the model was stored and loaded */
        assert_close(r.least_holdout_error, r.holdout_error.rmse,
                     under_test.kind->devices ? 1e-12 : 0);
        ktensor_free(&k);
        fit_trace_free(&trace);
    }
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem = holdout_problem(3, .2, .1)};
    const struct cpals_options als = {.max_iterations = SANITIZED ? 5 : 25, .early_stop = 2};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){12, 9, 15})), 300, 3, 0);
    assert_true(fail_every_allocation(&x, &options, &als) > 40);
    coo_free(&x);
}

/* Centred values: the held-out error is that of model and means together at the values as they
 * were, and less than that of either alone. */
static void test_centred(void **state)
{
    use_ranks(state);
    const struct cpals_options als = {.max_iterations = 100, .tolerance = 1e-6};
    const struct backend_options options = {.problem = holdout_problem(PLANTED, 0, 1)};
    const struct problem *p = &options.problem;
    struct error error = {0};
    struct coo x;
    noisy_cells(&x, .3, .5);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] += 5 + 2 * sin(x.index[0][i]) + 3 * cos(7. * x.index[2][i]);
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &als);
    t.center[0] = t.center[2] = true;
    t.list.guess = (struct initial_guess){.kind = GUESS_NORMAL, .seed = 3};
    if (run_together(&t, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    struct ktensor means;
    assert_int_equal(slice_means_append(&t.model, &t.means, &error), STATUS_OK);
    const struct naive_error all = naive_error(&x, p, &t.model, false);
    assert_close(t.result.holdout_error.rmse, all.rmse, 1e-10);
    assert_close(t.result.holdout_error.mae, all.mae, 1e-10);
    assert_int_equal(ktensor_create(&means, &x.shape, 1, &error), STATUS_OK);
    means.lambda[0] = 0;
    for (int n = 0; n < 3; n++)
        memset(means.factor[n], 0, x.shape.dims[n] * sizeof *means.factor[n]);
    assert_int_equal(slice_means_append(&means, &t.means, &error), STATUS_OK);
    assert_close(t.baseline.slices, naive_error(&x, p, &means, false).rmse, 1e-10);
    assert_true(t.result.holdout_error.rmse < .6 * t.baseline.slices);
    assert_true(t.baseline.slices < t.baseline.mean);
    ktensor_free(&means);
    ktensor_free(&t.model);
    const struct cpals_result plain = run_random(&x, &options, 1, &als, &t.model);
    assert_true(t.result.holdout_error.rmse < .9 * plain.holdout_error.rmse);
    ktensor_free(&t.model);
    slice_means_free(&t.means);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_RANKS(test_oracle),
                                       ON_RANKS_OF(test_oracle, backend_host, 7),
                                       ON_RANKS(test_counts),
                                       ON_RANKS(test_scales),
                                       ON_RANKS_OF(test_planted_rank_is_suggested, backend_host, 1),
                                       ON_RANKS_OF(test_planted_rank_is_suggested, backend_host, 3),
                                       ON_RANKS_OF(test_ridge_is_chosen, backend_host, 1),
                                       ON_RANKS_OF(test_ridge_is_chosen, backend_host, 4),
                                       ON_RANKS_OF(test_search_ends, backend_host, 1),
                                       ON_RANKS_OF(test_search_ends, backend_host, 3),
                                       ON_RANKS(test_centred),
                                       ON_RANKS(test_early_stop),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 1),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
