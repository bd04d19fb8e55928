/* CP-ALS (BLCO paper, Algorithm 1), and where each step is:
 *
 *   load the start                                              load_start
 *   repeat                                                      iterate_all
 *       for n = 1, ..., N                                       cpals_sweep
 *           M = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1)    backend_mttkrp
 *           V = G_1 * ... (without n) ... * G_N                 backend_update
 *           A_n = M V^+
 *           lambda_r = ||A_n(:,r)||;  A_n(:,r) /= lambda_r
 *           G_n = A_n'A_n
 *       fit = 1 - ||X - Y|| / ||X||                             backend_fit
 *   until the fit changes little, or a limit is reached         run_go_on
 *
 * kr is the Khatri-Rao product, * the elementwise product, Y = [lambda; A_1, ..., A_N] the model.
 * Between sweeps, run_note_sweep accepts or rejects a sweep (momentum), and run_switch_precision
 * changes from single precision to double. */
#include "als/cpals.h"

#include <math.h>
#include <stdio.h>

#include "als/precision_switch.h"
#include "als/run.h"
#include "base/clock.h"
#include "model/fit_text.h"
#include "ranks/model_arrange.h"

/* The steps of a mode; of counts there may be more than one (CP-APR: problem.h, `inner`). */
static enum status improve_mode(struct backend *b, int n, struct error *error)
{
    for (int k = 0; k < problem_inner(&b->options.problem); k++) {
        TRY(backend_mttkrp(b, n, error));
        TRY(backend_update(b, n, error));
    }
    return STATUS_OK;
}

enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error)
{
    for (int n = 0; n < b->order; n++)
        if (!b->options.problem.rules.fixed[n] && improve_mode(b, n, error) != STATUS_OK)
            return error->status;
    /* ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2, without a pass over the nonzeros:
     * ||Y||^2 = lambda' (G_1 * ... * G_N) lambda, and with M of the mode n that was updated last,
     * <X, Y> = sum_ir M(i,r) A_n(i,r) lambda_r. */
    return backend_fit(b, mode_rules_last(&b->options.problem.rules, b->order), m, fit, error);
}

/* Says how unlisted entries count in the sweep after `sweeps` others. */
static void weigh_unlisted(struct run *run, int sweeps)
{
    const struct problem *problem = &run->b->options.problem;
    const struct unlisted_count count = problem_count(problem, sweeps);
    run->fading = count.fading;
    run->comparable = sweeps > 0 && !run->fading && !problem_count(problem, sweeps - 1).fading;
    if (problem->unlisted.weighed)
        backend_weigh(run->b, &count);
}

/* One sweep. *fit is from the residual where the options or rounding ask for that. */
static enum status sweep(struct run *run, struct backend_fit *fit, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    bool due = options->check_every > 0 && result->iterations % options->check_every == 0;
    double small = precision_is_first(run->b) ? 0 : options->tolerance; /* 0: cannot end the run */
    const struct momentum *momentum = run->fading ? NULL : momentum_state(&run->momentum);
    TRY(cpals_sweep(run->b, momentum, fit, error));
    return fit_trust_check(&result->trust, run->b, due, small, fit, error);
}

/* Underdetermined rows can diverge; the smallest ridge prevents that. */
static enum status fail_sweep(const struct run *run, struct error *error)
{
    const struct problem *p = &run->b->options.problem;
    const bool grows = error->status == STATUS_NUMERICAL && p->unlisted.weighed &&
                       p->loss == LOSS_SQUARES &&
                       mode_rules_largest_ridge(&p->rules, run->b->order) == 0;
    error_prefix(error, "iteration %d: ", run->result->iterations);
    return grows ? error_append(error, "; try --ridge 1e-6") : error->status;
}

/* One iteration: a sweep, then the fit decides whether to keep it. */
static enum status iterate(struct run *run, struct error *error)
{
    struct backend_fit fit;
    struct cpals_result *result = run->result;
    weigh_unlisted(run, result->iterations++);
    result->single_iterations += precision_is_first(run->b);
    if (sweep(run, &fit, error) != STATUS_OK)
        return fail_sweep(run, error);
    if (run_note_sweep(run, &fit, error) != STATUS_OK)
        return fail_sweep(run, error);
    return fit_trace_note(run->options->trace, result->fit, result->held.value, error);
}

