#include "commands/cpd/cpd_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_signals.h"
#include "ranks/holdout_set.h"
#include "ranks/rank_tensor.h"
#include "ranks/slice_means.h"

#define READ_AHEAD  (UINT64_C(4) << 30) /* bytes of nonzeros that a GPU's memory holds           */
#define AHEAD_SHARE 4 /* of the host's memory: what nonzeros may take before there is a plan */

/* A rank at work. Ranks that are threads of one process share the job. */
struct cpd_rank {
    struct cpd_job *job;
    const struct cpd_settings *settings; /* the job's */
    struct comm *comm;
    struct progress *progress;   /* rank 0's; NULL on the others                       */
    struct cpd_reports reports;  /* of all ranks; owned                                */
    struct backend_wake wake;    /* of this rank's GPU, among several; ended           */
    struct device_comm *devices; /* owned                                              */
    struct rank_tensor *tensor;  /* the run's, where a rank is alone; else `part`      */
    struct rank_tensor part;
    struct runs *runs; /* this rank's table: that of the results, or `own` */
    struct runs own;
    struct backend backend;
    struct cpd_report mine;
};

/* Whether the job is this rank's own; threads of one process leave the job to rank 0. */
static bool owns_job(const struct cpd_rank *w)
{
    return w->comm->rank == 0 || comm_world_expected();
}

static bool is_alone(const struct cpd_rank *w)
{
    return w->comm->size == 1;
}

/* The hash of the tensor's fingerprint is needed for --checkpoint or --resume or a record. */
static bool hash_is_needed(const struct cpd_settings *s)
{
    return s->saving.path || s->resume || s->recorded;
}

/* Opens this rank's part of the tensor. */
static enum status open_tensor(struct cpd_rank *w, struct error *error)
{
    const struct cpd_settings *s = w->settings;
    struct rank_request request =
        rank_split(&s->common, w->job->inputs.choice.kind, is_alone(w) ? NULL : w->reports.place,
                   w->comm, s->tensor);
    request.hashed = hash_is_needed(s);
    request.cells = s->common.options.problem.holdout.share > 0;
    TRY(rank_tensor_open(w->tensor, w->comm, &request, w->progress, error));
    if (s->center || s->common.options.problem.holdout.share > 0 || s->runs.parts.mode > 0)
        TRY(rank_tensor_read(w->tensor, w->progress, error));
    return STATUS_OK;
}

/* Rank 0 finds which modes --values center names, and tells the others. */
static enum status find_centred(struct cpd_rank *w, bool *centred, struct error *error)
{
    const struct cpd_settings *s = w->settings;
    const int order = w->tensor->shape.order;
    const char *end = s->center + s->center_length;
    for (const char *at = s->center; at && w->comm->rank == 0;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t length = (size_t)((comma ? comma : end) - at);
        const int n = mode_names_find(&w->job->results.names.modes, order, at, length);
        if (n < 0)
            error_set(error, STATUS_INPUT,
                      "--values center: no mode is named '%.*s', expected a name or a number from "
                      "1 to %d",
                      (int)length, at, order);
        else if (centred[n])
            error_set(error, STATUS_INPUT, "--values center: mode %d twice, expected once", n + 1);
        if (error->status != STATUS_OK)
            break;
        centred[n] = true;
        at = comma ? comma + 1 : NULL;
    }
    TRY(comm_allreduce_error(w->comm, error));
    return comm_bcast(w->comm, 0, centred, MAX_ORDER * sizeof *centred, error);
}

/* A fixed mode goes with the means of its model. */
static enum status check_centred(const struct cpd_rank *w, const bool *centred, struct error *error)
{
    const struct cpd_settings *s = w->settings;
    const bool *then = w->job->inputs.start.facts.centred;
    for (int n = 0; n < w->tensor->shape.order; n++)
        if (mode_rules_any(s->common.options.problem.rules.fixed) && s->init_stem &&
            centred[n] != then[n])
            return error_set(error, STATUS_INPUT,
                             "--fix: the values of the model of --init %s were%s centred in mode "
                             "%d: expected --values with%s that",
                             s->init_stem, then[n] ? "" : " not", n + 1, then[n] ? "" : "out");
    return STATUS_OK;
}

