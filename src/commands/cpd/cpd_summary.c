#include "commands/cpd/cpd_job.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "als/core_consistency.h"
#include "base/clock.h"
#include "base/machine.h"
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

/* The held-out errors of models without components. */
static void show_baseline(struct progress *to, const struct baseline *b, bool rates)
{
    progress_note(to, "without a model: %s %.4g of the mean, %.4g of the means of slices",
                  rates ? "mean deviance" : "RMSE", b->mean, b->slices);
}

/* How well the model predicts what was held out. */
static void show_holdout_error(struct progress *progress, const struct cpd_results *results)
{
    const struct holdout_error *holdout = &results->result.holdout_error;
    const struct place_scores *places = &holdout->places; /* among the indices of each mode */
    char auc[80] = "", error[128], reciprocal[12 * MAX_ORDER] = "", hits[12 * MAX_ORDER] = "";
    if (holdout->entries == 0)
        return;
    if (loss_of(holdout->loss)->rates)
        snprintf(error, sizeof error,
                 "mean deviance %.4g (standard error %.1g), log-likelihood %.6g, RMSE %.4g",
                 holdout->value, holdout->error, holdout->log_likelihood, holdout->rmse);
    else
        snprintf(error, sizeof error, "RMSE %.4g (standard error %.1g)", holdout->rmse,
                 holdout->error);
    if (holdout->unlisted > 0)
        snprintf(auc, sizeof auc, ", AUC %.4f", holdout->auc);
    if (holdout->unlisted > 0 && loss_of(holdout->loss)->kind == POISSON_CLIPPED)
        words_append(auc, sizeof auc, ", log-loss %.4g", holdout->log_loss);
    progress_note(progress, "held out %ju entr%s: %s, MAE %.4g%s", (uintmax_t)holdout->entries,
                  holdout->entries == 1 ? "y" : "ies", error, holdout->mae, auc);
    for (int n = 0; n < results->tensor.shape.order; n++) {
        const char *between = n > 0 ? ", " : "";
        words_append(reciprocal, sizeof reciprocal, "%s%.4f", between, places->reciprocal[n]);
        words_append(hits, sizeof hits, "%s%.4f", between, places->hits[n]);
    }
    if (places->entries > 0)
        progress_note(progress,
                      "of %ju of these, among the indices of each mode: mean reciprocal rank %s; "
                      "hits at %d %s",
                      (uintmax_t)places->entries, reciprocal, PLACES_FIRST, hits);
    show_baseline(progress, &results->baseline, loss_of(holdout->loss)->rates);
}

/* Shows the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
static void summarise(struct progress *progress, const struct cpd_results *results, bool all_times)
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
    char size[NUMBER_SIZE_TEXT], fit[FIT_TEXT], share[SHARE_TEXT];
    fit_text(result->fit, result->trust.noise, 9, fit);
    fit_share_text(result->fit, result->log_likelihood != 0, share);
    progress_note(progress, "fit %s (explains %s) after %d iteration%s, %s (last change %.1e)", fit,
                  share, result->iterations, result->iterations == 1 ? "" : "s", why[result->stop],
                  result->change);
    show_holdout_error(progress, results);
    if (results->runs.ridge.count > 0)
        progress_note(progress, "ridge %g, of %d that were tried", results->runs.ridge.best,
                      results->runs.ridge.count);
    if (result->log_likelihood != 0)
        progress_note(progress, "log-likelihood %.10g, deviance %.10g", result->log_likelihood,
                      result->deviance);
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

/* --- several starts --- */

