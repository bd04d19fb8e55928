/* blco cpd: from a tensor file to the files of its model. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_signals.h"

/* Whether the ranks are GPUs of this process. */
static bool is_team(const struct cpd_settings *s)
{
    return !comm_world_expected() && s->common.gpus.count > 1;
}

/* Checks all that can be checked before the tensor is read; rank 0 opens what stays open. */
static enum status prepare(struct cpd_job *job, struct error *error)
{
    struct cpd_inputs *in = &job->inputs;
    struct cpd_run *run = &job->run;
    struct cpd_results *results = &job->results;
    const struct cpd_settings *s = &in->settings;
    if (!in->choice.kind) { /* for all ranks of -r */
        const bool anew = comm_world_expected() || is_team(s);
        const double start = clock_now();
        TRY(cpd_machine_choose(in, &run->wake, error));
        cpd_machine_waited(job, start);
        if (anew && cpd_settings_range(s) && strcmp(s->tensor, "-") == 0)
            return error_set(error, STATUS_INPUT,
                             "a range of -r on several GPUs or processes reads the tensor once per "
                             "rank: name a file, not standard input");
    }
    if (run->world->rank == 0)
        TRY(cpd_output_open(job, error));
    TRY(cpd_start_prepare(in, error));
    TRY(runs_create(&results->runs, &s->runs, NULL, error));
    cpd_machine_note(in, &run->progress);
    find_in_tolerance(&results->findings, &s->common.options, s->als.tolerance);
    cpd_show_findings(results, &run->progress);
    cpd_start_note_resumed(in, &run->progress, &results->findings);
    cpd_show_findings(results, &run->progress);
    return STATUS_OK;
}

/* Writes the result and shows it: that of the best start, with the signal that ended the runs and
 * the time of all. Rank 0 does that; the others may have rows of the model. */
static enum status finish(struct cpd_job *job, struct error *error)
{
    const struct cpd_inputs *in = &job->inputs;
    const struct cpd_settings *s = &in->settings;
    struct cpd_run *run = &job->run;
    struct cpd_results *results = &job->results;
    const struct starts *starts = &results->runs.starts[0];
    struct cpals_result *r = &results->result;
    const bool first = run->world->rank == 0;
    cpd_signals_done();
    *r = runs_best(&results->runs, 0)->result;
    r->interrupted = runs_interrupted(&results->runs);
    r->seconds = 0;
    for (int i = 0; i < starts->made; i++)
        r->seconds += starts->start[i].result.seconds;
    results->unconverged |= r->stop == CPALS_ITERATIONS || r->stop == CPALS_TIME_LIMIT;
    TRY(runs_take_best(&results->runs, 0, &results->model, error));
    if (first) {
        const double start = clock_now();
        TRY(replication_compare(&results->replication, &results->runs, &results->model, error));
        results->times.replicates += s->runs.parts.mode > 0 ? clock_now() - start : 0;
        cpd_start_keep_weights(in, &results->model);
    }
    if ((first || run->spread) && !s->nowrite) {
        const uint64_t rank = results->model.rank;
        if (s->center)
            TRY(slice_means_append(&results->model, &results->means, error));
        TRY(cpd_output_write(job, error));
        if (s->center)
            TRY(ktensor_set_rank(&results->model, rank, error));
    }
    if (!first)
        return STATUS_OK;
    cpd_show_result(job);
    cpd_record_write(in, results, &run->record, &run->progress, error);
    if (r->not_saved.status != STATUS_OK) /* unless there is another error */
        error_set(error, r->not_saved.status, "%s", r->not_saved.message);
    else if (r->saved > 0)
        progress_note(&run->progress, "wrote %s (checkpoint of iteration %d)", s->saving.path,
                      r->saved);
    return error->status;
}

/* One rank of -r after the other; a signal or the time limit ends them all. After one that breaks
 * down, which has no model, the next one follows; the first breakdown is the failure in the end.
 * The table of -r and the suggestion are shown and written in the end, also after an error; where
 * none has ended the run, all processes learn whether the file was written.
 * With --require-converged, each model must have converged, unless a signal has ended the run. All
 * processes have the same answer; process 0 has the message. The processes wait for each other
 * after each phase, so that the failure of one is that of all. */