/* Takes means off the values, and holds entries out: where entries that are not listed are zeros,
 * some of them, too. */
static enum status prepare_values(struct cpd_rank *w, struct error *error)
{
    const struct cpd_settings *s = w->settings;
    const struct problem *p = &s->common.options.problem;
    const struct slice_means *old =
        w->job->inputs.means.shape.order > 0 ? &w->job->inputs.means : NULL;
    struct cpd_results *results = &w->job->results;
    struct slice_means means = {.shrinkage = SLICE_SHRINKAGE};
    struct baseline baseline;
    char modes[8 * MAX_ORDER] = "";
    if (s->center)
        TRY_OR(done, find_centred(w, means.mode, error));
    TRY_OR(done, check_centred(w, means.mode, error));
    if (!s->center && p->holdout.share == 0)
        goto done;
    if (s->center && s->shrinkage >= 0)
        means.shrinkage = s->shrinkage;
    else if (old)
        means.shrinkage = old->shrinkage;
    else if (s->saving.about.ridge_chosen)
        means.shrinkage = -1;
    for (int n = 0; n < w->tensor->shape.order && !s->center; n++)
        means.mode[n] = true;
    TRY_OR(done, slice_means_find(&means, &baseline, w->tensor, p, old, error));
    if (s->center) {
        for (int n = 0; n < w->tensor->shape.order; n++)
            if (means.mode[n])
                words_append(modes, sizeof modes, "%s%d", *modes ? "," : "", n + 1);
        progress_note(w->progress, "centred: mean %.6g, means of modes %s, shrinkage %g",
                      means.mean, modes, means.shrinkage);
        TRY_OR(done, slice_means_take_off(&means, w->tensor, error));
    }
    if (p->holdout.share > 0)
        TRY_OR(done, holdout_set_take(w->tensor, &p->holdout,
                                      !p->unlisted.weighed || p->unlisted.weight > 0, error));
    if (owns_job(w))
        results->baseline = baseline;
    if (owns_job(w) && s->center) {
        slice_means_free(&results->means);
        results->means = means;
        means = (struct slice_means){0};
    }
done:
    slice_means_free(&means);
    return error->status;
}

/* Shows how the tensor is split, and finds what speaks against its shape. */
static void note_tensor(struct cpd_rank *w)
{
    const struct rank_tensor *t = w->tensor;
    const struct problem *p = &w->settings->common.options.problem;
    struct cpd_results *results = &w->job->results;
    char name[128];
    process_grid_name(t->grid.parts, t->shape.order, name, sizeof name);
    if (!is_alone(w) && cpd_settings_by_rows(w->settings, t->listed.unknown))
        progress_note(w->progress, "%d ranks, each with all entries of the rows that it solves",
                      t->grid.ranks);
    else if (!is_alone(w))
        progress_note(w->progress,
                      "%d ranks, grid %s, the fullest has %.1f %% more nonzeros than the mean",
                      t->grid.ranks, name, 100 * (t->cost.imbalance > 0 ? t->cost.imbalance : 0));
    find_in_shape(&results->findings, &t->shape, p);
    if (p->unlisted.weighed)
        find_dropped_zeros(&results->findings, t->listed.dropped, w->settings->tensor);
    cpd_show_findings(results, w->progress);
}

