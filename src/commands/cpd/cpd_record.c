#include "commands/cpd/cpd_job.h"

#include <math.h>
#include <omp.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "record/run_record.h"

/* How alike two halves of the tensor are, or several replicates; nothing without them. */
static void put_replication(struct json *j, const struct replication *s)
{
    const struct slice_parts *parts = &s->parts;
    const bool halves = slice_parts_are_halves(parts);
    if (parts->mode == 0)
        return;
    json_put_object(j, halves ? "split_half" : "replication");
    json_put_unsigned(j, "mode", (uint64_t)parts->mode);
    if (halves) {
        json_put_unsigned(j, "seed", parts->seed);
    } else {
        json_put_unsigned(j, "parts", (uint64_t)parts->parts);
        json_put_unsigned(j, "divisions", (uint64_t)parts->divisions);
    }
    json_put_array(j, halves ? "halves" : "replicates");
    for (int k = 0; k < s->replicates; k++) {
        const struct starts *starts = &s->starts[k];
        const struct run none = {0},
                         *best = starts->made > 0 ? &starts->start[starts->best] : &none;
        json_put_object(j, NULL);
        json_put_unsigned(j, "nonzeros", s->nonzeros[k]);
        json_put_number(j, "fit", starts->modelled > 0 ? best->result.fit : NAN);
        json_put_unsigned(j, "iterations", (uint64_t)best->result.iterations);
        if (!halves && s->pairs > 0 && k < s->made) {
            json_put_array(j, "components");
            for (uint64_t r = 0; r < s->rank; r++)
                json_put_number(j, NULL, s->with[r * (uint64_t)s->replicates + (uint64_t)k]);
            json_end(j);
        }
        json_end(j);
    }
    json_end(j);
    if (!halves)
        json_put_numbers(j, "scores", s->score, s->pairs);
    json_put_number(j, "score", s->median);
    if (s->pairs > 0) {
        json_put_unsigned(j, "alike", s->alike);
        json_put_array(j, "components");
        for (uint64_t r = 0; r < s->rank; r++)
            json_put_number(j, NULL, s->component[r].score);
        json_end(j);
    }
    json_end(j);
}

static void put_options(struct json *j, const struct cpd_settings *s, const struct cpd_results *r,
                        int order)
{
    const struct problem *problem = &s->common.options.problem;
    const struct unlisted *unlisted = &problem->unlisted;
    const struct value_rule *values = &s->common.values;
    const char *init =
        s->init_stem ? s->init_stem : word_of(cpd_init_words, (int)s->runs.guess.kind);
    char text[VALUE_RULE_TEXT], unlisted_word[UNLISTED_TEXT];
    json_put_object(j, "options");
    run_record_options(j, &s->common.options);
    json_put_unsigned(j, "iterations", (uint64_t)s->als.max_iterations);
    json_put_number(j, "tolerance", s->als.tolerance);
    json_put_unsigned(j, "check_every", (uint64_t)s->als.check_every);
    json_put_string(
        j, "accelerate",
        word_of(acceleration_words, r->result.momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF));
    json_put_unsigned(j, "seed", s->runs.guess.seed);
    if (s->runs.until_found)
        json_put_string(j, "starts", "auto");
    else
        json_put_unsigned(j, "starts", (uint64_t)s->runs.starts);
    json_put_string(j, "init", s->resume ? NULL : init);
    json_put_unsigned(j, "inner", (uint64_t)problem_inner(problem));
    json_put_string(j, "values",
                    values->kind == VALUES_AS_THEY_ARE ? NULL : value_rule_text(values, text));
    if (s->center) {
        run_record_modes(j, "center", r->means.mode, order);
        json_put_number(j, "shrinkage", r->means.shrinkage);
    }
    if (unlisted->weighed && unlisted->weight > 0)
        json_put_number(j, "unlisted", unlisted->weight);
    else
        json_put_string(j, "unlisted", unlisted_text(unlisted, unlisted_word));
    json_put_number(j, "fade", unlisted->fade);
    json_put_numbers(j, "ridge", problem->rules.ridge, (size_t)order);
    run_record_modes(j, "nonneg", problem->rules.nonneg, order);
    run_record_modes(j, "fixed", problem->rules.fixed, order);
    json_put_number(j, "holdout", problem->holdout.share);
    if (problem->holdout.share > 0)
        json_put_unsigned(j, "holdout_seed", problem->holdout.seed);
    json_put_unsigned(j, "early_stop", (uint64_t)s->als.early_stop);
    json_put_string(j, "stem", s->nowrite ? NULL : s->stem);
    json_put_array(j, "format");
    for (const struct word *w = ktensor_format_words; w->text && !s->nowrite; w++)
        if (s->formats & (unsigned)w->value)
            json_put_string(j, NULL, w->text);
    json_end(j);
    json_put_string(j, "checkpoint", s->saving.path);
    json_put_string(j, "resume", s->resume);
    json_put_number(j, "time_limit", s->time_limit);
    json_end(j);
}

