#include "commands/cpd/cpd_record.h"

#include <math.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "record/run_record.h"

enum status cpd_record_open(struct cpd_job *job, struct error *error)
{
    const char *path = job->settings.record;
    if (!path || outfile_check(path, error) != STATUS_OK)
        return error->status;
    return outfile_open(&job->record, path, error);
}

void cpd_record_close(struct cpd_job *job)
{
    outfile_discard(&job->record);
    memory_free(job->ranks.place);
    memory_free(job->ranks.telling);
    job->ranks = (struct cpd_ranks){0};
}

static void put_formats(struct json *j, unsigned formats)
{
    json_put_array(j, "format");
    for (const struct word *w = ktensor_format_words; w->text; w++)
        if (formats & (unsigned)w->value)
            json_put_string(j, NULL, w->text);
    json_end(j);
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
    put_rules(j, &s->common.options.problem.rules, order);
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
    static const char *const name[] = {[CPALS_CONVERGED] = "converged",
                                       [CPALS_ITERATIONS] = "iteration_limit",
                                       [CPALS_INTERRUPTED] = "interrupted",
                                       [CPALS_TIME_LIMIT] = "time_limit",
                                       [CPALS_BREAKDOWN] = "breakdown"};
    return name[stop];
}

static void put_result(struct json *j, const struct cpals_result *r)
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
        json_put_unsigned(j, "iterations", (uint64_t)of->result.iterations);
        json_put_string(j, "stop", cpd_record_stop(of->result.stop));
        json_put_number(j, "score_with_best", model ? of->score : NAN);
        if (!model)
            json_put_string(j, "breakdown", of->result.breakdown.message);
        json_end(j);
    }
    json_end(j);
}

static void put_trace(struct json *j, const struct fit_trace *trace)
{
    json_put_object(j, "trace");
    json_put_unsigned(j, "first_iteration", (uint64_t)trace->first);
    json_put_unsigned(j, "every", trace->every);
    json_put_numbers(j, "fit", trace->fit, trace->count);
    json_put_numbers(j, "seconds", trace->seconds, trace->count);
    json_end(j);
}

static void put_seconds(struct json *j, const struct cpd_job *job)
{
    struct cpd_stage stage[CPD_STAGES];
    double total = clock_now() - job->times.start;
    int order = job->tensor.shape.order, count = cpd_stages(&job->times, order, total, stage);
    json_put_object(j, "seconds");
    json_put_number(j, "total", total);
    json_put_number(j, "iterations", job->result.seconds);
    json_put_object(j, "stages");
    for (int i = 0; i < count; i++)
        json_put_number(j, stage[i].name, stage[i].seconds);
    json_end(j);
    json_put_object(j, "modes");
    for (int op = 0; op < OP_COUNT; op++)
        if (operation_has_modes((enum operation)op))
            json_put_numbers(j, operation_name((enum operation)op), job->times.operation[op],
                             (size_t)order);
    json_end(j);
    if (job->ranks.count > 0)
        json_put_number(j, "communication", job->times.communication);
    json_end(j);
}

/* What the plan takes is known where one rank worked alone. */
static void put_memory(struct json *j, const struct cpd_job *job)
{
    json_put_object(j, "memory");
    json_put_unsigned(j, "peak_bytes", machine_memory_peak());
    if (job->ranks.count == 0) {
        json_put_unsigned(j, "planned_bytes", job->built.plan.total_bytes);
        json_put_unsigned(j, "budget_bytes", job->built.plan.request.budget);
    }
    json_end(j);
}

static void put_rank(struct json *j, const struct rank_place *place,
                     const struct cpd_telling *telling, int order)
{
    const struct rank_report *report = &telling->report;
    json_put_object(j, NULL);
    json_put_string(j, "host", place->host);
    if (place->device_bus[0])
        json_put_unsigned(j, "gpu", (uint64_t)place->device);
    json_put_unsigned(j, "threads", (uint64_t)place->threads);
    json_put_unsigned(j, "nonzeros", report->nnz);
    json_put_numbers(j, "mttkrp", report->operation[OP_MTTKRP], (size_t)order);
    json_put_numbers(j, "update", report->operation[OP_UPDATE], (size_t)order);
    json_put_number(j, "communication", report->communication);
    json_put_unsigned(j, "peak_bytes", telling->peak);
    json_end(j);
}

static void put_ranks(struct json *j, const struct cpd_ranks *ranks, int order)
{
    uint64_t parts[MAX_ORDER];
    for (int n = 0; n < order; n++)
        parts[n] = (uint64_t)ranks->parts[n];
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)ranks->count);
    json_put_unsigneds(j, "grid", parts, (size_t)order);
    json_put_number(j, "imbalance", ranks->imbalance);
    json_put_array(j, "each");
    for (int k = 0; k < ranks->count; k++)
        put_rank(j, &ranks->place[k], &ranks->telling[k], order);
    json_end(j);
    json_end(j);
}

static void put_built(struct json *j, const struct cpd_job *job)
{
    json_put_object(j, "built");
    run_record_built(j, &job->built);
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

/* The findings as the text lines of the terminal. */
static void put_notes(struct json *j, const struct findings *f)
{
    char text[FINDING_TEXT];
    json_put_array(j, "notes");
    for (size_t i = 0; i < f->count; i++)
        json_put_string(j, NULL, finding_text(&f->finding[i], text));
    json_end(j);
}

static void put_files(struct json *j, const struct ktensor_files *files)
{
    json_put_array(j, "files");
    for (int i = 0; i < files->count; i++)
        json_put_string(j, NULL, files->path[i]);
    json_end(j);
}

static void put_record(struct json *j, struct cpd_job *job)
{
    const struct cmd_common *common = &job->settings.common;
    int order = job->tensor.shape.order;
    const struct rank_place *place = job->ranks.place; /* rank 0's; NULL: one rank works alone */
    int device = place ? place->device : common->options.device;
    int threads = place ? place->threads : cmd_set_threads(common->threads, 1);
    json_put_object(j, NULL);
    run_record_machine(j, "cpd", job->line.argv, job->kind, device, threads);
    run_record_tensor(j, job->settings.tensor, &job->tensor.shape, job->tensor.nnz,
                      &job->tensor.hash);
    put_options(j, &job->settings, job->result.momentum, order);
    if (job->ranks.count > 0)
        put_ranks(j, &job->ranks, order);
    else
        put_built(j, job);
    put_result(j, &job->result);
    if (job->starts.asked > 1)
        put_starts(j, &job->starts);
    put_trace(j, &job->trace);
    put_seconds(j, job);
    put_memory(j, job);
    put_findings(j, &job->findings);
    put_notes(j, &job->findings);
    put_files(j, &job->files);
    json_end(j);
}

enum status cpd_record_write(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    struct json j;
    if (!s->recorded)
        return STATUS_OK;
    if (job->findings.error.status != STATUS_OK)
        return error_set(error, job->findings.error.status, "%s", job->findings.error.message);
    json_begin(&j, error);
    put_record(&j, job);
    if (s->json)
        cmd_print_json(&j);
    if (s->record && error->status == STATUS_OK &&
        outfile_write(&job->record, j.text, j.used, error) == STATUS_OK &&
        outfile_commit(&job->record, error) == STATUS_OK)
        progress_note(&job->progress, "wrote %s", s->record);
    json_free(&j);
    return error->status;
}
