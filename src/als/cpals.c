#include "als/cpals.h"

#include <math.h>
#include <string.h>

#include "als/precision_switch.h"
#include "base/clock.h"

/* The least-squares step of mode n: A_n changes, all other factor matrices stay. */
static enum status update_mode(struct backend *b, int n, struct error *error)
{
    /* M = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1) */
    enum status status = backend_mttkrp(b, n, error);
    /* V = G_1 * ... (without n) ... * G_N;  A_n = M V^+
     * lambda_r = ||A_n(:,r)||;  A_n(:,r) /= lambda_r;  G_n = A_n'A_n */
    return status == STATUS_OK ? backend_update(b, n, error) : status;
}

enum status cpals_sweep(struct backend *b, struct backend_fit *fit, struct error *error)
{
    for (int n = 0; n < b->order; n++) {
        enum status status = b->rules.fixed[n] ? STATUS_OK : update_mode(b, n, error);
        if (status != STATUS_OK)
            return status;
    }
    /* fit = 1 - ||X - Y|| / ||X|| with the model Y = [lambda; A_1, ..., A_N] and n the mode that
     * was updated last: ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2,
     * <X, Y> = sum_ir M(i,r) A_n(i,r) lambda_r, ||Y||^2 = lambda' (G_1 * ... * G_N) lambda */
    return backend_fit(b, mode_rules_last(&b->rules, b->order), fit, error);
}

/* What the run is to do after the iterations so far, as far as they say. The changes from no fit to
 * the first one, from one in single precision to one in double, and within single do not count. */
static enum cpals_stop stop_after(const struct cpals_result *result,
                                  const struct cpals_options *options)
{
    if (result->iterations - result->single_iterations > 1 &&
        fabs(result->change) < options->tolerance)
        return CPALS_CONVERGED;
    return result->iterations >= options->max_iterations ? CPALS_ITERATIONS : CPALS_GOES_ON;
}

/* One sweep; *fit = its fit, from the residual where the options or rounding ask for that. */
static enum status iterate(struct backend *b, const struct cpals_options *options, int i,
                           struct cpals_result *result, struct error *error)
{
    struct backend_fit fit;
    bool due = options->check_every > 0 && i % options->check_every == 0;
    bool first = precision_is_first(b); /* no such iteration stops the run */
    if (cpals_sweep(b, &fit, error) != STATUS_OK ||
        fit_trust_check(&result->trust, b, due, first ? 0 : options->tolerance, &fit, error) !=
            STATUS_OK)
        return error_prefix(error, "iteration %d: ", i);
    result->change = fit.value - result->fit;
    result->fit = fit.value;
    result->iterations = i;
    result->single_iterations += first;
    fit_trust_note(&result->trust, &fit, result->change);
    return fit_trace_note(options->trace, fit.value, error);
}