/* Refuses what does not go with this tensor, before anything large is made. */
static enum status check_tensor(struct cpd_rank *w, struct error *error)
{
    const struct cpd_inputs *in = &w->job->inputs;
    const struct cpd_settings *s = &in->settings;
    const struct rank_tensor *t = w->tensor;
    TRY(cmd_check_grid(&s->common.ranks, t->shape.order, error));
    TRY(cpd_settings_check_order(s, t->shape.order, error));
    if (t->listed.unknown > 0)
        TRY(cpd_settings_check_by_rows(s, "unknown entries (nan)", error));
    TRY(replication_check(&w->runs->list, t, error));
    TRY(cpd_start_check(in, &t->shape, error));
    if (s->resume) {
        uint64_t crc = in->resume.crc;
        TRY(checkpoint_check_shape(&in->resume, &t->shape, t->nnz, error));
        if (comm_bcast(w->comm, 0, &crc, sizeof crc, error) == STATUS_OK && crc != in->resume.crc)
            error_set(error, STATUS_INPUT, "%s: not the checkpoint that rank 0 reads", s->resume);
        TRY(comm_allreduce_error(w->comm, error));
    }
    TRY(cpd_output_choose_spread(&w->job->run.spread, s, w->comm, t, error));
    if (w->comm->rank > 0 || s->nowrite)
        return STATUS_OK;
    TRY(ktensor_openable(s->stem, t->shape.order, s->formats, error));
    return ktensor_check_maps(s->stem, &w->job->results.names, error);
}

/* Ranks of one host share the memory that may be used evenly, unless the user says how much a rank
 * may use. */
static struct backend_options make_options(const struct cpd_rank *w)
{
    struct backend_options options = w->settings->common.options;
    options.spends = w->settings->runs.parts.mode == 0 &&
                     (!is_alone(w) || options.problem.rank == w->settings->ranks.last);
    problem_take_unknown(&options.problem, w->tensor->listed.unknown);
    problem_begin_fading(&options.problem, &w->tensor->shape, w->tensor->nnz);
    if (!is_alone(w))
        options.device = w->reports.place[w->comm->rank].device;
    if (options.host_memory == 0 && w->comm->local_size > 1)
        options.host_memory = machine_memory_budget(0) / (uint64_t)w->comm->local_size;
    return options;
}

/* What the model files will say of the tensor. */
static void take_facts(struct cpd_rank *w)
{
    const struct backend_options options = make_options(w);
    const struct problem *p = &options.problem;
    const struct value_rule *values = &w->settings->common.values;
    struct model_facts *facts = &w->job->results.facts;
    struct mode_names *modes = &w->job->results.names.modes;
    char change[VALUE_RULE_TEXT];
    *facts = (struct model_facts){.known = true,
                                  .unlisted = p->unlisted.weighed ? p->unlisted.weight : 1,
                                  .norm = problem_has_rates(p) ? 1 : 2,
                                  .nnz = w->tensor->nnz,
                                  .unknown = w->tensor->listed.unknown};
    strcpy(facts->loss, word_of(loss_words, (int)p->loss));
    if (w->settings->center) {
        memcpy(facts->centred, w->job->results.means.mode, sizeof facts->centred);
        facts->shrinkage = w->job->results.means.shrinkage;
    }
    if (values->kind != VALUES_AS_THEY_ARE)
        mode_names_add_change(modes, value_rule_text(values, change));
}

/* Several ranks' GPUs, which have begun to wake, meet. */
static enum status meet(struct cpd_rank *w, struct error *error)
{
    const double start = clock_now();
    rank_meet(&w->devices, &w->wake, w->comm, error);
    TRY(comm_end_phase(w->comm, error));
    if (owns_job(w))
        cpd_machine_waited(w->job, start);
    return STATUS_OK;
}

/* While GPUs wake, does what every plan would ask for where each row has a system of its own: deals
 * the rows of shares; and, for a rank alone, reads a tensor that is small enough not to be
 * streamed. */
static enum status read_ahead(struct cpd_rank *w, struct error *error)
{
    struct rank_tensor *t = w->tensor;
    const struct backend_options *options = &w->settings->common.options;
    if (!w->job->inputs.choice.kind->wake || !t->has_share)
        return STATUS_OK;
    if (!is_alone(w))
        return rank_tensor_divide_rows(t, true, error);
    const uint64_t memory = machine_memory_budget(options->host_memory) / AHEAD_SHARE;
    const bool small = coo_bytes(t->shape.order, t->nnz) <= least_of(READ_AHEAD, memory);
    if (!small || options->memory > 0 || !cpd_settings_by_rows(w->settings, t->listed.unknown))
        return STATUS_OK;
    return rank_tensor_read(t, w->progress, error);
}

