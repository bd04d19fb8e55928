#include "commands/cpd/cpd_record.h"

#include <math.h>
#include <omp.h>

#include "base/clock.h"
#include "base/machine.h"
#include "record/run_record.h"

static void put_half(struct json *j, const struct split_half *s, int k)
{
    const struct starts *starts = &s->starts[k];
    const struct cpals_result *best = &starts->start[starts->best].result;
    json_put_object(j, NULL);
    json_put_unsigned(j, "nonzeros", s->nonzeros[k]);
    json_put_number(j, "fit", starts->modelled > 0 ? best->fit : NAN);
    json_put_unsigned(j, "iterations", (uint64_t)best->iterations);
    json_end(j);
}

/* The scores of the components of the whole. */
static void put_scores(struct json *j, const struct split_half *s)
{
    json_put_array(j, "components");
    for (uint64_t r = 0; r < s->match.pairs; r++)
        json_put_number(j, NULL, s->component[r].score);
    json_end(j);
}

/* How alike the halves of the tensor are; nothing without --split-half. */
static void put_halves(struct json *j, const struct split_half *s)
{
    const bool known = s->state == HALVES_COMPARED;
    if (s->halves.mode == 0)
        return;
    json_put_object(j, "split_half");
    json_put_unsigned(j, "mode", (uint64_t)s->halves.mode);
    json_put_unsigned(j, "seed", s->halves.seed);
    json_put_array(j, "halves");
    put_half(j, s, 0);
    put_half(j, s, 1);
    json_end(j);
    json_put_number(j, "score", known ? s->match.score : NAN);
    if (known) {
        json_put_unsigned(j, "alike", s->alike);
        put_scores(j, s);
    }
    json_end(j);
}

enum status cpd_record_open(const struct cpd_settings *s, struct outfile *file, struct error *error)
{
    if (!s->record)
        return STATUS_OK;
    TRY(outfile_check(s->record, error));
    return outfile_open(file, s->record, error);
}

static void put_formats(struct json *j, unsigned formats)
{
    json_put_array(j, "format");
    for (const struct word *w = ktensor_format_words; w->text; w++)
        if (formats & (unsigned)w->value)
            json_put_string(j, NULL, w->text);
    json_end(j);
}

static void put_unlisted(struct json *j, const struct unlisted *u)
{
    char text[UNLISTED_TEXT];
    if (u->weighed && u->weight > 0)
        json_put_number(j, "unlisted", u->weight);
    else
        json_put_string(j, "unlisted", unlisted_text(u, text));
    json_put_number(j, "fade", u->fade);
}

static void put_values(struct json *j, const struct value_rule *rule)
{
    char text[VALUE_RULE_TEXT];
    json_put_string(j, "values",
                    rule->kind == VALUES_AS_THEY_ARE ? NULL : value_rule_text(rule, text));
}

static void put_holdout(struct json *j, const struct cpd_settings *s)
{
    const struct holdout *h = &s->common.options.problem.holdout;
    json_put_number(j, "holdout", h->share);
    if (h->share > 0)
        json_put_unsigned(j, "holdout_seed", h->seed);
    json_put_unsigned(j, "early_stop", (uint64_t)s->early_stop);
}

static void put_rules(struct json *j, const struct mode_rules *rules, int order)
{
    json_put_numbers(j, "ridge", rules->ridge, (size_t)order);
    run_record_modes(j, "nonneg", rules->nonneg, order);
    run_record_modes(j, "fixed", rules->fixed, order);
}

static void put_options(struct json *j, const struct cpd_settings *s, bool momentum, int order)
{
    const char *init = s->init_stem ? s->init_stem : cpd_settings_init_word(s);
    json_put_object(j, "options");
    run_record_options(j, &s->common.options);
    json_put_unsigned(j, "iterations", (uint64_t)s->iterations);
    json_put_number(j, "tolerance", s->tolerance);
    json_put_unsigned(j, "check_every", (uint64_t)s->check_every);
    json_put_string(j, "accelerate",
                    word_of(acceleration_words, momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF));
    json_put_unsigned(j, "seed", s->seed);
    json_put_unsigned(j, "starts", (uint64_t)s->starts);
    json_put_string(j, "init", s->resume ? NULL : init);
    json_put_unsigned(j, "inner", (uint64_t)problem_inner(&s->common.options.problem));
    put_values(j, &s->common.values);
    put_unlisted(j, &s->common.options.problem.unlisted);
    put_rules(j, &s->common.options.problem.rules, order);
    put_holdout(j, s);
    json_put_string(j, "stem", s->nowrite ? NULL : s->stem);
    put_formats(j, s->nowrite ? 0 : s->formats);
    json_put_string(j, "checkpoint", s->checkpoint);
    json_put_string(j, "resume", s->resume);
    json_put_number(j, "time_limit", s->time_limit);
    json_end(j);
}