/* The name of a stop in records: "iteration_limit". */
static const char *stop_name(enum cpals_stop stop)
{
    static const char *const name[] = {
        [CPALS_CONVERGED] = "converged",   [CPALS_ITERATIONS] = "iteration_limit",
        [CPALS_EARLY] = "early",           [CPALS_INTERRUPTED] = "interrupted",
        [CPALS_TIME_LIMIT] = "time_limit", [CPALS_BREAKDOWN] = "breakdown"};
    return name[stop];
}

/* The name of held-out errors (struct holdout_error) in records: "held_out_rmse". */
static const char *holdout_error_name(enum loss_name loss)
{
    return loss_of(loss)->rates ? "held_out_deviance" : "held_out_rmse";
}

static void put_holdout_error(struct json *j, const struct holdout_error *holdout,
                              const struct baseline *baseline, int order)
{
    if (holdout->entries == 0)
        return;
    json_put_object(j, "held_out");
    json_put_unsigned(j, "entries", holdout->entries);
    const bool rates = loss_of(holdout->loss)->rates;
    if (rates) {
        json_put_number(j, "mean_deviance", holdout->value);
        json_put_number(j, "mean_deviance_error", holdout->error);
        json_put_number(j, "log_likelihood", holdout->log_likelihood);
    }
    json_put_number(j, "rmse", holdout->rmse);
    if (!rates)
        json_put_number(j, "rmse_error", holdout->error);
    json_put_number(j, "mae", holdout->mae);
    json_put_number(j, "baseline_mean", baseline->mean);
    json_put_number(j, "baseline_slices", baseline->slices);
    if (holdout->unlisted > 0) {
        json_put_unsigned(j, "unlisted", holdout->unlisted);
        json_put_number(j, "auc", holdout->auc);
        if (loss_of(holdout->loss)->kind == POISSON_CLIPPED)
            json_put_number(j, "log_loss", holdout->log_loss);
    }
    if (holdout->places.entries > 0) {
        json_put_unsigned(j, "ranked", holdout->places.entries);
        json_put_numbers(j, "mean_reciprocal_rank", holdout->places.reciprocal, (size_t)order);
        json_put_numbers(j, "hits_at_10", holdout->places.hits, (size_t)order);
    }
    json_end(j);
}