/* Opens the tensor and checks what can be checked of it. Rank 0 finds the names of the tensor,
 * which the model keeps: those of CSV, which the tensor gives up, or those of the maps beside it.
 * With several -r the first finds them, and a rank alone keeps the tensor to the next. */
static enum status look_at_tensor(struct cpd_rank *w, struct error *error)
{
    struct cpd_job *job = w->job;
    struct labels *names = &job->results.names;
    struct rank_tensor *t = w->tensor;
    const bool kept = t->comm != NULL, first = w->comm->rank == 0 && names->order == 0;
    if (!kept)
        TRY(open_tensor(w, error));
    if (first) {
        find_unused_column(&job->results.findings, w->settings->tensor, t->input.names.unused);
        names->modes = t->input.names.modes;
        if (t->input.names.order > 0)
            labels_take(names, &t->input.names);
        else if (labels_find_tensor(names, w->settings->tensor, t->shape.order, error) == STATUS_OK)
            labels_read(names, &t->shape, error);
    }
    TRY(comm_allreduce_error(w->comm, error));
    TRY(cpd_start_match(&job->inputs, w->comm, names, &t->shape, w->progress, error));
    if (!kept)
        TRY(prepare_values(w, error));
    if (w->comm->rank == 0)
        note_tensor(w);
    if (first)
        take_facts(w);
    TRY(read_ahead(w, error));
    const double start = clock_now();
    TRY(cpd_machine_wait(&job->inputs, &job->run.wake, &job->run.progress, error));
    if (owns_job(w))
        cpd_machine_waited(job, start);
    if (!is_alone(w) && w->comm->shares_memory)
        TRY(meet(w, error));
    t->rows.devices = w->devices;
    return check_tensor(w, error);
}

/* Opens the tensor, checks what can be checked, and reads what the backend needs. GPUs wake while
 * the tensor is read. Those of several processes meet before, because they connect for longer than
 * it takes to wake. The failure of one rank is that of all. */
static enum status prepare(struct cpd_rank *w, struct error *error)
{
    struct cpd_job *job = w->job;
    const struct rank_range *ranks = &w->settings->ranks;
    const struct backend_kind *kind = job->inputs.choice.kind;
    if (!owns_job(w)) { /* a thread has a table of its own; the models are rank 0's */
        w->runs = &w->own;
        runs_create(&w->own, &job->results.runs.list, job->results.runs.model, error);
    }
    struct cpd_reports *r = &w->reports;
    r->count = w->comm->size;
    r->place = memory_zeros((size_t)r->count, sizeof *r->place, error);
    r->report = memory_zeros((size_t)r->count, sizeof *r->report, error);
    TRY(comm_end_phase(w->comm, error));
    if (!is_alone(w)) {
        const double start = clock_now();
        TRY(rank_places(r->place, w->comm, &w->settings->common, kind, error));
        backend_wake_begin(&w->wake, kind, r->place[w->comm->rank].device);
        if (owns_job(w))
            cpd_machine_waited(job, start);
        if (!w->comm->shares_memory)
            TRY(meet(w, error));
    }
    look_at_tensor(w, error);
    TRY(comm_end_phase(w->comm, error));
    struct backend_options options = make_options(w);
    if (job->results.outcomes == 0 && ranks->last > ranks->first) {
        options.problem.rank = ranks->last; /* if it does not fit, the others are not computed */
        backend_check_fits(job->inputs.choice.kind, w->tensor, &options, error);
        options.problem.rank = ranks->first;
    }
    TRY(comm_end_phase(w->comm, error));
    if (w->comm->rank == 0) {
        cpd_start_find_random(&job->inputs, &w->tensor->shape, &job->results.findings);
        cpd_show_findings(&job->results, w->progress);
    }
    return backend_prepare(&w->backend, job->inputs.choice.kind, w->tensor, &options, w->progress,
                           error);
}