/* Shows each start's seed, iterations, fit and score. */
static void show_starts(struct progress *to, const struct starts *s)
{
    progress_note(to, "                seed iterations         fit  score%s",
                  s->start[s->best].result.holdout_error.entries > 0 ? "  held-out error" : "");
    for (int i = 0; i < s->made; i++) {
        const struct run *o = &s->start[i];
        const struct cpals_result *r = &o->result;
        char fit[FIT_TEXT], score[16] = "-", holdout[32] = "";
        if (!isnan(o->score))
            snprintf(score, sizeof score, "%.4f", o->score);
        if (r->holdout_error.entries > 0)
            snprintf(holdout, sizeof holdout, "%10.4g  ", r->holdout_error.value);
        if (r->stop == CPALS_BREAKDOWN)
            progress_note(to, "  %18ju %10d %11s %6s  broke down: %s", (uintmax_t)o->guess.seed,
                          r->iterations, "-", "-", r->breakdown.message);
        else
            progress_note(to, "  %18ju %10d %11s %6s  %s%s%s", (uintmax_t)o->guess.seed,
                          r->iterations, fit_text(r->fit, r->trust.noise, 9, fit), score, holdout,
                          cpals_stop_text(r->stop), i == s->best ? ", best" : "");
    }
}

/* --- replicates of a tensor --- */

#define ROW_TEXT (32 + 12 * MAX_ORDER)

/* Shows for each component of the whole its scores (struct replicated_component), or of two halves
 * the score of its partners with each other and its score with each; and the cosines of the two
 * partners that are least alike. Nothing where no replicates were compared. */
static void show_replication(struct progress *to, const struct replication *s)
{
    const bool halves = slice_parts_are_halves(&s->parts);
    char text[ROW_TEXT] = "", mode[32], scores[64];
    if (s->pairs == 0)
        return;
    for (int n = 0; n < s->order; n++) {
        snprintf(mode, sizeof mode, "mode %d", s->mode[n] + 1);
        words_append(text, sizeof text, " %10s", mode);
    }
    progress_note(to, "  component %s%s",
                  halves ? "    halves     half 1     half 2" : "     least     median", text);
    for (uint64_t r = 0; r < s->rank; r++) {
        const struct replicated_component *c = &s->component[r];
        const double *with = s->with + r * (uint64_t)s->replicates;
        text[0] = '\0';
        for (int n = 0; n < s->order; n++)
            words_append(text, sizeof text, " %10.4f", c->cosine[n]);
        if (halves)
            snprintf(scores, sizeof scores, "%10.4f %10.4f %10.4f", c->pair, with[0], with[1]);
        else
            snprintf(scores, sizeof scores, "%10.4f %10.4f", c->score, c->median);
        progress_note(to, "  %9ju %s%s%s", (uintmax_t)r + 1, scores, text,
                      c->score < REPLICATES_ALIKE ? "  differs" : "");
    }
}

/* The tables of the starts and of the replicates are results, which -q leaves; with a range of -r
 * only the table of the range is one. */
void cpd_show_result(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    struct cpd_results *r = &job->results;
    const struct starts *starts = &r->runs.starts[0];
    const bool range = cpd_settings_range(s);
    struct progress *to = s->runs.starts > 1 && !range ? &run->tables : &run->progress;
    summarise(&run->progress, r, s->verbose);
    find_in_result(&r->findings, &r->result, &s->common.options, &s->als);
    if (r->result.holdout_error.entries > 0)
        find_in_baseline(
            &r->findings, &r->result.holdout_error, r->baseline.slices, &s->common.options.problem,
            s->center || problem_has_rates(&s->common.options.problem) ? 0 : r->tensor.shape.order);
    cpd_show_findings(r, &run->progress);
    if (starts->asked > 1)
        show_starts(to, starts);
    find_in_starts(&r->findings, starts, r->tensor.nnz,
                   !s->init_stem && !s->resume &&
                       !problem_has_one_optimum(&s->common.options.problem));
    cpd_show_findings(r, to);
    to = range ? &run->progress : &run->tables;
    show_replication(to, &r->replication);
    find_in_replication(&r->findings, &r->replication);
    cpd_show_findings(r, to);
}

/* --- a range of -r --- */

#define BAR        20 /* characters */
#define AGREE_HEAD "starts that agree"

/* text (BAR + 1) = a bar that is filled to this part, 0 to 1. */
static void draw(char *text, double part)
{
    int length = (int)lround(BAR * fmin(fmax(part, 0), 1));
    memset(text, '.', BAR);
    memset(text, '#', (size_t)length);
    text[BAR] = '\0';
}

/* A text line of the table: with `core` the core consistency, without a bar beside a held-out
 * error; the starts that agree, `width` characters wide where a column follows. */
