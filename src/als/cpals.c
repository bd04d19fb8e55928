/* CP-ALS (BLCO paper, Algorithm 1), and where each step is:
 *
 *   load the start                                              load_start
 *   repeat                                                      iterate
 *       for n = 1, ..., N                                       cpals_sweep
 *           M = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1)    backend_mttkrp
 *           V = G_1 * ... (without n) ... * G_N                 backend_update
 *           A_n = M V^+
 *           lambda_r = ||A_n(:,r)||;  A_n(:,r) /= lambda_r
 *           G_n = A_n'A_n
 *       fit = 1 - ||X - Y|| / ||X||                             backend_fit
 *   until the fit changes little, or a limit is reached         go_on
 *
 * kr is the Khatri-Rao product, * the elementwise product, Y = [lambda; A_1, ..., A_N] the model.
 * Between sweeps, note_sweep accepts or rejects a sweep (momentum), and switch_precision changes
 * from single precision to double. */
#include "als/cpals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/page_touch.h"
#include "model/fit_text.h"
#include "ranks/model_collect.h"

#define MOST_GROWTH   1e7 /* of components (struct backend_fit): more says nothing of the tensor */
#define NOISE_PART    0.1 /* of the tolerance: less noise cannot pass for convergence            */
#define SMALL_CHANGES 2   /* in a row that end a run: after one, momentum may still gain speed    */

struct cpals {
    struct backend *b; /* borrowed, as options, progress and result are                          */
    const struct cpals_options *options;
    struct progress *progress;
    struct cpals_result *result;
    struct saver saver;
    struct weight_history weights;
    struct best_model best;
    struct page_touch pages; /* of the model, until it is written                                */
    bool fading;     /* in the last sweep, unlisted entries counted more than the problem says   */
    bool comparable; /* its fit and the one before are those of the same problem                 */

    /* Momentum, about which numerics/momentum_step.h decides. */
    bool has_momentum;
    struct momentum momentum;  /* after the last sweep                                           */
    struct momentum_step step; /* from the last sweep to the start of the next                   */
    bool stepped;              /* the backend has made that step                                 */
    int small;                 /* sweeps in a row that changed the fit by little                 */
};

/* --- the fit and the model of a run --- */

/* Whether b iterates in single precision and will go on in double. */
static bool is_first_precision(const struct backend *b)
{
    return b->precision != precision_last(b->options.problem.precision);
}

/* Whether the last change of the fit is below the tolerance. The changes from no fit to the first
 * one, from one in single precision to one in double, within single, and while unlisted entries
 * fade do not count. */
static bool changed_little(const struct cpals *run)
{
    const struct cpals_result *result = run->result;
    return run->comparable && result->iterations - result->single_iterations > 1 &&
           fabs(result->change) < run->options->tolerance;
}

/* Whether the run has converged (after one small change for plain ALS, after two in a row with
 * momentum or of counts) or reached its last iteration. */
static enum cpals_stop stop_of(const struct cpals *run)
{
    const struct cpals_result *result = run->result;
    const struct cpals_options *options = run->options;
    const bool plain = !run->has_momentum || momentum_is_plain(run->momentum.sweeps - 1);
    const bool one = plain && !problem_has_rates(&run->b->options.problem);
    const int best = run->best.score.iteration;
    if (changed_little(run) && (one || run->small >= SMALL_CHANGES))
        return CPALS_CONVERGED;
    if (run->best.by_holdout_error && best > 0 && result->iterations - best >= options->early_stop)
        return CPALS_EARLY;
    return result->iterations >= options->max_iterations ? CPALS_ITERATIONS : CPALS_GOES_ON;
}

/* Replaces *fit, of the last sweep, by the fit from the residual if `due`, if it is blind, or if
 * its noise could pass for a change of less than `tolerance` (0: never). */
static enum status trust_check(struct cpals *run, bool due, double tolerance,
                               struct backend_fit *fit, struct error *error)
{
    struct fit_trust *t = &run->result->trust;
    const double value = fit->value;
    const bool drowned = tolerance > 0 && fit->noise > NOISE_PART * tolerance;
    t->blind = fit_is_blind(fit->noise, run->b->precision);
    if (!due && !drowned && !t->blind)
        return STATUS_OK;
    TRY(backend_residual(run->b, fit, error));
    t->checks++;
    t->error = fmax(t->error, fabs(value - fit->value));
    return STATUS_OK;
}