/* Where unlisted or listed entries are unknown: whether enough is known. Finds slices of which
 * nothing is known; by their names, where they have such. A GPU that takes the nonzeros from a file
 * keeps them to itself. */
static enum status look_at_known(struct cpd_rank *w, struct error *error)
{
    const struct backend_options options = make_options(w);
    const struct problem *p = &options.problem;
    const struct shape *shape = &w->tensor->shape;
    struct cpd_results *results = &w->job->results;
    const bool all = p->unlisted.weight == 0;
    char *text[MAX_ORDER] = {NULL};
    struct known_rows known;
    if (!p->unlisted.weighed || w->tensor->input.unread)
        return STATUS_OK;
    if (!all && w->tensor->listed.unknown == 0 && p->holdout.share == 0)
        return STATUS_OK;
    TRY(rank_tensor_count_known(&known, w->tensor, all, error));
    for (int n = 0; w->comm->rank == 0 && n < shape->order; n++) {
        const char *label =
            known.first[n] < shape->dims[n] ? labels_get(&results->names, n, known.first[n]) : NULL;
        const size_t room = label ? PRINTABLE_ROOM(strlen(label)) : 0;
        text[n] = label ? memory_array(room, 1, error) : NULL;
        if (text[n])
            printable(label, text[n], room);
    }
    if (w->comm->rank == 0 && error->status == STATUS_OK) {
        find_in_known(&results->findings, &known, shape, p, (const char *const *)text);
        cpd_show_findings(results, w->progress);
    }
    for (int n = 0; n < shape->order; n++)
        memory_free(text[n]);
    return comm_allreduce_error(w->comm, error);
}

/* Finds out which tensor it is, with its hash where a checkpoint or the record must know. Ranks
 * that share the job wait until rank 0 knows. */
static enum status identify(struct cpd_rank *w, struct error *error)
{
    struct cpd_job *job = w->job;
    struct fingerprint tensor = {.shape = w->tensor->shape, .nnz = w->tensor->nnz};
    const struct checkpoint *resume = &job->inputs.resume;
    const bool hashed = hash_is_needed(w->settings);
    if (hashed)
        TRY(rank_tensor_fingerprint(&tensor, w->tensor, error));
    if (owns_job(w))
        job->results.tensor = job->inputs.settings.saving.about.tensor = tensor;
    if (owns_job(w)) {
        job->results.facts.hashed = hashed;
        job->results.facts.hash = tensor.hash;
    }
    if (!hashed)
        return STATUS_OK;
    if (w->settings->resume &&
        checkpoint_check_shape(resume, &tensor.shape, tensor.nnz, error) == STATUS_OK)
        checkpoint_check_hash(resume, tensor.hash, error);
    return comm_allreduce_error(w->comm, error);
}

/* As soon as the backend is open. From now on signals let the iteration finish; before, a signal
 * ends the program at once, for there is nothing to save. With -v shows the memory plan that was
 * followed. */
static void opened(void *context, struct backend *b)
{
    struct cpd_rank *w = context;
    struct backend_built *built = &w->job->results.built;
    char text[4096];
    if (w->comm->rank == 0)
        backend_built(b, built);
    if (w->settings->verbose && is_alone(w)) {
        plan_describe(&built->plan, &built->groups, text, sizeof text);
        for (char *text_line = strtok(text, "\n"); text_line; text_line = strtok(NULL, "\n"))
            progress_note(w->progress, "%s", text_line);
    }
    if (owns_job(w))
        cpd_signals_catch(CPD_SIGNALS_PATIENCE);
}

/* Each rank reports to rank 0, which keeps its times, and the reports of several ranks, for the
 * summary and the record. Where rows are dealt, no mode is cut, and the ranks say what they have.
 * Where a rank alone has kept the tensor, it has not read it again. With -v shows which kernel
 * computed each mode's MTTKRP in the end, if there was a choice. */