static void put_health(struct json *j, const struct model_health *h)
{
    json_put_unsigned(j, "zero_components", h->zero);
    json_put_unsigned(j, "degenerate_pairs", h->degenerate);
    if (h->degenerate == 0)
        return;
    json_put_object(j, "most_degenerate");
    json_put_unsigneds(j, "components", h->pair, 2);
    json_put_number(j, "congruence", h->congruence);
    json_put_number(j, "growth", h->growth);
    json_end(j);
}

const char *cpd_record_stop(enum cpals_stop stop)
{
    static const char *const name[] = {
        [CPALS_CONVERGED] = "converged",   [CPALS_ITERATIONS] = "iteration_limit",
        [CPALS_EARLY] = "early",           [CPALS_INTERRUPTED] = "interrupted",
        [CPALS_TIME_LIMIT] = "time_limit", [CPALS_BREAKDOWN] = "breakdown"};
    return name[stop];
}

const char *cpd_record_held(enum loss_name loss)
{
    return loss_of(loss)->rates ? "held_out_deviance" : "held_out_rmse";
}

static void put_held(struct json *j, const struct held_error *held)
{
    if (held->entries == 0)
        return;
    json_put_object(j, "held_out");
    json_put_unsigned(j, "entries", held->entries);
    const bool rates = loss_of(held->loss)->rates;
    if (rates) {
        json_put_number(j, "mean_deviance", held->value);
        json_put_number(j, "mean_deviance_error", held->error);
        json_put_number(j, "log_likelihood", held->log_likelihood);
    }
    json_put_number(j, "rmse", held->rmse);
    if (!rates)
        json_put_number(j, "rmse_error", held->error);
    json_put_number(j, "mae", held->mae);
    if (held->unlisted > 0) {
        json_put_unsigned(j, "unlisted", held->unlisted);
        json_put_number(j, "auc", held->auc);
    }
    json_end(j);
}

static void put_ridges(struct json *j, const struct ridge_search *s)
{
    if (s->count == 0)
        return;
    json_put_object(j, "ridge_search");
    json_put_numbers(j, "ridge", s->ridge, (size_t)s->count);
    json_put_numbers(j, "held_out_rmse", s->held, (size_t)s->count);
    json_end(j);
}

static void put_counts(struct json *j, const struct cpals_result *r)
{
    json_put_number(j, "log_likelihood", r->log_likelihood);
    json_put_number(j, "deviance", r->deviance);
    if (!isnan(r->violation))
        json_put_number(j, "kkt_violation", r->violation);
}

static void put_result(struct json *j, const struct problem *problem, const struct cpals_result *r)
{
    json_put_object(j, "result");
    json_put_number(j, "fit", r->fit);
    json_put_number(j, "change", r->change);
    json_put_unsigned(j, "iterations", (uint64_t)r->iterations);
    json_put_unsigned(j, "single_iterations", (uint64_t)r->single_iterations);
    json_put_string(j, "stop", cpd_record_stop(r->stop));
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
    if (problem_has_rates(problem))
        put_counts(j, r);
    put_held(j, &r->held);
    put_health(j, &r->health);
    if (r->core.state == CORE_KNOWN)
        json_put_number(j, "core_consistency", r->core.percent);
    if (r->core.state == CORE_KNOWN && r->core.estimated)
        json_put_number(j, "core_consistency_error", r->core.error);
    json_end(j);
}

static void put_starts(struct json *j, const struct starts *s)
{
    json_put_array(j, "starts");
    for (int i = 0; i < s->made; i++) {
        const struct start_outcome *of = &s->start[i];
        json_put_object(j, NULL);
        json_put_unsigned(j, "seed", of->seed);
        bool model = of->result.stop != CPALS_BREAKDOWN;
        json_put_number(j, "fit", model ? of->result.fit : NAN);
        if (model)
            json_put_number(j, "fit_noise", of->result.trust.noise);
        if (model && of->result.held.entries > 0)
            json_put_number(j, cpd_record_held(of->result.held.loss), of->result.held.value);
        json_put_unsigned(j, "iterations", (uint64_t)of->result.iterations);
        json_put_string(j, "stop", cpd_record_stop(of->result.stop));
        json_put_number(j, "score_with_best", model ? of->score : NAN);
        if (!model)
            json_put_string(j, "breakdown", of->result.breakdown.message);
        json_end(j);
    }
    json_end(j);
}