/* Loads the start: a random model, the model k, or the state in a checkpoint. */
static enum status load_start(struct run *run, struct ktensor *k, struct error *error)
{
    const struct checkpoint *from = run->options->resume;
    struct cpals_result *result = run->result;
    *result = (struct cpals_result){.momentum = run->b->plan.request.momentum, .violation = NAN};
    TRY(momentum_begin(&run->momentum, run->b, k, run->options->random, from, error));
    run->best.by_held = run->options->held && run->options->early_stop > 0;
    TRY(best_model_create(&run->best, run->b, k, from, error));
    if (!from)
        return STATUS_OK;
    result->iterations = from->about.iterations;
    result->fit = from->about.fit;
    result->change = from->about.change;
    result->held.value = from->about.held;
    result->least_held = from->about.least_held;
    result->least_iteration = from->about.least_iteration;
    result->single_iterations = from->about.single_iterations;
    result->restarts = from->about.momentum.restarts;
    weigh_unlisted(run, result->iterations - 1);
    result->stop = run_stop(run);
    return STATUS_OK;
}

/* While the device iterates, the host has time to touch the pages that will receive the model. */
static void touch_model(struct run *run, const struct ktensor *k)
{
    page_touch_begin(&run->pages);
    if (!run->options->random || !run->b->kind->devices)
        return;
    for (int n = 0; n < k->shape.order; n++)
        page_touch_add(&run->pages, k->factor[n],
                       k->shape.dims[n] * k->rank * sizeof *k->factor[n]);
    page_touch_start(&run->pages);
}

static void show(const struct run *run)
{
    const struct cpals_result *result = run->result;
    const int i = result->iterations, most = run->options->max_iterations;
    char fit[FIT_TEXT], held[48] = "";
    if (run->options->held)
        snprintf(held, sizeof held, ", held-out error %.4g", result->held.value);
    progress_update(run->progress, (double)i / most, "iteration %d of %d, fit %s, change %.1e%s", i,
                    most, fit_text(result->fit, result->trust.noise, 6, fit), result->change, held);
}

/* Iterates until the options say to stop. */
static enum status iterate_all(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    progress_skip(run->progress, (double)result->iterations / run->options->max_iterations);
    TRY(run_switch_precision(run, error));
    while (result->stop == CPALS_GOES_ON) {
        TRY(iterate(run, error));
        TRY(weight_history_note(&run->weights, run->b, result->iterations, error));
        TRY(run_switch_precision(run, error));
        show(run);
        TRY(run_go_on(run, error));
    }
    return STATUS_OK;
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

static void tell(const struct cpals_result *result, struct progress *progress)
{
    char fit[FIT_TEXT];
    progress_done(progress, "%d iterations, fit %s, %s", result->iterations,
                  fit_text(result->fit, result->trust.noise, 6, fit),
                  cpals_stop_text(result->stop));
}

enum status cpals_iterate(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                          struct progress *progress, struct cpals_result *result,
                          struct error *error)
{
    struct run run = {.b = b, .options = options, .progress = progress, .result = result};
    double start = clock_now();
    progress_stage(progress, "decomposing");
    touch_model(&run, k);
    TRY_OR(done, weight_history_create(&run.weights, k->rank, error));
    TRY_OR(done, load_start(&run, k, error));
    saver_open(&run.saver, options->saving, result->iterations, progress);
    fit_trace_begin(options->trace, result->iterations + 1);
    iterate_all(&run, error);
    saver_close(&run.saver);
    result->saved = run.saver.saved;
    result->not_saved = run.saver.error;
    TRY_OR(done, error->status);
    TRY_OR(done, run_end_sweeps(&run, error));
    backend_likelihood(b, result->fit, &result->deviance, &result->log_likelihood);
    result->seconds = clock_now() - start;
    TRY_OR(done, model_health(&result->health, b, &run.weights, result->iterations, error));
    tell(result, progress);
done:
    page_touch_end(&run.pages);
    weight_history_free(&run.weights);
    best_model_free(&run.best);
    return error->status;
}

/* The core consistency is skipped after an interrupt. */
static bool wants_core(const struct backend *b, const struct cpals_options *options,
                       const struct cpals_result *result)
{
    const bool by_rows = problem_by_rows(&b->options.problem); /* there is no MTTKRP */
    bool ended = result->stop == CPALS_INTERRUPTED || result->stop == CPALS_TIME_LIMIT;
    return options->core_consistency && !by_rows && !ended && result->fit > options->core_above;
}

/* The standard form of the whole model, of which k has the rows that are here. */
static enum status arrange(const struct backend *b, struct ktensor *k, struct error *error)
{
    struct ktensor_rows own = {{0}, {0}};
    for (int n = 0; n < b->order; n++) {
        own.first[n] = b->ranks->mode[n].first;
        own.count[n] = b->ranks->mode[n].count;
    }
    return model_arrange_together(k, &own, b->ranks->all, error);
}

enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result, struct error *error)
{
    const struct core_limits limits = {options->core_passes, options->interrupted,
                                       options->deadline};
    if (!wants_core(b, options, result))
        return backend_store_arranged(b, k, error);
    TRY(backend_store(b, k, error));
    TRY(core_consistency(&result->core, b, k, &limits, progress, error));
    return arrange(b, k, error);
}