static void put_result(struct json *j, const struct problem *problem, const struct cpd_results *all)
{
    const struct cpals_result *r = &all->result;
    const struct ktensor *model = &all->model;
    json_put_object(j, "result");
    json_put_number(j, "fit", r->fit);
    json_put_number(j, "change", r->change);
    json_put_unsigned(j, "iterations", (uint64_t)r->iterations);
    json_put_unsigned(j, "single_iterations", (uint64_t)r->single_iterations);
    json_put_string(j, "stop", stop_name(r->stop));
    if (r->interrupted)
        json_put_unsigned(j, "signal", (uint64_t)r->interrupted);
    json_put_bool(j, "fit_from_residual", r->trust.exact);
    json_put_number(j, "fit_noise", r->trust.noise);
    if (r->best_iteration > 0)
        json_put_unsigned(j, "best_iteration", (uint64_t)r->best_iteration);
    json_put_unsigned(j, "checks", (uint64_t)r->trust.checks);
    json_put_number(j, "checks_off_by", r->trust.error);
    json_put_unsigned(j, "falls", (uint64_t)r->trust.falls);
    json_put_number(j, "largest_fall", r->trust.fall);
    if (r->momentum) { /* each restart loses one iteration */
        json_put_unsigned(j, "restarts", (uint64_t)r->restarts);
        json_put_unsigned(j, "iterations_lost", (uint64_t)r->restarts);
    }
    if (problem_has_rates(problem)) {
        json_put_number(j, "log_likelihood", r->log_likelihood);
        json_put_number(j, "deviance", r->deviance);
        if (!isnan(r->violation))
            json_put_number(j, "kkt_violation", r->violation);
    }
    put_holdout_error(j, &r->holdout_error, &all->baseline, all->model.shape.order);
    json_put_numbers(j, "explained", model->explained, model->rank);
    if (!problem_has_rates(problem))
        json_put_numbers(j, "lost", model->lost, model->rank);
    json_put_unsigned(j, "zero_components", r->health.zero);
    json_put_unsigned(j, "degenerate_pairs", r->health.degenerate);
    if (r->health.degenerate > 0) {
        json_put_object(j, "most_degenerate");
        json_put_unsigneds(j, "components", r->health.pair, 2);
        json_put_number(j, "congruence", r->health.congruence);
        json_put_number(j, "growth", r->health.growth);
        json_end(j);
    }
    if (r->core.state == CORE_KNOWN)
        json_put_number(j, "core_consistency", r->core.percent);
    if (r->core.state == CORE_KNOWN && r->core.estimated)
        json_put_number(j, "core_consistency_error", r->core.error);
    if (r->core.state == CORE_KNOWN && r->core.imputed > 0)
        json_put_number(j, "core_consistency_imputed", r->core.imputed);
    json_end(j);
}

static void put_starts(struct json *j, const struct starts *s)
{
    json_put_array(j, "starts");
    for (int i = 0; i < s->made; i++) {
        const struct cpals_result *r = &s->start[i].result;
        json_put_object(j, NULL);
        json_put_unsigned(j, "seed", s->start[i].guess.seed);
        bool model = r->stop != CPALS_BREAKDOWN;
        json_put_number(j, "fit", model ? r->fit : NAN);
        if (model)
            json_put_number(j, "fit_noise", r->trust.noise);
        if (model && r->holdout_error.entries > 0)
            json_put_number(j, holdout_error_name(r->holdout_error.loss), r->holdout_error.value);
        json_put_unsigned(j, "iterations", (uint64_t)r->iterations);
        json_put_string(j, "stop", stop_name(r->stop));
        json_put_number(j, "score_with_best", model ? s->start[i].score : NAN);
        if (!model)
            json_put_string(j, "breakdown", r->breakdown.message);
        json_end(j);
    }
    json_end(j);
}

static void put_seconds(struct json *j, const struct cpd_results *r)
{
    struct cpd_stage stage[CPD_STAGES];
    double total = clock_now() - r->times.start;
    int order = r->tensor.shape.order, count = cpd_stages(&r->times, order, total, stage);
    json_put_object(j, "seconds");
    json_put_number(j, "total", total);
    json_put_number(j, "iterations", r->result.seconds);
    json_put_object(j, "stages");
    for (int i = 0; i < count; i++)
        json_put_number(j, stage[i].name, stage[i].seconds);
    json_end(j);
    json_put_object(j, "modes");
    for (int op = 0; op < OP_COUNT; op++)
        if (operation_has_modes((enum operation)op))
            json_put_numbers(j, operation_name((enum operation)op), r->times.operation[op],
                             (size_t)order);
    json_end(j);
    if (r->reports.count > 0)
        json_put_number(j, "communication", r->times.communication);
    json_end(j);
}