static enum status run_range(struct cpd_job *job, struct error *error)
{
    struct cpd_settings *s = &job->inputs.settings;
    struct cpd_results *r = &job->results;
    struct comm *world = job->run.world;
    struct error breakdown = {0};
    const int ranks = rank_range_count(&s->ranks);
    bool ended = false;
    if (ranks > 1)
        r->outcome = memory_zeros((size_t)ranks, sizeof *r->outcome, error);
    for (int i = 0; i < ranks && !ended && error->status == STATUS_OK; i++) {
        const uint64_t rank = s->ranks.first + (uint64_t)i * s->ranks.step;
        r->times = (struct cpd_times){.start = i > 0 ? clock_now() : job->inputs.began,
                                      .halves = slice_parts_are_halves(&s->runs.parts)};
        cpd_settings_take_rank(s, rank, error);
        TRY_OR(judge, error->status);
        prepare(job, error);
        TRY_OR(judge, comm_end_phase(world, error));
        TRY_OR(judge, cpd_start_compare(&job->inputs, world, error));
        if (is_team(s))
            comm_run_team(s->common.gpus.count, cpd_run, job, error);
        else
            cpd_run(world, job, error);
        TRY_OR(judge, error->status);
        finish(job, error);
        comm_end_phase(world, error);
    judge:
        ended = runs_ended(&r->runs);
        if (r->outcome)
            r->outcome[r->outcomes++] = rank_outcome(rank, &r->runs, &r->replication, error);
        if (r->outcome && error->status == STATUS_NUMERICAL) {
            if (error->message[0])
                error_prefix(error, "-r %ju: ", (uintmax_t)rank);
            if (breakdown.status == STATUS_OK)
                breakdown = *error;
            *error = (struct error){0};
        }
        /* what this rank has; a record that was not written goes */
        stem_lock_release(&job->run.lock);
        outfile_discard(&job->run.record);
        cpd_reports_free(&r->reports);
        findings_free(&r->findings);
        r->shown = 0;
        runs_free(&r->runs);
        replication_free(&r->replication);
        ktensor_free(&r->model);
        rank_rows_close(&job->run.rows);
    }
    if (r->outcomes > 0) {
        const bool failed = error->status != STATUS_OK;
        struct error lost = {0};
        progress_clear(&job->run.progress);
        if (world->rank == 0) {
            cpd_show_range(job);
            cpd_ranks_file_write(&job->inputs, r, &job->run.progress, failed ? &lost : error);
        }
        if (lost.status != STATUS_OK)
            error_append(error, "; %s", lost.message);
        if (!failed)
            comm_end_phase(world, error);
    }
    if (error->status == STATUS_OK)
        *error = breakdown;
    if (error->status == STATUS_OK && s->require_converged && r->unconverged &&
        !r->result.interrupted)
        return error_set(error, STATUS_UNCONVERGED, "%s",
                         world->rank > 0 ? ""
                         : s->nowrite    ? "not converged (--require-converged)"
                                         : "not converged (--require-converged); the model is "
                                           "written");
    return error->status;
}

/* On all processes that a launcher has started, or on this one. *error may have the failure of this
 * process's options, which becomes that of all. */
static enum status run_command(void *settings, const struct cli_line *line, struct error *error)
{
    struct cpd_job *job = settings;
    struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    run->record.fd = -1;
    job->inputs.began = clock_now();
    job->inputs.line = *line;
    cpd_signals_count_asks();
    if (error->status == STATUS_OK)
        cpd_settings_complete(s, line, error);
    s->common.gpus.all_unless_given = comm_world_expected();
    const bool first = comm_world_rank() == 0, shows = first && !s->common.quiet;
    progress_init(&run->progress, shows ? stderr : NULL, s->common.progress_kind);
    progress_init(&run->tables,
                  !first     ? NULL
                  : !s->json ? stdout
                  : shows    ? stderr
                             : NULL,
                  PROGRESS_NEVER);
    TRY(ranks_join(&run->world, line, cpd_sections, error));
    TRY(cpd_start_look(s, run->world, &run->progress, error));
    run_range(job, error);
    progress_clear(&run->progress);
    s->common.signal =
        job->results.result.interrupted ? job->results.result.interrupted : cpd_interrupted;
    return error->status;
}

const struct command cmd_cpd = {
    .name = "cpd",
    .summary = "decompose a sparse tensor by CP-ALS",
    .usage = "Usage: blco cpd TENSOR -r RANK [-o STEM] [OPTION]...\n\n"
             "Decomposes a sparse tensor into RANK components (CP-ALS) and writes the weights\n"
             "to STEM.lambda.mat and the factor matrix of each mode to STEM.mode1.mat, ...\n"
             "TENSOR is text (.tns) or CSV (--columns), plain or gzip, a .blco file,\n"
             "COORDS.npy,VALUES.npy, or - for text or CSV from standard input.\n",
    .ending = "\nProcesses that mpirun or srun starts work on one tensor together, each with\na "
              "GPU of its own where there are GPUs. The memory options apply to each GPU "
              "or\nprocess, -t to each process. More in blco-cluster(7).\n\nAfter SIGINT, SIGTERM "
              "or SIGHUP, the run finishes the current iteration and\nwrites the model, and with "
              "--checkpoint a checkpoint; SIGUSR1 asks for a\ncheckpoint. Exit status: 0 done, 2 "
              "usage or input, 3 memory, 4 numerical\nbreakdown, 5 output, 7 not converged "
              "(--require-converged), 129, 130 or 143\ninterrupted. More in blco-cpd(1).\n",
    .short_ending = "\nblco cpd --help=all shows every option, blco-cpd(1) explains them.\n",
    .sections = cpd_sections,
    .settings = sizeof(struct cpd_job),
    .run = run_command,
    .free = cpd_job_free,
    .operands = CMD_TENSORS,
    .together = true,
};
