#include "als/run.h"

#include <string.h>

#include "base/clock.h"

enum cpals_stop run_stop(const struct run *run)
{
    const struct cpals_result *result = run->result;
    const struct cpals_options *options = run->options;
    const int best = run->best.of.iteration;
    if (run_changed_little(run) && momentum_may_stop(&run->momentum))
        return CPALS_CONVERGED;
    if (run->best.by_held && best > 0 && result->iterations - best >= options->early_stop)
        return CPALS_EARLY;
    return result->iterations >= options->max_iterations ? CPALS_ITERATIONS : CPALS_GOES_ON;
}

/* Requests of a rank after an iteration; the maximum over all ranks wins. */
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
    about.held = result->held.value;
    about.least_held = result->least_held;
    about.least_iteration = result->least_iteration;
    memcpy(about.problem.rules.ridge, run->b->options.problem.rules.ridge,
           sizeof about.problem.rules.ridge); /* which may have been chosen since */
    about.single_iterations = result->single_iterations;
    about.factors = run->b->precision;
    momentum_tell(&run->momentum, &about);
    saver_save(&run->saver, run->b, &about, &run->best, result->stop != CPALS_GOES_ON);
}

/* *wish becomes the maximum over all ranks, unless the run has converged. */
static enum status decide_stop(struct run *run, int *wish, struct error *error)
{
    struct cpals_result *result = run->result;
    result->stop = run_stop(run);
    if (result->stop == CPALS_CONVERGED)
        return STATUS_OK;
    TRY(comm_allreduce_max(run->b->ranks->all, wish, error));
    if (*wish > WISH_SIGNAL) {
        result->interrupted = *wish - WISH_SIGNAL;
        result->stop = CPALS_INTERRUPTED;
    } else if (result->stop == CPALS_GOES_ON && *wish == WISH_TIME_LIMIT) {
        result->stop = CPALS_TIME_LIMIT;
    }
    return STATUS_OK;
}

enum status run_go_on(struct run *run, struct error *error)
{
    const struct cpals_options *options = run->options;
    const struct cpals_result *result = run->result;
    int wish = wish_of(options, &run->saver, result->iterations);
    TRY(decide_stop(run, &wish, error));
    TRY(momentum_go_on(&run->momentum, run->b, result->stop == CPALS_CONVERGED, error));
    if (options->saving && (wish == WISH_CHECKPOINT || result->stop != CPALS_GOES_ON))
        save(run);
    return STATUS_OK;
}