static void trust_take(struct fit_trust *t, const struct backend_fit *fit)
{
    t->noise = fmax(fit->noise, fit->written);
    t->exact = fit->exact;
}

void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision)
{
    double fall = -change;
    if (fall > fmax(t->noise + fit->noise, fit_slack(precision))) {
        t->falls++;
        t->fall = fmax(t->fall, fall);
    }
    trust_take(t, fit);
}

/* *fit, of the model as it stands, takes the place of that of the last iteration. */
static void take_fit(struct cpals *run, const struct backend_fit *fit)
{
    run->result->fit = fit->value;
    trust_take(&run->result->trust, fit);
    fit_trace_correct(run->options->trace, fit->value);
}

/* Replaces the fit of the model by that from the residual, as trust_check does. */
static enum status check_fit(struct cpals *run, bool due, double tolerance, struct error *error)
{
    struct cpals_result *result = run->result;
    struct backend_fit fit = {.value = result->fit, .noise = result->trust.noise};
    if (result->trust.exact)
        return STATUS_OK;
    TRY(trust_check(run, due, tolerance, &fit, error));
    result->change += fit.value - result->fit;
    take_fit(run, &fit);
    return STATUS_OK;
}

static struct model_score score_of(const struct cpals_result *result)
{
    return (struct model_score){.iteration = result->iterations,
                                .fit = result->fit,
                                .holdout_error = result->holdout_error.value,
                                .noise = result->trust.noise,
                                .exact = result->trust.exact};
}

/* After an accepted sweep, before anything else changes the backend. If its model is the best so
 * far, the copy becomes its model; or there is no copy any more, unless the next sweep may make the
 * fit worse, or the held-out error decides. A copy needs the pages of k, which must not be touched
 * any more. */
static enum status keep_best(struct cpals *run, bool fit_may_fall, struct error *error)
{
    struct best_model *best = &run->best;
    const struct model_score score = score_of(run->result);
    const bool copy = fit_may_fall || best->by_holdout_error;
    const bool better = best->by_holdout_error ? score.holdout_error < best->score.holdout_error
                                               : score.fit > best->score.fit;
    if (copy)
        page_touch_end(&run->pages);
    if (best->score.iteration > 0 && !better)
        return STATUS_OK;
    best->score.iteration = 0;
    if (!copy)
        return STATUS_OK;
    TRY(backend_save(run->b, best->k, &best->carried, error));
    best->score = score;
    return STATUS_OK;
}

/* The model of the best iteration becomes that of the backend, if it is better by more than the
 * noise of both fits, or by its held-out error. */
static enum status take_best(struct cpals *run, struct error *error)
{
    const struct best_model *best = &run->best;
    struct cpals_result *result = run->result;
    const struct model_score score = score_of(result);
    if (best->score.iteration == 0 ||
        !(best->by_holdout_error ? best->score.holdout_error < score.holdout_error
                                 : best->score.fit - best->score.noise > score.fit + score.noise))
        return STATUS_OK;
    result->last_fit = result->fit;
    result->fit = best->score.fit;
    result->best_iteration = best->score.iteration;
    result->trust.noise = best->score.noise;
    result->trust.exact = best->score.exact;
    return backend_resume(run->b, best->k, &best->carried, error);
}

/* --- the start --- */

/* Says how unlisted entries count in the sweep after `sweeps` others. */
static void weigh_unlisted(struct cpals *run, int sweeps)
{
    const struct problem *problem = &run->b->options.problem;
    const struct unlisted_count count = problem_count(problem, sweeps);
    run->fading = count.fading;
    run->comparable = sweeps > 0 && !run->fading && !problem_count(problem, sweeps - 1).fading;
    if (problem->unlisted.weighed)
        backend_weigh(run->b, &count);
}

/* The backend goes on from the checkpoint, whose model is in k. A run with momentum may resume from
 * a checkpoint of one without, and the other way round. */
static enum status resume_sweeps(struct cpals *run, const struct ktensor *k,
                                 const struct checkpoint *from, struct error *error)
{
    struct backend *b = run->b;
    const struct checkpoint_about *about = &from->about;
    const struct carried *carried = &from->model[CHECKPOINT_STATE].carried;
    const struct checkpoint_rows *last = &from->model[checkpoint_last(about)];
    struct ktensor model;
    if (run->has_momentum && about->has_momentum)
        run->momentum = about->momentum;
    else
        run->momentum.sweeps = about->iterations;
    run->small = about->small_changes;
    run->stepped = true;
    if (!about->momentum.extrapolated)
        return backend_resume(b, k, carried, error);
    TRY(ktensor_create_part(&model, &b->ranks->part, about->problem.rank, error));
    ktensor_copy_rows(&model, &last->rows); /* after the last iteration */
    backend_resume(b, &model, &last->carried, error);
    ktensor_free(&model);
    TRY(error->status);
    if (!run->has_momentum)
        return STATUS_OK;
    backend_swap(b);
    return backend_resume(b, k, carried, error);
}