static enum status report(struct cpd_rank *w, struct error *error)
{
    const struct rank_tensor *t = w->tensor;
    const struct rank_report *mine = &w->mine.rank;
    const bool verbose = w->settings->verbose;
    struct problem *problem = &w->job->inputs.settings.common.options.problem;
    struct cpd_results *results = &w->job->results;
    struct cpd_times *times = &results->times;
    struct cpd_reports *r = &w->reports;
    uint64_t most = 0, all = 0;
    r->imbalance = t->cost.imbalance;
    memcpy(r->parts, t->grid.parts, sizeof r->parts);
    w->mine.peak = machine_memory_peak();
    TRY(comm_allgather(w->comm, &w->mine, sizeof w->mine, r->report, error));
    if (w->comm->rank > 0)
        return STATUS_OK;
    for (int k = 0; t->rows.dealt && k < r->count; k++) {
        const uint64_t nnz = r->report[k].rank.nnz;
        most = nnz > most ? nnz : most;
        all += nnz;
    }
    if (t->rows.dealt)
        r->imbalance = all > 0 ? (double)most * r->count / (double)all - 1 : 0;
    for (int n = 0; t->rows.dealt && n < MAX_ORDER; n++)
        r->parts[n] = 1;
    for (int n = 0; w->settings->runs.choose_ridge && n < MAX_ORDER; n++)
        problem->rules.ridge[n] = results->runs.ridge.best;
    memcpy(times->operation, mine->operation, sizeof times->operation);
    times->replicates = mine->replicates;
    if (!is_alone(w) || results->outcomes == 0) {
        times->read = t->input.read_seconds;
        times->exchange = t->exchange_seconds;
        times->clean = t->input.clean_seconds;
    }
    for (int n = 0; is_alone(w) && verbose && n < t->shape.order; n++)
        if (mine->kernel[n][0])
            progress_note(w->progress, "mode %d: MTTKRP kernel %s", n + 1, mine->kernel[n]);
    if (is_alone(w))
        return STATUS_OK;
    times->communication = mine->communication;
    if (verbose)
        cpd_reports_show(w->progress, r);
    results->reports = *r;
    *r = (struct cpd_reports){0};
    return STATUS_OK;
}

enum status cpd_run(struct comm *c, void *context, struct error *error)
{
    struct cpd_job *job = context;
    const struct cpd_inputs *in = &job->inputs;
    const struct cpd_settings *s = &in->settings;
    struct cpd_rank w = {.job = job,
                         .settings = s,
                         .comm = c,
                         .progress = c->rank == 0 ? &job->run.progress : NULL,
                         .runs = &job->results.runs};
    w.tensor = c->size == 1 ? &job->run.tensor : &w.part;
    TRY_OR(done, prepare(&w, error));
    TRY_OR(done, look_at_known(&w, error));
    TRY_OR(done, identify(&w, error));
    struct decomposition d = {.als = s->als,
                              .opened = opened,
                              .context = &w,
                              .spread = job->run.spread,
                              .progress = w.progress};
    d.als.interrupted = &cpd_interrupted;
    d.als.deadline = s->time_limit > 0 ? in->began + s->time_limit : 0;
    d.als.saving = s->saving.path ? &s->saving : NULL;
    d.als.resume = s->resume ? &in->resume : NULL;
    d.als.trace = s->recorded ? &job->results.trace : NULL;
    d.als.components = true;
    d.als.core_consistency |= cpd_settings_range(s);
    TRY_OR(done, decompose(&w.backend, w.tensor, &d, w.runs, &w.mine.rank, error));
    TRY_OR(done, report(&w, error));
done:
    backend_close(&w.backend);
    runs_free(&w.own);
    if (job->run.spread) { /* the rows of the model go by them */
        job->run.rows = w.part.rows;
        w.part.rows = (struct rank_rows){0};
    }
    rank_tensor_close(&w.part);
    backend_wake_end(&w.wake);
    if (w.devices)
        job->inputs.choice.kind->leave(w.devices);
    cpd_reports_free(&w.reports);
    return error->status;
}
