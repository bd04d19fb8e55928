#include "als/cpals.h"

#include <float.h>
#include <math.h>

#include "als/precision_switch.h"
#include "base/clock.h"
#include "base/page_touch.h"
#include "model/fit_text.h"

/* The least-squares step of mode n: A_n changes, all other factor matrices stay. */
static enum status update_mode(struct backend *b, int n, struct error *error)
{
    /* M = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1) */
    enum status status = backend_mttkrp(b, n, error);
    /* V = G_1 * ... (without n) ... * G_N;  A_n = M V^+
     * lambda_r = ||A_n(:,r)||;  A_n(:,r) /= lambda_r;  G_n = A_n'A_n */
    return status == STATUS_OK ? backend_update(b, n, error) : status;
}

enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error)
{
    for (int n = 0; n < b->order; n++) {
        enum status status = b->problem.rules.fixed[n] ? STATUS_OK : update_mode(b, n, error);
        if (status != STATUS_OK)
            return status;
    }
    /* fit = 1 - ||X - Y|| / ||X|| with the model Y = [lambda; A_1, ..., A_N] and n the mode that
     * was updated last: ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2,
     * <X, Y> = sum_ir M(i,r) A_n(i,r) lambda_r, ||Y||^2 = lambda' (G_1 * ... * G_N) lambda */
    return backend_fit(b, mode_rules_last(&b->problem.rules, b->order), m, fit, error);
}

/* What goes along with a run. */
struct run {
    struct backend *b;
    const struct cpals_options *options;
    struct saver saver;
    struct weight_history weights;
    struct momentum_run momentum;
    struct best_model best;
    struct page_touch pages;
    struct progress *progress;
    struct cpals_result *result;
};

/* The changes from no fit to the first one, from one in single precision to one in double, and
 * within single do not count. */
static bool changed_little(const struct cpals_result *result, const struct cpals_options *options)
{
    return result->iterations - result->single_iterations > 1 &&
           fabs(result->change) < options->tolerance;
}

/* What the run is to do after the iterations so far, as far as they say. */
static enum cpals_stop stop_after(const struct run *run)
{
    const struct cpals_result *result = run->result;
    const struct cpals_options *options = run->options;
    if (changed_little(result, options) && momentum_may_stop(&run->momentum))
        return CPALS_CONVERGED;
    return result->iterations >= options->max_iterations ? CPALS_ITERATIONS : CPALS_GOES_ON;
}

/* One sweep. *fit is from the residual where the options or rounding ask for that. */
static enum status sweep(struct run *run, struct backend_fit *fit, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    bool due = options->check_every > 0 && result->iterations % options->check_every == 0;
    double small = precision_is_first(run->b) ? 0 : options->tolerance; /* that ends no run */
    if (cpals_sweep(run->b, momentum_state(&run->momentum), fit, error) != STATUS_OK)
        return error->status;
    return fit_trust_check(&result->trust, run->b, due, small, fit, error);
}

/* Takes the fit of a sweep for that of the model. */
static void keep_sweep(struct run *run, const struct backend_fit *fit)
{
    struct cpals_result *result = run->result;
    result->change = fit->value - result->fit;
    result->fit = fit->value;
    fit_trust_note(&result->trust, fit, result->change, run->b->precision);
    momentum_note(&run->momentum, changed_little(result, run->options));
}

/* Notes the model for the best one, and copies it if it is and `copy`, into pages that may still be
 * touched. */
static enum status keep_best(struct run *run, bool copy, struct error *error)
{
    const struct cpals_result *result = run->result;
    if (copy)
        page_touch_end(&run->pages);
    return best_model_note(&run->best, run->b, result->iterations, result->fit, copy, error);
}

/* One sweep. The fit after a rejected one is that of the sweep before. */
static enum status iterate(struct run *run, struct error *error)
{
    struct backend_fit fit;
    struct cpals_result *result = run->result;
    result->iterations++;
    result->single_iterations += precision_is_first(run->b);
    if (sweep(run, &fit, error) != STATUS_OK)
        return error_prefix(error, "iteration %d: ", result->iterations);
    if (momentum_accepts(&run->momentum, &fit)) {
        keep_sweep(run, &fit);
        if (keep_best(run, result->trust.blind, error) != STATUS_OK)
            return error->status;
    } else {
        result->change = fit.value - result->fit;
        result->restarts++;
    }
    return fit_trace_note(run->options->trace, result->fit, error);
}