/* Loads the start: a random model, the model k, or the state in a checkpoint. */
static enum status load_start(struct cpals *run, struct ktensor *k, struct error *error)
{
    struct backend *b = run->b;
    const struct cpals_options *options = run->options;
    const struct checkpoint *from = options->resume;
    struct cpals_result *result = run->result;
    run->has_momentum = b->plan.request.momentum;
    run->momentum = momentum_start(b->precision, 0);
    *result = (struct cpals_result){.momentum = run->has_momentum, .violation = NAN};
    if (from)
        TRY(resume_sweeps(run, k, from, error));
    else if (options->random)
        TRY(backend_randomise(b, guess_numbers(options->random->kind), options->random->seed,
                              error));
    else
        TRY(backend_begin(b, k, error));
    run->momentum.precision = b->precision;
    run->momentum.nesterov = problem_by_rows(&b->options.problem);
    run->momentum.reach = problem_reach(&b->options.problem);
    run->best = (struct best_model){
        .k = k, .by_holdout_error = options->holdout_set && options->early_stop > 0};
    TRY(carried_create(&run->best.carried, b->order, k->rank, error));
    if (!from)
        return STATUS_OK;
    const struct checkpoint_about *about = &from->about;
    if (about->best.iteration > 0) { /* the best model may be that of the last iteration */
        const enum checkpoint_model which =
            checkpoint_has_best(about) ? CHECKPOINT_BEST : checkpoint_last(about);
        if (which != CHECKPOINT_STATE) /* k has that already */
            ktensor_copy_rows(k, &from->model[which].rows);
        carried_copy(&run->best.carried, &from->model[which].carried, b->order, k->rank);
        run->best.score = about->best;
    }
    result->iterations = about->iterations;
    result->fit = about->fit;
    result->change = about->change;
    result->holdout_error.value = about->holdout_error;
    result->least_holdout_error = about->least_holdout_error;
    result->least_iteration = about->least_iteration;
    result->single_iterations = about->single_iterations;
    result->restarts = about->momentum.restarts;
    weigh_unlisted(run, result->iterations - 1);
    result->stop = stop_of(run);
    return STATUS_OK;
}

/* --- after a sweep --- */

/* Accepts the fit of a sweep, or rejects the sweep, as backend_fit has decided, and keeps the fit
 * of the sweep before. While unlisted entries fade, a sweep decides nothing, and no step follows.
 */
static enum status note_sweep(struct cpals *run, const struct backend_fit *fit, struct error *error)
{
    struct cpals_result *result = run->result;
    result->change = fit->value - result->fit;
    if (!run->fading && run->has_momentum) {
        run->momentum = fit->momentum;
        run->step = fit->step;
        run->stepped = false;
        if (run->momentum.rejected) {
            result->restarts++;
            return STATUS_OK;
        }
    }
    if (fit->growth > MOST_GROWTH)
        return error_set(error, STATUS_NUMERICAL,
                         "the components have grown to %.1g times the size of the known entries, "
                         "which do not determine them",
                         fit->growth);
    result->fit = fit->value;
    if (run->options->holdout_set) {
        TRY(holdout_error_find(&result->holdout_error, run->b, run->options->holdout_set, false,
                               error));
        if (!run->fading && (result->least_iteration == 0 ||
                             result->holdout_error.value < result->least_holdout_error)) {
            result->least_holdout_error = result->holdout_error.value;
            result->least_iteration = result->iterations;
        }
    }
    result->violation = fit->violation;
    fit_trust_note(&result->trust, fit, run->comparable ? result->change : 0, run->b->precision);
    if (run->fading) {
        run->momentum.sweeps++;
        run->stepped = true;
        return STATUS_OK;
    }
    run->small = changed_little(run) ? run->small + 1 : 0;
    int may_fall = result->trust.blind ||
                   backend_fit_may_fall(fit, run->b->options.problem.rank, run->b->precision);
    TRY(comm_allreduce_max(run->b->ranks->all, &may_fall,
                           error)); /* not all machines find the same condition */
    return keep_best(run, may_fall, error);
}