/* From single precision to double, where that is due after the iterations so far. */
static enum status switch_precision(struct backend *b, const struct cpals_options *options,
                                    const struct cpals_result *result, struct error *error)
{
    const struct precision_progress run = {.iterations = result->iterations,
                                           .most = options->max_iterations,
                                           .change = result->change,
                                           .noise = result->trust.noise,
                                           .tolerance = options->tolerance};
    return precision_switch(b, &run, error);
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

static void save(struct saver *saver, struct backend *b, const struct cpals_options *options,
                 const struct cpals_result *result)
{
    struct checkpoint_about about = options->saving->about;
    about.iterations = result->iterations;
    about.fit = result->fit;
    about.change = result->change;
    about.single_iterations = result->single_iterations;
    about.factors = b->precision;
    saver_save(saver, b, &about, result->stop != CPALS_GOES_ON);
}

/* Settles, alike on all ranks, whether the run stops, and saves what is to be saved. */
static enum status settle_stop(struct backend *b, const struct cpals_options *options,
                               struct saver *saver, struct cpals_result *result,
                               struct error *error)
{
    int wish = wish_of(options, saver, result->iterations);
    result->stop = stop_after(result, options);
    if (result->stop != CPALS_CONVERGED && comm_agree(b->ranks->all, &wish, error) != STATUS_OK)
        return error->status;
    if (result->stop != CPALS_CONVERGED && wish > WISH_SIGNAL) {
        result->interrupted = wish - WISH_SIGNAL;
        result->stop = CPALS_INTERRUPTED;
    } else if (result->stop == CPALS_GOES_ON && wish == WISH_TIME_LIMIT) {
        result->stop = CPALS_TIME_LIMIT;
    }
    if (options->saving && (wish == WISH_CHECKPOINT || result->stop != CPALS_GOES_ON))
        save(saver, b, options, result);
    return STATUS_OK;
}

/* Loads the start: a model, or what a checkpoint has kept of a run. */
static enum status load_start(struct backend *b, const struct ktensor *k,
                              const struct cpals_options *options, struct cpals_result *result,
                              struct error *error)
{
    const struct checkpoint *from = options->resume;
    *result = (struct cpals_result){0};
    if (!from)
        return backend_begin(b, k, error);
    result->iterations = from->about.iterations;
    result->fit = from->about.fit;
    result->change = from->about.change;
    result->single_iterations = from->about.single_iterations;
    result->stop = stop_after(result, options);
    return backend_resume(b, k, &from->carried, error);
}

/* What goes along with a run. */
struct run {
    struct backend *b;
    const struct cpals_options *options;
    struct saver saver;
    struct weight_history weights;
    struct progress *progress;
    struct cpals_result *result;
};

/* Iterates until the options say to stop. */
static enum status iterate_all(struct run *run, struct error *error)
{
    const struct cpals_options *options = run->options;
    struct cpals_result *result = run->result;
    while (result->stop == CPALS_GOES_ON) {
        int i = result->iterations + 1;
        if (iterate(run->b, options, i, result, error) != STATUS_OK ||
            weight_history_note(&run->weights, run->b, i, error) != STATUS_OK ||
            switch_precision(run->b, options, result, error) != STATUS_OK)
            return error->status;
        progress_update(run->progress, (double)i / options->max_iterations,
                        "iteration %d of %d, fit %.6f, change %.1e", i, options->max_iterations,
                        result->fit, result->change);
        if (settle_stop(run->b, options, &run->saver, result, error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* Where fits are checked, the last one is. */
static enum status check_last(struct backend *b, const struct cpals_options *options,
                              struct cpals_result *result, struct error *error)
{
    struct backend_fit fit = {result->fit, result->trust.noise};
    bool due = options->check_every > 0 && !result->trust.exact;
    if (!due || fit_trust_check(&result->trust, b, due, 0, &fit, error) != STATUS_OK)
        return error->status;
    result->fit = fit.value;
    result->trust.noise = fit.noise;
    fit_trace_correct(options->trace, fit.value);
    return STATUS_OK;
}

const char *cpals_stop_text(enum cpals_stop stop)
{
    static const char *const text[] = {[CPALS_GOES_ON] = "not stopped",
                                       [CPALS_CONVERGED] = "converged",
                                       [CPALS_ITERATIONS] = "iteration limit",
                                       [CPALS_INTERRUPTED] = "interrupted",
                                       [CPALS_TIME_LIMIT] = "time limit"};
    return text[stop];
}

static void tell(const struct cpals_result *result, struct progress *progress)
{
    progress_done(progress, "%d iterations, fit %.6f, %s", result->iterations, result->fit,
                  cpals_stop_text(result->stop));
}

enum status cpals_iterate(struct backend *b, const struct ktensor *k,
                          const struct cpals_options *options, struct progress *progress,
                          struct cpals_result *result, struct error *error)
{
    struct run run = {.b = b, .options = options, .progress = progress, .result = result};
    double start = clock_now();
    progress_stage(progress, "decomposing");
    if (weight_history_create(&run.weights, k->rank, error) == STATUS_OK &&
        load_start(b, k, options, result, error) == STATUS_OK) {
        saver_open(&run.saver, options->saving, result->iterations, progress);
        fit_trace_begin(options->trace, result->iterations + 1);
        if (switch_precision(b, options, result, error) == STATUS_OK)
            iterate_all(&run, error);
        saver_close(&run.saver);
        result->saved = run.saver.saved;
        result->not_saved = run.saver.error;
        if (error->status == STATUS_OK && check_last(b, options, result, error) == STATUS_OK) {
            result->seconds = clock_now() - start;
            model_health(&result->health, b, &run.weights, result->iterations, error);
        }
    }
    weight_history_free(&run.weights);
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
    if (backend_store(b, k, error) != STATUS_OK)
        return error->status;
    memcpy(k->nonneg, b->rules.nonneg, sizeof k->nonneg);
    memcpy(k->fixed, b->rules.fixed, sizeof k->fixed);
    if (!wants_core(options, result))
        return STATUS_OK;
    return core_consistency(&result->core, b, k, options->interrupted, options->deadline, progress,
                            error);
}

enum status cpals_run(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                      struct progress *progress, struct cpals_result *result, struct error *error)
{
    if (cpals_iterate(b, k, options, progress, result, error) != STATUS_OK ||
        cpals_store(b, k, options, progress, result, error) != STATUS_OK)
        return error->status;
    return ktensor_arrange(k, error);
}
