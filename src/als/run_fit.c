#include "als/run.h"

#include <float.h>
#include <math.h>

#include "als/precision_switch.h"

#define MOST_GROWTH 1e7 /* of components (struct backend_fit): more says nothing of the tensor */

bool run_changed_little(const struct run *run)
{
    const struct cpals_result *result = run->result;
    return run->comparable && result->iterations - result->single_iterations > 1 &&
           fabs(result->change) < run->options->tolerance;
}

static struct model_score score_of(const struct cpals_result *result)
{
    return (struct model_score){.iteration = result->iterations,
                                .fit = result->fit,
                                .held = result->held.value,
                                .noise = result->trust.noise,
                                .exact = result->trust.exact};
}

/* As best_model_note, where the next sweep may make the fit worse, or always where the held-out
 * error decides. A copy needs the pages of k, which must not be touched any more. */
static enum status keep_best(struct run *run, bool fit_may_fall, struct error *error)
{
    const struct model_score score = score_of(run->result);
    const bool copy = fit_may_fall || run->best.by_held;
    if (copy)
        page_touch_end(&run->pages);
    return best_model_note(&run->best, run->b, &score, copy, error);
}

/* The held-out error of an accepted sweep. */
static enum status note_held(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    if (!run->options->held)
        return STATUS_OK;
    TRY(held_error_find(&result->held, run->b, run->options->held, error));
    if (run->fading || (result->least_iteration > 0 && !(result->held.value < result->least_held)))
        return STATUS_OK;
    result->least_held = result->held.value;
    result->least_iteration = result->iterations;
    return STATUS_OK;
}

enum status run_note_sweep(struct run *run, const struct backend_fit *fit, struct error *error)
{
    struct cpals_result *result = run->result;
    result->change = fit->value - result->fit;
    if (!run->fading && !momentum_accepts(&run->momentum, fit)) {
        result->restarts++;
        return STATUS_OK;
    }
    if (fit->growth > MOST_GROWTH)
        return error_set(error, STATUS_NUMERICAL,
                         "the components have grown to %.1g times the size of the known entries, "
                         "which do not determine them",
                         fit->growth);
    result->fit = fit->value;
    TRY(note_held(run, error));
    result->violation = fit->violation;
    fit_trust_note(&result->trust, fit, run->comparable ? result->change : 0, run->b->precision);
    if (run->fading) {
        momentum_pass(&run->momentum);
        return STATUS_OK;
    }
    momentum_note(&run->momentum, run_changed_little(run));
    int may_fall = result->trust.blind ||
                   backend_fit_may_fall(fit, run->b->options.problem.rank, run->b->precision);
    TRY(comm_allreduce_max(run->b->ranks->all, &may_fall,
                           error)); /* not all machines find the same condition */
    return keep_best(run, may_fall, error);
}

/* *fit, of the model as it stands, takes the place of that of the last iteration. */
static void take_fit(struct run *run, const struct backend_fit *fit)
{
    run->result->fit = fit->value;
    fit_trust_take(&run->result->trust, fit);
    fit_trace_correct(run->options->trace, fit->value);
}

/* Replaces the fit of the model by that from the residual, as fit_trust_check does. */
static enum status check_fit(struct run *run, bool due, double tolerance, struct error *error)
{
    struct cpals_result *result = run->result;
    struct backend_fit fit = {.value = result->fit, .noise = result->trust.noise};
    if (result->trust.exact)
        return STATUS_OK;
    TRY(fit_trust_check(&result->trust, run->b, due, tolerance, &fit, error));
    result->change += fit.value - result->fit;
    take_fit(run, &fit);
    return STATUS_OK;
}

/* Keeps the model of the last iteration in single precision, because a sweep in double may fall
 * below its fit. Where rounding hides that fit, the residual gives it. */
static enum status keep_single(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    const double small = fmax(run->options->tolerance, SINGLE_RESOLVES);
    TRY(check_fit(run, false, small, error));
    return keep_best(run, result->trust.exact, error);
}

enum status run_switch_precision(struct run *run, struct error *error)
{
    const struct cpals_result *result = run->result;
    const struct precision_progress made = {.iterations = result->iterations,
                                            .most = run->options->max_iterations,
                                            .change = result->change,
                                            .noise = result->trust.noise,
                                            .tolerance = run->options->tolerance};
    if (!precision_is_due(run->b, &made))
        return STATUS_OK;
    TRY(momentum_pause(&run->momentum, run->b, error));
    TRY(backend_widen(run->b, error));
    TRY(keep_single(run, error));
    momentum_begin_anew(&run->momentum, run->b);
    return STATUS_OK;
}

/* The model of the last accepted sweep becomes that of the backend. */
static enum status end_momentum(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    struct backend_fit fit;
    bool again;
    TRY(momentum_end(&run->momentum, run->b, &fit, &again, error));
    if (!again)
        return STATUS_OK;
    TRY(fit_trust_check(&result->trust, run->b, false, 0, &fit, error));
    result->change = fit.value - result->fit;
    result->violation = fit.violation;
    take_fit(run, &fit);
    return STATUS_OK;
}

/* Where unlisted entries still faded in the last sweep, the fit becomes that of the problem itself.
 * What the sweep violated was another problem. */
static enum status end_fading(struct run *run, struct error *error)
{
    const struct unlisted_count count = problem_count(&run->b->options.problem, -1);
    struct backend_fit fit = {.value = run->result->fit};
    if (!run->fading)
        return STATUS_OK;
    backend_weigh(run->b, &count);
    TRY(backend_residual(run->b, &fit, error));
    run->result->violation = NAN;
    take_fit(run, &fit);
    return STATUS_OK;
}

/* The model of the best iteration becomes that of the backend. */
static enum status take_best(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    const struct model_score score = score_of(result);
    if (!best_model_is_better(&run->best, &score))
        return STATUS_OK;
    result->last_fit = result->fit;
    result->fit = run->best.of.fit;
    result->best_iteration = run->best.of.iteration;
    result->trust.noise = run->best.of.noise;
    result->trust.exact = run->best.of.exact;
    return best_model_restore(&run->best, run->b, error);
}

enum status run_end_sweeps(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    const struct held_out *held = run->options->held;
    TRY(end_momentum(run, error));
    TRY(end_fading(run, error));
    if (run->options->check_every > 0)
        TRY(check_fit(run, true, 0, error));
    if (held)
        TRY(held_error_find(&result->held, run->b, held, error));
    TRY(take_best(run, error));
    return held ? held_error_find_all(&result->held, run->b, held, error) : STATUS_OK;
}