/* The model takes the place of extrapolated factor matrices in the backend. */
static enum status pause_momentum(struct cpals *run, struct error *error)
{
    if (!run->has_momentum)
        return STATUS_OK;
    if (run->momentum.rejected && !run->stepped)
        return backend_extrapolate(run->b, &run->step, error);
    if (run->momentum.extrapolated && run->stepped)
        backend_swap(run->b);
    return STATUS_OK;
}

/* Between two sweeps: goes on in double precision before the last iteration, or after one that
 * changed the fit by no more than single precision resolves, or than the tolerance. The change of
 * the first iteration does not count: there was no fit before. The model of the last iteration in
 * single is kept, because a sweep in double may fall below its fit; where rounding hides that fit,
 * the residual gives it. */
static enum status switch_precision(struct cpals *run, struct error *error)
{
    struct backend *b = run->b;
    struct cpals_result *result = run->result;
    const double small = fmax(run->options->tolerance, SINGLE_RESOLVES);
    const bool settled =
        result->iterations > 1 && fabs(result->change) <= fmax(small, result->trust.noise);
    if (!is_first_precision(b) ||
        !(settled || result->iterations + 1 >= run->options->max_iterations))
        return STATUS_OK;
    TRY(pause_momentum(run, error));
    TRY(backend_widen(b, error));
    TRY(check_fit(run, false, small, error));
    TRY(keep_best(run, result->trust.exact, error));
    run->momentum.precision = b->precision;
    run->momentum.t = 1;
    run->momentum.extrapolated = run->momentum.rejected = 0;
    run->stepped = true;
    return STATUS_OK;
}

/* --- before the next sweep --- */

static void save(struct cpals *run)
{
    struct checkpoint_about about = run->options->saving->about;
    const struct cpals_result *result = run->result;
    about.iterations = result->iterations;
    about.fit = result->fit;
    about.change = result->change;
    about.holdout_error = result->holdout_error.value;
    about.least_holdout_error = result->least_holdout_error;
    about.least_iteration = result->least_iteration;
    memcpy(about.problem.rules.ridge, run->b->options.problem.rules.ridge,
           sizeof about.problem.rules.ridge); /* which may have been chosen since */
    about.single_iterations = result->single_iterations;
    about.factors = run->b->precision;
    about.has_momentum = run->has_momentum;
    about.momentum = run->has_momentum ? run->momentum : (struct momentum){0};
    about.small_changes = run->small;
    saver_save(&run->saver, run->b, &about, &run->best, result->stop != CPALS_GOES_ON);
}

/* Requests of a rank after an iteration; the maximum over all ranks wins. */
enum wish { WISH_NONE, WISH_CHECKPOINT, WISH_TIME_LIMIT, WISH_SIGNAL /* + the signal's number */ };

/* Decides whether the run stops, the same on all ranks; prepares the next sweep unless the run has
 * converged; saves a checkpoint if one is due or the run stops. */
static enum status go_on(struct cpals *run, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    const int number = options->interrupted ? *options->interrupted : 0;
    int wish = number                                                      ? WISH_SIGNAL + number
               : options->deadline > 0 && clock_now() >= options->deadline ? WISH_TIME_LIMIT
               : saver_is_due(&run->saver, result->iterations)             ? WISH_CHECKPOINT
                                                                           : WISH_NONE;
    result->stop = stop_of(run);
    if (result->stop != CPALS_CONVERGED) {
        TRY(comm_allreduce_max(run->b->ranks->all, &wish, error));
        if (wish > WISH_SIGNAL) {
            result->interrupted = wish - WISH_SIGNAL;
            result->stop = CPALS_INTERRUPTED;
        } else if (result->stop == CPALS_GOES_ON && wish == WISH_TIME_LIMIT) {
            result->stop = CPALS_TIME_LIMIT;
        }
    }
    if (run->has_momentum && !run->stepped) {
        run->stepped = result->stop != CPALS_CONVERGED && !momentum_is_plain(run->momentum.sweeps);
        if (run->stepped) {
            TRY(backend_extrapolate(run->b, &run->step, error));
        } else {
            run->momentum.t = 1;
            run->momentum.extrapolated = 0;
        }
    }
    if (options->saving && (wish == WISH_CHECKPOINT || result->stop != CPALS_GOES_ON))
        save(run);
    return STATUS_OK;
}

/* --- the loop --- */

enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error)
{
    const struct problem *problem = &b->options.problem;
    for (int n = 0; n < b->order; n++)
        for (int k = 0; !problem->rules.fixed[n] && k < problem_inner(problem); k++) {
            TRY(backend_mttkrp(b, n, error)); /* of counts, there may be several steps (CP-APR) */
            TRY(backend_update(b, n, error));
        }
    /* ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2, without a pass over the nonzeros:
     * ||Y||^2 = lambda' (G_1 * ... * G_N) lambda, and with M of the mode n that was updated last,
     * <X, Y> = sum_ir M(i,r) A_n(i,r) lambda_r. */
    return backend_fit(b, mode_rules_last(&problem->rules, b->order), m, fit, error);
}

/* Underdetermined rows can diverge; the smallest ridge prevents that. */
static enum status fail_sweep(const struct cpals *run, struct error *error)
{
    const struct problem *p = &run->b->options.problem;
    const bool grows = error->status == STATUS_NUMERICAL && p->unlisted.weighed &&
                       !problem_has_rates(p) &&
                       mode_rules_largest_ridge(&p->rules, run->b->order) == 0;
    error_prefix(error, "iteration %d: ", run->result->iterations);
    return grows ? error_append(error, "; try --ridge 1e-6") : error->status;
}

/* One iteration: a sweep, whose fit is from the residual where the options or rounding ask for that
 * and decides whether to keep it, and what follows. */
static enum status iterate(struct cpals *run, struct error *error)
{
    struct backend *b = run->b;
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    struct backend_fit fit;
    char text[FIT_TEXT], holdout[48] = "";
    weigh_unlisted(run, result->iterations++);
    const bool single = is_first_precision(b), momentum = run->has_momentum && !run->fading;
    const bool due = options->check_every > 0 && result->iterations % options->check_every == 0;
    result->single_iterations += single;
    if (cpals_sweep(b, momentum ? &run->momentum : NULL, &fit, error) != STATUS_OK ||
        trust_check(run, due, single ? 0 : options->tolerance, &fit, error) != STATUS_OK ||
        note_sweep(run, &fit, error) != STATUS_OK)
        return fail_sweep(run, error);
    TRY(fit_trace_note(options->trace, result->fit, result->holdout_error.value, error));
    TRY(weight_history_note(&run->weights, b, result->iterations, error));
    TRY(switch_precision(run, error));
    if (options->holdout_set)
        snprintf(holdout, sizeof holdout, ", held-out error %.4g", result->holdout_error.value);
    progress_update(run->progress, (double)result->iterations / options->max_iterations,
                    "iteration %d of %d, fit %s, change %.1e%s", result->iterations,
                    options->max_iterations, fit_text(result->fit, result->trust.noise, 6, text),
                    result->change, holdout);
    return go_on(run, error);
}

/* After the last sweep: the model of the last accepted sweep, or of the best one, becomes that of
 * the backend, and its fit that of the result. */
static enum status end_sweeps(struct cpals *run, struct error *error)
{
    struct backend *b = run->b;
    struct cpals_result *result = run->result;
    const struct holdout_set *set = run->options->holdout_set;
    struct backend_fit fit;
    TRY(pause_momentum(run, error));
    if (run->has_momentum &&
        run->momentum.rejected) { /* its weights and first mode are still there */
        const int first = mode_rules_first(&b->options.problem.rules, b->order);
        TRY(backend_mttkrp(b, first, error));
        TRY(backend_update(b, first, error));
        TRY(backend_fit(b, first, NULL, &fit, error));
        TRY(trust_check(run, false, 0, &fit, error));
        result->change = fit.value - result->fit;
        result->violation = fit.violation;
        take_fit(run, &fit);
    }
    if (run->fading) { /* the fit of the problem itself; what the sweep violated was another one */
        const struct unlisted_count count = problem_count(&b->options.problem, -1);
        fit = (struct backend_fit){.value = result->fit};
        backend_weigh(b, &count);
        TRY(backend_residual(b, &fit, error));
        result->violation = NAN;
        take_fit(run, &fit);
    }
    if (run->options->check_every > 0)
        TRY(check_fit(run, true, 0, error));
    if (set)
        TRY(holdout_error_find(&result->holdout_error, b, set, false, error));
    TRY(take_best(run, error));
    return set ? holdout_error_find(&result->holdout_error, b, set, true, error) : STATUS_OK;
}