static void put_ranks(struct json *j, const struct cpd_reports *reports, int order)
{
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)reports->count);
    json_put_counts(j, "grid", reports->parts, (size_t)order);
    json_put_number(j, "imbalance", reports->imbalance);
    json_put_array(j, "each");
    for (int k = 0; k < reports->count; k++) {
        const struct rank_place *place = &reports->place[k];
        const struct rank_report *rank = &reports->report[k].rank;
        json_put_object(j, NULL);
        json_put_string(j, "host", place->host);
        if (place->device_bus[0])
            json_put_unsigned(j, "gpu", (uint64_t)place->device);
        json_put_unsigned(j, "threads", (uint64_t)place->threads);
        json_put_unsigned(j, "nonzeros", rank->nnz);
        json_put_numbers(j, "mttkrp", rank->operation[OP_MTTKRP], (size_t)order);
        json_put_numbers(j, "update", rank->operation[OP_UPDATE], (size_t)order);
        json_put_number(j, "communication", rank->communication);
        json_put_unsigned(j, "peak_bytes", reports->report[k].peak);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void put_findings(struct json *j, const struct findings *f)
{
    json_put_array(j, "findings");
    for (size_t i = 0; i < f->count; i++) {
        const struct finding *finding = &f->finding[i];
        json_put_object(j, NULL);
        json_put_string(j, "kind", finding->kind);
        json_put_string(j, "severity", finding->warning ? "warning" : "note");
        json_put_string(j, "sentence", finding->sentence);
        json_put_string(j, "advice", finding->advice);
        json_end(j);
    }
    json_end(j);
}

static void put_record(struct json *j, const struct cpd_inputs *in, const struct cpd_results *r)
{
    const struct cpd_settings *s = &in->settings;
    const int order = r->tensor.shape.order;
    const bool alone = r->reports.count == 0;          /* one rank, whose plan is known */
    const struct rank_place *place = r->reports.place; /* rank 0's; NULL: one rank works alone */
    const int device = place ? place->device : s->common.options.device;
    const int threads = place ? place->threads : omp_get_max_threads();
    const struct ridge_search *ridge = &r->runs.ridge;
    const struct fit_trace *trace = &r->trace;
    json_put_object(j, NULL);
    run_record_machine(j, "cpd", in->line.argv, in->choice.kind, device, threads);
    run_record_tensor(j, s->tensor, &r->tensor.shape, r->tensor.nnz, &r->tensor.hash,
                      &r->names.modes);
    put_options(j, s, r, order);
    if (alone) {
        json_put_object(j, "built");
        run_record_built(j, &r->built);
        json_end(j);
    } else {
        put_ranks(j, &r->reports, order);
    }
    put_result(j, &s->common.options.problem, r);
    if (r->runs.list.starts > 1)
        put_starts(j, &r->runs.starts[0]);
    put_replication(j, &r->replication);
    if (ridge->count > 0) {
        json_put_object(j, "ridge_search");
        json_put_numbers(j, "ridge", ridge->ridge, (size_t)ridge->count);
        json_put_numbers(j, "held_out_rmse", ridge->holdout_error, (size_t)ridge->count);
        json_end(j);
    }
    json_put_object(j, "trace");
    json_put_unsigned(j, "first_iteration", (uint64_t)trace->first);
    json_put_unsigned(j, "every", trace->every);
    json_put_numbers(j, "fit", trace->fit, trace->count);
    if (r->result.holdout_error.entries > 0)
        json_put_numbers(j, holdout_error_name(r->result.holdout_error.loss), trace->holdout_error,
                         trace->count);
    json_put_numbers(j, "seconds", trace->seconds, trace->count);
    json_end(j);
    put_seconds(j, r);
    json_put_object(j, "memory");
    json_put_unsigned(j, "peak_bytes", machine_memory_peak());
    if (alone) {
        json_put_unsigned(j, "planned_bytes", r->built.plan.total_bytes);
        json_put_unsigned(j, "budget_bytes", r->built.plan.request.budget);
    }
    json_end(j);
    put_findings(j, &r->findings);
    run_record_texts(j, "files", r->files.path, r->files.count);
    json_end(j);
}

enum status cpd_record_write(const struct cpd_inputs *in, const struct cpd_results *results,
                             struct outfile *file, struct progress *progress, struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const struct error *lost = &results->findings.error;
    struct json j;
    if (!s->recorded)
        return STATUS_OK;
    if (lost->status != STATUS_OK)
        return error_set(error, lost->status, "%s", lost->message);
    json_begin(&j, error);
    put_record(&j, in, results);
    if (s->json && error->status == STATUS_OK)
        fwrite(j.text, 1, j.used, stdout);
    if (s->record && run_record_write(&j, file, error) == STATUS_OK)
        progress_note(progress, "wrote %s", s->record);
    json_free(&j);
    return error->status;
}

/* The model of a rank and its files. */
static void put_model(struct json *j, int order, const struct cpd_settings *s,
                      const struct rank_outcome *o)
{
    const struct cpals_result *r = &o->result;
    const struct replication_outcome *replication = &o->replication;
    const bool core_known = core_consistency_tells(&r->core),
               counts = loss_of(r->holdout_error.loss)->rates;
    struct ktensor_files files;
    char *stem = memory_text(j->error, "%s.r%ju", s->base_stem, (uintmax_t)o->rank);
    if (!stem)
        return;
    json_put_number(j, "fit", r->fit);
    json_put_number(j, "fit_noise", r->trust.noise);
    json_put_unsigned(j, "iterations", (uint64_t)r->iterations);
    json_put_string(j, "stop", stop_name(r->stop));
    json_put_number(j, "core_consistency", core_known ? r->core.percent : NAN);
    if (core_known && r->core.estimated)
        json_put_number(j, "core_consistency_error", r->core.error);
    if (r->holdout_error.entries > 0) {
        json_put_number(j, holdout_error_name(r->holdout_error.loss), r->holdout_error.value);
        json_put_number(j, counts ? "held_out_deviance_error" : "held_out_rmse_error",
                        r->holdout_error.error);
    }
    if (replication->asked)
        json_put_number(j, replication->halves ? "split_half_score" : "replication_score",
                        replication->median);
    if (replication->asked && !replication->halves)
        json_put_numbers(j, "replication_scores", replication->score, replication->pairs);
    if (replication->known)
        json_put_unsigned(j, replication->halves ? "split_half_alike" : "replication_alike",
                          replication->alike);
    if (o->ridge > 0)
        json_put_number(j, "ridge", o->ridge);
    json_put_unsigned(j, "other_starts", (uint64_t)o->agreement.others);
    json_put_unsigned(j, "agreeing_starts", (uint64_t)o->agreement.agree);
    json_put_unsigned(j, "differing_starts", (uint64_t)o->agreement.different);
    json_put_string(j, "stem", stem);
    ktensor_files_name(&files, order, stem, s->formats, j->error);
    run_record_texts(j, "files", files.path, files.count);
    ktensor_files_free(&files);
    memory_free(stem);
}

enum status cpd_ranks_file_write(const struct cpd_inputs *in, const struct cpd_results *r,
                                 struct progress *progress, struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    struct outfile file = {.fd = -1};
    struct json j;
    char suggestion[RANK_CHOICE_TEXT];
    if (!s->ranks_path || !(rank_known(r->outcome, r->outcomes) & RANKS_MODEL))
        return STATUS_OK;
    static const char *const rule[] = {[RANK_HOLDOUT] = "held_out",
                                       [RANK_FOUND] = "found_again",
                                       [RANK_CORE] = "core_consistency"};
    const unsigned known = rank_known(r->outcome, r->outcomes);
    const struct rank_choice choice = rank_choose(r->outcome, r->outcomes);
    rank_suggestion(r->outcome, r->outcomes, suggestion);
    json_begin(&j, error);
    json_put_object(&j, NULL);
    run_record_program(&j, "ranks", in->line.argv);
    run_record_tensor(&j, s->tensor, &r->tensor.shape, r->tensor.nnz, NULL, &r->names.modes);
    json_put_bool(&j, "complete", r->outcomes == rank_range_count(&s->ranks));
    json_put_number(&j, "suggested", choice.rank > 0 ? (double)choice.rank : NAN);
    json_put_string(&j, "suggestion", suggestion);
    json_put_string(&j, "rule", rule[choice.rule]);
    if (choice.holdout > 0)
        json_put_unsigned(&j, "held_out_alone", choice.holdout);
    if (s->common.options.problem.holdout.share > 0) {
        json_put_number(&j, "baseline_mean", r->baseline.mean);
        json_put_number(&j, "baseline_slices", r->baseline.slices);
    }
    json_put_array(&j, "ranks");
    for (int i = 0; i < r->outcomes; i++) {
        const struct rank_outcome *o = &r->outcome[i];
        json_put_object(&j, NULL);
        json_put_unsigned(&j, "rank", o->rank);
        if (known & (RANKS_AGREEMENT | RANKS_REPLICATES))
            json_put_bool(&j, "found_again", rank_found_again(o, known));
        if (o->failure.status == STATUS_OK)
            put_model(&j, r->tensor.shape.order, s, o);
        else
            json_put_string(&j, "failure", o->failure.message);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    if (error->status == STATUS_OK)
        outfile_open(&file, s->ranks_path, error);
    if (run_record_write(&j, &file, error) == STATUS_OK)
        progress_note(progress, "wrote %s", s->ranks_path);
    outfile_discard(&file);
    return error->status;
}