static void put_trace(struct json *j, const struct fit_trace *trace, const struct held_error *held)
{
    json_put_object(j, "trace");
    json_put_unsigned(j, "first_iteration", (uint64_t)trace->first);
    json_put_unsigned(j, "every", trace->every);
    json_put_numbers(j, "fit", trace->fit, trace->count);
    if (held->entries > 0)
        json_put_numbers(j, cpd_record_held(held->loss), trace->held, trace->count);
    json_put_numbers(j, "seconds", trace->seconds, trace->count);
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

/* The bytes of the plan are known where one rank worked alone. */
static void put_memory(struct json *j, const struct cpd_results *r)
{
    json_put_object(j, "memory");
    json_put_unsigned(j, "peak_bytes", machine_memory_peak());
    if (r->reports.count == 0) {
        json_put_unsigned(j, "planned_bytes", r->built.plan.total_bytes);
        json_put_unsigned(j, "budget_bytes", r->built.plan.request.budget);
    }
    json_end(j);
}

static void put_rank(struct json *j, const struct rank_place *place,
                     const struct cpd_report *report, int order)
{
    const struct rank_report *rank = &report->rank;
    json_put_object(j, NULL);
    json_put_string(j, "host", place->host);
    if (place->device_bus[0])
        json_put_unsigned(j, "gpu", (uint64_t)place->device);
    json_put_unsigned(j, "threads", (uint64_t)place->threads);
    json_put_unsigned(j, "nonzeros", rank->nnz);
    json_put_numbers(j, "mttkrp", rank->operation[OP_MTTKRP], (size_t)order);
    json_put_numbers(j, "update", rank->operation[OP_UPDATE], (size_t)order);
    json_put_number(j, "communication", rank->communication);
    json_put_unsigned(j, "peak_bytes", report->peak);
    json_end(j);
}

static void put_ranks(struct json *j, const struct cpd_reports *reports, int order)
{
    uint64_t parts[MAX_ORDER];
    for (int n = 0; n < order; n++)
        parts[n] = (uint64_t)reports->parts[n];
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)reports->count);
    json_put_unsigneds(j, "grid", parts, (size_t)order);
    json_put_number(j, "imbalance", reports->imbalance);
    json_put_array(j, "each");
    for (int k = 0; k < reports->count; k++)
        put_rank(j, &reports->place[k], &reports->report[k], order);
    json_end(j);
    json_end(j);
}

static void put_built(struct json *j, const struct backend_built *built)
{
    json_put_object(j, "built");
    run_record_built(j, built);
    json_end(j);
}

static void put_findings(struct json *j, const struct findings *f)
{
    json_put_array(j, "findings");
    for (size_t i = 0; i < f->count; i++) {
        const struct finding *of = &f->finding[i];
        json_put_object(j, NULL);
        json_put_string(j, "kind", finding_name(of->kind));
        json_put_string(j, "severity", of->warning ? "warning" : "note");
        json_put_string(j, "sentence", of->sentence);
        json_put_string(j, "advice", of->advice);
        json_end(j);
    }
    json_end(j);
}

static void put_files(struct json *j, const struct ktensor_files *files)
{
    json_put_array(j, "files");
    for (int i = 0; i < files->count; i++)
        json_put_string(j, NULL, files->path[i]);
    json_end(j);
}

static void put_record(struct json *j, const struct cpd_inputs *in, const struct cpd_results *r)
{
    const struct cpd_settings *s = &in->settings;
    const int order = r->tensor.shape.order;
    const struct rank_place *place = r->reports.place; /* rank 0's; NULL: one rank works alone */
    const int device = place ? place->device : s->common.options.device;
    const int threads = place ? place->threads : omp_get_max_threads();
    json_put_object(j, NULL);
    run_record_machine(j, "cpd", in->line.argv, in->choice.kind, device, threads);
    run_record_tensor(j, s->tensor, &r->tensor.shape, r->tensor.nnz, &r->tensor.hash,
                      &r->names.modes);
    put_options(j, s, r->result.momentum, order);
    if (r->reports.count > 0)
        put_ranks(j, &r->reports, order);
    else
        put_built(j, &r->built);
    put_result(j, &s->common.options.problem, &r->result);
    if (r->starts.asked > 1)
        put_starts(j, &r->starts);
    put_halves(j, &r->halves);
    put_ridges(j, &r->starts.ridge);
    put_trace(j, &r->trace, &r->result.held);
    put_seconds(j, r);
    put_memory(j, r);
    put_findings(j, &r->findings);
    put_files(j, &r->files);
    json_end(j);
}

static enum status write_file(struct outfile *file, const struct json *j, struct error *error)
{
    TRY(outfile_write(file, j->text, j->used, error));
    return outfile_commit(file, error);
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
    if (s->json)
        cmd_print_json(&j);
    if (!s->record || error->status != STATUS_OK)
        goto done;
    if (write_file(file, &j, error) == STATUS_OK)
        progress_note(progress, "wrote %s", s->record);
done:
    json_free(&j);
    return error->status;
}