const char *cpals_stop_text(enum cpals_stop stop)
{
    static const char *const text[] = {
        [CPALS_GOES_ON] = "not stopped",          [CPALS_CONVERGED] = "converged",
        [CPALS_ITERATIONS] = "iteration limit",   [CPALS_EARLY] = "stopped early",
        [CPALS_INTERRUPTED] = "interrupted",      [CPALS_TIME_LIMIT] = "time limit",
        [CPALS_BREAKDOWN] = "numerical breakdown"};
    return text[stop];
}

/* While the device iterates, the host has time to touch the pages of `model`, which will receive
 * the result: each of the `ranks` ranks that store in it its part. */
static void touch_pages(struct cpals *run, const struct ktensor *model, int rank, int ranks)
{
    for (int n = 0; n < model->shape.order; n++) {
        const uint64_t rows = model->shape.dims[n];
        const uint64_t first = even_cut(rows, rank, ranks), end = even_cut(rows, rank + 1, ranks);
        page_touch_add(&run->pages, model->factor[n] + first * model->rank,
                       (end - first) * model->rank * sizeof *model->factor[n]);
    }
    page_touch_start(&run->pages);
}

/* The model that receives the rows of this rank. */
static struct ktensor *stored_in(const struct backend *b, struct ktensor *k,
                                 const struct cpals_options *options)
{
    const struct comm *c = b->ranks->all;
    return options->whole && (c->shares_memory || c->rank == 0) ? options->whole : k;
}

enum status cpals_iterate(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                          struct progress *progress, struct cpals_result *result,
                          struct error *error)
{
    struct cpals run = {.b = b, .options = options, .progress = progress, .result = result};
    const struct comm *c = b->ranks->all;
    const bool together = options->whole && c->shares_memory;
    const double start = clock_now();
    char fit[FIT_TEXT];
    progress_stage(progress, "decomposing");
    page_touch_begin(&run.pages);
    if (options->random && b->kind->devices)
        touch_pages(&run, stored_in(b, k, options), together ? c->rank : 0, together ? c->size : 1);
    TRY_OR(done, weight_history_create(&run.weights, k->rank, error));
    TRY_OR(done, load_start(&run, k, error));
    run.saver = (struct saver){.options = options->saving,
                               .progress = progress,
                               .last = clock_now(),
                               .last_iteration = result->iterations};
    fit_trace_begin(options->trace, result->iterations + 1);
    progress_skip(progress, (double)result->iterations / options->max_iterations);
    switch_precision(&run, error);
    while (error->status == STATUS_OK && result->stop == CPALS_GOES_ON)
        iterate(&run, error);
    saver_close(&run.saver);
    result->saved = run.saver.saved;
    result->not_saved = run.saver.error;
    TRY_OR(done, error->status);
    TRY_OR(done, end_sweeps(&run, error));
    backend_likelihood(b, result->fit, &result->deviance, &result->log_likelihood);
    result->seconds = clock_now() - start;
    TRY_OR(done, model_health(&result->health, b, &run.weights, result->iterations, error));
    progress_done(progress, "%d iterations, fit %s, %s", result->iterations,
                  fit_text(result->fit, result->trust.noise, 6, fit),
                  cpals_stop_text(result->stop));
done:
    page_touch_end(&run.pages);
    weight_history_free(&run.weights);
    carried_free(&run.best.carried);
    return error->status;
}

enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result, struct error *error)
{
    const struct core_limits limits = {options->core_passes, options->interrupted,
                                       options->deadline};
    const bool ended = result->stop == CPALS_INTERRUPTED || result->stop == CPALS_TIME_LIMIT;
    struct ktensor_rows own = {{0}, {0}};
    if (options->components)
        TRY(backend_components(b, k->explained, k->lost, error));
    if (options->whole) {
        struct ktensor all = *stored_in(b, k, options); /* with the weights and shares of k */
        all.lambda = k->lambda;
        all.explained = k->explained;
        all.lost = k->lost;
        return backend_store_arranged(b, &all, true, error);
    }
    /* The core consistency takes time: skip it after an interrupt. */
    if (!options->core_consistency || ended)
        return backend_store_arranged(b, k, false, error);
    TRY(backend_store(b, k, error));
    TRY(core_consistency(&result->core, b, k, &limits, progress, error));
    for (int n = 0; n < b->order; n++) {
        own.first[n] = b->ranks->mode[n].first;
        own.count[n] = b->ranks->mode[n].count;
    }
    return model_arrange_together(k, &own, b->ranks->all, error);
}