/* Takes the residual's fit for that of the model, as of fit_trust_check. */
static enum status check_fit(struct backend *b, const struct cpals_options *options, bool due,
                             double tolerance, struct cpals_result *result, struct error *error)
{
    struct backend_fit fit = {.value = result->fit, .noise = result->trust.noise};
    if (result->trust.exact ||
        fit_trust_check(&result->trust, b, due, tolerance, &fit, error) != STATUS_OK)
        return error->status;
    result->change += fit.value - result->fit;
    result->fit = fit.value;
    result->trust.noise = fit.noise;
    result->trust.exact = fit.exact;
    fit_trace_correct(options->trace, fit.value);
    return STATUS_OK;
}

/* The model of the last iteration in single precision, whose fit is the residual's where rounding
 * hid that: a sweep in double may fall below it. */
static enum status keep_single(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    const double small = fmax(run->options->tolerance, SINGLE_RESOLVES);
    if (check_fit(run->b, run->options, false, small, result, error) != STATUS_OK)
        return error->status;
    return keep_best(run, result->trust.exact, error);
}

/* From single precision to double, where that is due after the iterations so far; momentum begins
 * anew then. */
static enum status switch_precision(struct run *run, struct error *error)
{
    const struct cpals_result *result = run->result;
    const struct precision_progress made = {.iterations = result->iterations,
                                            .most = run->options->max_iterations,
                                            .change = result->change,
                                            .noise = result->trust.noise,
                                            .tolerance = run->options->tolerance};
    if (!precision_is_due(run->b, &made))
        return STATUS_OK;
    if (momentum_pause(&run->momentum, run->b, error) != STATUS_OK)
        return error->status;
    if (backend_widen(run->b, error) != STATUS_OK)
        return error->status;
    if (keep_single(run, error) != STATUS_OK)
        return error->status;
    momentum_begin_anew(&run->momentum, run->b);
    return STATUS_OK;
}

/* What a rank wants after an iteration: of all ranks' wishes the largest counts. */
enum wish { WISH_NONE, WISH_CHECKPOINT, WISH_TIME_LIMIT, WISH_SIGNAL /* + the signal's number */ };

static int wish_of(const struct cpals_options *options, const struct saver *saver, int iterations)
{
    int number = options->interrupted ? *options->interrupted : 0;
    if (number)
        return WISH_SIGNAL + number;
    if (options->deadline > 0 && clock_now() >= options->deadline)
        return WISH_TIME_LIMIT;
    return saver_is_due(saver, iterations) ? WISH_CHECKPOINT : WISH_NONE;
}

static void save(struct run *run)
{
    struct checkpoint_about about = run->options->saving->about;
    const struct cpals_result *result = run->result;
    about.iterations = result->iterations;
    about.fit = result->fit;
    about.change = result->change;
    about.single_iterations = result->single_iterations;
    about.factors = run->b->precision;
    momentum_tell(&run->momentum, &about);
    saver_save(&run->saver, run->b, &about, &run->best, result->stop != CPALS_GOES_ON);
}

/* Settles, alike on all ranks, whether the run stops, and saves what is to be saved: what the next
 * iteration would begin with, unless the run has converged. */
static enum status settle_stop(struct run *run, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    int wish = wish_of(options, &run->saver, result->iterations);
    result->stop = stop_after(run);
    if (result->stop != CPALS_CONVERGED &&
        comm_allreduce_max(run->b->ranks->all, &wish, error) != STATUS_OK)
        return error->status;
    if (result->stop != CPALS_CONVERGED && wish > WISH_SIGNAL) {
        result->interrupted = wish - WISH_SIGNAL;
        result->stop = CPALS_INTERRUPTED;
    } else if (result->stop == CPALS_GOES_ON && wish == WISH_TIME_LIMIT) {
        result->stop = CPALS_TIME_LIMIT;
    }
    if (momentum_go_on(&run->momentum, run->b, result->stop == CPALS_CONVERGED, error) != STATUS_OK)
        return error->status;
    if (options->saving && (wish == WISH_CHECKPOINT || result->stop != CPALS_GOES_ON))
        save(run);
    return STATUS_OK;
}

/* Loads the start: a random model, the model k, or what a checkpoint has kept of a run. */
static enum status load_start(struct run *run, struct ktensor *k, struct error *error)
{
    const struct checkpoint *from = run->options->resume;
    struct cpals_result *result = run->result;
    *result = (struct cpals_result){.momentum = run->b->plan.request.momentum};
    if (momentum_begin(&run->momentum, run->b, k, run->options->random, from, error) != STATUS_OK ||
        best_model_create(&run->best, run->b, k, from, error) != STATUS_OK || !from)
        return error->status;
    result->iterations = from->about.iterations;
    result->fit = from->about.fit;
    result->change = from->about.change;
    result->single_iterations = from->about.single_iterations;
    result->restarts = from->about.momentum.restarts;
    result->stop = stop_after(run);
    return STATUS_OK;
}