static void show_outcome(struct progress *to, const struct rank_outcome *o, bool core, int width)
{
    const struct cpals_result *r = &o->result;
    const struct replication_outcome *replication = &o->replication;
    char bar[BAR + 1], core_bar[BAR + 1] = "", percent[CORE_TEXT] = "-", fit[FIT_TEXT],
                                      middle[128] = "", agree[32] = "", scores[96];
    if (o->failure.status != STATUS_OK) {
        progress_note(to, "%7ju         - failed: %s", (uintmax_t)o->rank, o->failure.message);
        return;
    }
    draw(bar, r->fit);
    if (r->core.state == CORE_KNOWN) {
        draw(core_bar, r->core.percent / 100);
        core_consistency_text(&r->core, percent, sizeof percent);
    }
    if (r->holdout_error.entries > 0) {
        char error[32], ridge[32] = "";
        snprintf(error, sizeof error, "(%.1g)", r->holdout_error.error);
        if (o->ridge > 0)
            snprintf(ridge, sizeof ridge, " %8g", o->ridge);
        snprintf(middle, sizeof middle, "%10.4g %-8s%s %*s%s", r->holdout_error.value, error, ridge,
                 core ? 9 : 0, core ? percent : "", core ? "  " : "");
    } else if (core) {
        snprintf(middle, sizeof middle, "%10s %-*s ", percent, BAR, core_bar);
    }
    if (o->agreement.others > 0)
        snprintf(agree, sizeof agree, "%d of %d", o->agreement.agree, o->agreement.others);
    if (!replication->known)
        snprintf(scores, sizeof scores, "%s", replication->asked ? " -" : "");
    else if (replication->halves)
        snprintf(scores, sizeof scores, " %.4f, %ju of %ju", replication->median,
                 (uintmax_t)replication->alike, (uintmax_t)o->rank);
    else
        snprintf(scores, sizeof scores, " %.4f, %.4f, %ju of %ju", replication->median,
                 replication->least, (uintmax_t)replication->alike, (uintmax_t)o->rank);
    progress_note(to, "%7ju %9s %s %s%-*s%s", (uintmax_t)o->rank,
                  fit_text(r->fit, r->trust.noise, 6, fit), bar, middle, width, agree, scores);
}

void cpd_show_range(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->inputs.settings;
    const struct rank_outcome *outcome = job->results.outcome;
    const int count = job->results.outcomes;
    struct progress *to = &job->run.tables;
    char suggestion[RANK_CHOICE_TEXT];
    const unsigned known = rank_known(outcome, count);
    const char *agree = known & RANKS_AGREEMENT ? AGREE_HEAD : "";
    const char *replicates = known & RANKS_TWO_HALVES   ? " halves: score, alike"
                             : known & RANKS_REPLICATES ? " replicates: median, least, found again"
                                                        : "";
    const bool core = known & RANKS_CORE;
    if (!(known & RANKS_MODEL))
        return;
    if (known & RANKS_HOLDOUT)
        progress_note(to, "   rank       fit 0 to 1               held-out error     %s%s%s%s",
                      known & RANKS_RIDGE ? "   ridge " : "", core ? "     core  " : "", agree,
                      replicates);
    else if (!core)
        progress_note(to, "   rank       fit 0 to 1           %s%s", agree, replicates);
    else
        progress_note(to, "   rank       fit 0 to 1                     core 0 to 100%*s%s%s",
                      *agree || *replicates ? 13 : 0, "", agree, replicates);
    for (int i = 0; i < count; i++)
        show_outcome(to, &outcome[i], core, *agree && *replicates ? (int)strlen(AGREE_HEAD) : 0);
    if (known & RANKS_HOLDOUT)
        show_baseline(to, &job->results.baseline, problem_has_rates(&s->common.options.problem));
    if (count < rank_range_count(&s->ranks))
        progress_note(to, "not all ranks were tried before the end of the run");
    const uint64_t rank = rank_suggestion(outcome, count, suggestion);
    progress_note(to, "%s", suggestion);
    if (!s->nowrite && rank > 0)
        progress_note(to, "the names of its files begin with %s.r%ju", s->base_stem,
                      (uintmax_t)rank);
}
