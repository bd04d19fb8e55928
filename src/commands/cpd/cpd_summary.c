#include "commands/cpd/cpd_summary.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/fit_text.h"

#define SHORT_STAGE 0.01 /* of the total: a stage that is shown only where all are */
#define STAGE_LINE  "  %-12s %10.3f s %5.1f %%" /* name, seconds, per cent of the total */

/* All stages and the time of each mode, or the stages that took long. */
static void show_times(struct progress *progress, const struct cpd_times *times, int order,
                       bool all)
{
    struct cpd_stage stage[CPD_STAGES];
    double total = clock_now() - times->start;
    int count = cpd_stages(times, order, total, stage);
    for (int i = 0; i < count; i++) {
        int op = stage[i].operation;
        if (all || stage[i].seconds >= SHORT_STAGE * total)
            progress_note(progress, STAGE_LINE, stage[i].name, stage[i].seconds,
                          100 * stage[i].seconds / total);
        bool by_mode = all && op >= 0 && operation_has_modes((enum operation)op);
        for (int n = 0; by_mode && n < order; n++)
            progress_note(progress, "    mode %-5d %10.3f s", n + 1, times->operation[op][n]);
    }
    progress_note(progress, STAGE_LINE, "total", total, 100.0);
}

/* How well the model predicts what was held out. */
static void show_held(struct progress *progress, const struct held_error *held)
{
    char auc[48] = "", error[128];
    if (held->entries == 0)
        return;
    if (held->loss == LOSS_POISSON)
        snprintf(error, sizeof error,
                 "mean deviance %.4g (standard error %.1g), log-likelihood %.6g, RMSE %.4g",
                 held->value, held->error, held->log_likelihood, held->rmse);
    else
        snprintf(error, sizeof error, "RMSE %.4g (standard error %.1g)", held->rmse, held->error);
    if (held->unlisted > 0)
        snprintf(auc, sizeof auc, ", AUC %.4f", held->auc);
    progress_note(progress, "held out %ju entr%s: %s, MAE %.4g%s", (uintmax_t)held->entries,
                  held->entries == 1 ? "y" : "ies", error, held->mae, auc);
}

static void show_ridge(struct progress *progress, const struct ridge_search *ridge)
{
    if (ridge->count > 0)
        progress_note(progress, "ridge %g, of %d that were tried", ridge->best, ridge->count);
}

static void show_likelihood(struct progress *progress, const struct cpals_result *result)
{
    char violation[48] = "";
    if (result->log_likelihood == 0)
        return;
    if (!isnan(result->violation))
        snprintf(violation, sizeof violation, ", KKT violation %.1e", result->violation);
    progress_note(progress, "log-likelihood %.10g, deviance %.10g%s", result->log_likelihood,
                  result->deviance, violation);
}

void cpd_summarise(struct progress *progress, const struct cpd_results *results, bool all_times)
{
    const struct cpals_result *result = &results->result;
    const struct cpd_times *times = &results->times;
    const struct ktensor_files *files = &results->files;
    static const char *const why[] = {
        [CPALS_CONVERGED] = "converged",
        [CPALS_ITERATIONS] = "stopped at the limit of iterations",
        [CPALS_EARLY] = "stopped early",
        [CPALS_INTERRUPTED] = "interrupted",
        [CPALS_TIME_LIMIT] = "stopped at the time limit",
    };
    char size[NUMBER_SIZE_TEXT], fit[FIT_TEXT];
    fit_text(result->fit, result->trust.noise, 9, fit);
    progress_note(progress, "fit %s after %d iteration%s, %s (last change %.1e)", fit,
                  result->iterations, result->iterations == 1 ? "" : "s", why[result->stop],
                  result->change);
    show_held(progress, &result->held);
    show_ridge(progress, &results->starts.ridge);
    show_likelihood(progress, result);
    if (result->restarts > 0)
        progress_note(progress, "momentum: %d restart%s, %d iteration%s lost", result->restarts,
                      result->restarts == 1 ? "" : "s", result->restarts,
                      result->restarts == 1 ? "" : "s");
    if (result->single_iterations > 0)
        progress_note(progress, "%d of these iterations ran in single precision",
                      result->single_iterations);
    show_times(progress, times, results->tensor.shape.order, all_times);
    if (times->communication > 0)
        progress_note(progress, "moving rows and sums among ranks took %.1f %% of the iterations",
                      100 * times->communication / result->seconds);
    progress_note(progress, "peak memory %s", number_size(machine_memory_peak(), size));
    for (int i = 0; i < files->count; i++)
        progress_note(progress, "wrote %s", files->path[i]);
}