/* The model is written once the device is done, and the host has nothing to do until then. */
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

/* Iterates until the options say to stop. */
static enum status iterate_all(struct run *run, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    progress_skip(run->progress, (double)result->iterations / options->max_iterations);
    while (result->stop == CPALS_GOES_ON) {
        if (iterate(run, error) != STATUS_OK)
            return error->status;
        int i = result->iterations;
        if (weight_history_note(&run->weights, run->b, i, error) != STATUS_OK ||
            switch_precision(run, error) != STATUS_OK)
            return error->status;
        char fit[FIT_TEXT];
        progress_update(run->progress, (double)i / options->max_iterations,
                        "iteration %d of %d, fit %s, change %.1e", i, options->max_iterations,
                        fit_text(result->fit, result->trust.noise, 6, fit), result->change);
        if (settle_stop(run, error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* The model of the last sweep that was kept becomes that of the backend. */
static enum status end_momentum(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    struct backend_fit fit;
    bool again;
    if (momentum_end(&run->momentum, run->b, &fit, &again, error) != STATUS_OK || !again ||
        fit_trust_check(&result->trust, run->b, false, 0, &fit, error) != STATUS_OK)
        return error->status;
    result->change = fit.value - result->fit;
    result->fit = fit.value;
    result->trust.exact = fit.exact;
    fit_trace_correct(run->options->trace, fit.value);
    return STATUS_OK;
}

/* Where fits are checked, the last one is. */
static enum status check_last(struct backend *b, const struct cpals_options *options,
                              struct cpals_result *result, struct error *error)
{
    return options->check_every > 0 ? check_fit(b, options, true, 0, result, error) : STATUS_OK;
}

/* The model of the best iteration becomes that of the backend. */
static enum status take_best(struct run *run, struct error *error)
{
    struct cpals_result *result = run->result;
    if (!best_model_is_better(&run->best, result->fit, result->trust.noise))
        return STATUS_OK;
    result->last_fit = result->fit;
    result->fit = run->best.fit;
    result->best_iteration = run->best.iteration;
    result->trust.exact = true;
    result->trust.noise = DBL_EPSILON;
    return best_model_restore(&run->best, run->b, error);
}

const char *cpals_stop_text(enum cpals_stop stop)
{
    static const char *const text[] = {
        [CPALS_GOES_ON] = "not stopped",        [CPALS_CONVERGED] = "converged",
        [CPALS_ITERATIONS] = "iteration limit", [CPALS_INTERRUPTED] = "interrupted",
        [CPALS_TIME_LIMIT] = "time limit",      [CPALS_BREAKDOWN] = "numerical breakdown"};
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
    if (weight_history_create(&run.weights, k->rank, error) == STATUS_OK &&
        load_start(&run, k, error) == STATUS_OK) {
        saver_open(&run.saver, options->saving, result->iterations, progress);
        fit_trace_begin(options->trace, result->iterations + 1);
        if (switch_precision(&run, error) == STATUS_OK)
            iterate_all(&run, error);
        saver_close(&run.saver);
        result->saved = run.saver.saved;
        result->not_saved = run.saver.error;
        if (error->status == STATUS_OK && end_momentum(&run, error) == STATUS_OK &&
            check_last(b, options, result, error) == STATUS_OK &&
            take_best(&run, error) == STATUS_OK) {
            result->seconds = clock_now() - start;
            model_health(&result->health, b, &run.weights, result->iterations, error);
        }
    }
    page_touch_end(&run.pages);
    weight_history_free(&run.weights);
    best_model_free(&run.best);
    if (error->status == STATUS_OK)
        tell(result, progress);
    return error->status;
}

/* A run that was ended is to end soon. */
static bool wants_core(const struct cpals_options *options, const struct cpals_result *result)
{
    bool ended = result->stop == CPALS_INTERRUPTED || result->stop == CPALS_TIME_LIMIT;
    return options->core_consistency && !ended && result->fit > options->core_above;
}

enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result, struct error *error)
{
    if (!wants_core(options, result))
        return backend_store_arranged(b, k, error);
    if (backend_store(b, k, error) != STATUS_OK ||
        core_consistency(&result->core, b, k,
                         options->core_passes ? options->core_passes : CORE_PASSES,
                         options->interrupted, options->deadline, progress, error) != STATUS_OK)
        return error->status;
    return backend_arrange(b, k, error);
}

enum status cpals_run(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                      struct progress *progress, struct cpals_result *result, struct error *error)
{
    if (cpals_iterate(b, k, options, progress, result, error) == STATUS_OK)
        cpals_store(b, k, options, progress, result, error);
    return error->status;
}
