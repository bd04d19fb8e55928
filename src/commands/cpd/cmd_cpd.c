/* blco cpd: from a tensor file to the files of its model. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_checkpoint.h"
#include "commands/cpd/cpd_guess.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_machine.h"
#include "commands/cpd/cpd_output.h"
#include "commands/cpd/cpd_ranks_file.h"
#include "commands/cpd/cpd_record.h"
#include "commands/cpd/cpd_run.h"
#include "commands/cpd/cpd_settings.h"
#include "commands/cpd/cpd_signals.h"
#include "commands/ranks_join.h"

/* Whether the ranks are GPUs of this process. */
static bool is_team(const struct cpd_settings *s)
{
    return !comm_world_expected() && s->common.gpus.count > 1;
}

/* Refuses a range of -r where each rank of it would read a pipe again. */
static enum status check_input(const struct cpd_settings *s, struct error *error)
{
    bool anew = comm_world_expected() || is_team(s);
    if (anew && s->ranks.last > s->ranks.first && strcmp(s->tensor, "-") == 0)
        error_set(error, STATUS_INPUT,
                  "a range of -r on several GPUs or processes reads the tensor once per rank: name "
                  "a file, not standard input");
    return error->status;
}

static enum status choose_machine(struct cpd_job *job, struct error *error)
{
    if (job->inputs.choice.kind) /* for all ranks of -r */
        return STATUS_OK;
    TRY(cpd_machine_choose(&job->inputs, &job->run.wake, error));
    return check_input(&job->inputs.settings, error);
}

/* Checks the outputs and opens what stays open, on rank 0. */
static enum status open_outputs(const struct cpd_settings *s, struct cpd_run *run,
                                struct error *error)
{
    if (run->world->rank > 0)
        return STATUS_OK;
    TRY(cpd_output_check(s, error));
    TRY(cpd_output_open(s, &run->lock, error));
    return cpd_record_open(s, &run->record, error);
}

/* Checks all that can be checked before the tensor is read. */
static enum status prepare(struct cpd_job *job, struct error *error)
{
    struct cpd_inputs *in = &job->inputs;
    struct cpd_run *run = &job->run;
    struct cpd_results *results = &job->results;
    const struct cpd_settings *s = &in->settings;
    TRY(choose_machine(job, error));
    TRY(open_outputs(s, run, error));
    TRY(starts_create(&results->starts, s->starts, s->seed, NULL, error));
    TRY(split_half_create(&results->halves, &s->halves, s->starts, s->seed, NULL, error));
    TRY(cpd_guess_read(in, error));
    TRY(cpd_checkpoint_prepare(in, &run->saving, error));
    cpd_guess_set_lengths(in);
    cpd_machine_note(in, &run->progress);
    find_in_tolerance(&results->findings, &s->common.options, s->tolerance);
    cpd_show_findings(results, &run->progress);
    cpd_checkpoint_note_resumed(in, &run->progress, &results->findings);
    cpd_show_findings(results, &run->progress);
    return STATUS_OK;
}

/* The result is that of the best start, with the signal that ended the run and the time of
 * all. */
static enum status take_best_start(struct cpd_results *r, struct error *error)
{
    const struct starts *s = &r->starts;
    r->result = s->start[s->best].result;
    r->result.interrupted = s->start[s->made - 1].result.interrupted;
    if (split_half_interrupted(&r->halves))
        r->result.interrupted = split_half_interrupted(&r->halves);
    r->result.seconds = 0;
    for (int i = 0; i < s->made; i++)
        r->result.seconds += s->start[i].result.seconds;
    r->unconverged |= r->result.stop == CPALS_ITERATIONS || r->result.stop == CPALS_TIME_LIMIT;
    return starts_take_best(&r->starts, &r->model, error);
}

/* Shows the summary and the findings. The tables of the starts and of the halves are results, which
 * -q leaves; with a range of -r only the table of the range is one. */
static void show_result(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    struct cpd_results *r = &job->results;
    const struct cpals_options als = cpd_als_options(&job->inputs, NULL, NULL);
    const bool range = s->ranks.first < s->ranks.last;
    struct progress *to = s->starts > 1 && !range ? &run->tables : &run->progress;
    cpd_summarise(&run->progress, r, s->verbose);
    find_in_result(&r->findings, &r->result, &s->common.options, &als);
    cpd_show_findings(r, &run->progress);
    cpd_starts_show(to, &r->starts);
    find_in_starts(&r->findings, &r->starts, r->tensor.nnz,
                   !s->init_stem && !s->resume &&
                       !problem_has_one_optimum(&s->common.options.problem));
    cpd_show_findings(r, to);
    to = range ? &run->progress : &run->tables;
    cpd_halves_show(to, &r->halves);
    find_in_halves(&r->findings, &r->halves);
    cpd_show_findings(r, to);
}

/* Writes the result and shows it. Rank 0 does that; the others may have rows of the model. */
static enum status finish(struct cpd_job *job, struct error *error)
{
    const struct cpd_inputs *in = &job->inputs;
    const struct cpd_settings *s = &in->settings;
    struct cpd_run *run = &job->run;
    struct cpd_results *results = &job->results;
    bool first = run->world->rank == 0;
    cpd_signals_done();
    TRY(take_best_start(results, error));
    if (first)
        cpd_guess_keep_weights(in, &results->model);
    if (first || run->spread)
        TRY(cpd_output_write(s, run, results, error));
    if (!first)
        return STATUS_OK;
    show_result(job);
    cpd_record_write(&job->inputs, results, &run->record, &run->progress, error);
    cpd_checkpoint_note_saved(s, &results->result, &run->progress, error);
    return error->status;
}

/* The present one of the ranks of -r. The processes wait for each other after each phase, so
 * that the failure of one is that of all. */
static enum status run_one(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct comm *world = job->run.world;
    prepare(job, error);
    TRY(comm_end_phase(world, error));
    TRY(cpd_guess_compare(&job->inputs, world, error));
    if (is_team(s))
        comm_run_team(s->common.gpus.count, cpd_run, job, error);
    else
        cpd_run(world, job, error);
    TRY(error->status);
    finish(job, error);
    return comm_end_phase(world, error);
}

/* Notes the outcome of one of several ranks of -r. A breakdown is no reason against the next one:
 * *error moves to *breakdown, which keeps the first. */
static void note_one(uint64_t rank, struct cpd_results *r, struct error *breakdown,
                     struct error *error)
{
    struct rank_outcome of = {.rank = rank, .failure = *error};
    if (!r->outcome)
        return;
    if (error->status == STATUS_OK) {
        of.result = r->result;
        of.agreement = starts_agreement(&r->starts);
        of.halves = (struct halves_outcome){.asked = r->halves.halves.mode > 0,
                                            .known = r->halves.halves.mode > 0 &&
                                                     r->halves.state == HALVES_COMPARED,
                                            .score = r->halves.match.score,
                                            .alike = r->halves.alike};
        of.ridge = r->starts.ridge.count > 0 ? r->starts.ridge.best : 0;
    }
    r->outcome[r->outcomes++] = of;
    if (error->status != STATUS_NUMERICAL)
        return;
    if (error->message[0])
        error_prefix(error, "-r %ju: ", (uintmax_t)rank);
    if (breakdown->status == STATUS_OK)
        *breakdown = *error;
    *error = (struct error){0};
}

/* Frees what one of the ranks of -r has, and discards a record that was not written. */
static void end_one(struct cpd_run *run, struct cpd_results *r)
{
    stem_lock_release(&run->lock);
    outfile_discard(&run->record);
    cpd_reports_free(&r->reports);
    findings_free(&r->findings);
    r->shown = 0;
    starts_free(&r->starts);
    split_half_free(&r->halves);
    ktensor_free(&r->model);
    rank_rows_close(&run->rows);
}

/* Shows and writes the table of -r and the suggestion. Where no error has ended the run, all
 * processes learn whether the file was written. */
static void show_range(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    const struct cpd_results *r = &job->results;
    struct error lost = {0}, *of = error->status == STATUS_OK ? error : &lost;
    progress_clear(&run->progress);
    if (run->world->rank == 0) {
        cpd_range_show(&run->tables, r->outcome, r->outcomes,
                       r->outcomes < rank_range_count(&s->ranks), s->nowrite ? NULL : s->base_stem);
        cpd_ranks_file_write(&job->inputs, r, &run->progress, of);
    }
    if (lost.status != STATUS_OK)
        error_append(error, "; %s", lost.message);
    if (of == error)
        comm_end_phase(run->world, error);
}

/* With --require-converged, each model must have converged, unless a signal has ended the run. All
 * processes have the same answer; process 0 has the message. */
static enum status check_converged(const struct cpd_settings *s, const struct cpd_results *r,
                                   struct error *error)
{
    if (!s->require_converged || !r->unconverged || r->result.interrupted)
        return STATUS_OK;
    return error_set(error, STATUS_UNCONVERGED, "%s",
                     comm_world_rank() > 0 ? ""
                     : s->nowrite          ? "not converged (--require-converged)"
                                           : "not converged (--require-converged); the model is "
                                             "written");
}

/* One rank of -r after the other; a signal or the time limit ends them all. After one that breaks
 * down, which has no model, the next one follows. */
static enum status run_range(struct cpd_job *job, struct error *error)
{
    struct cpd_settings *s = &job->inputs.settings;
    struct cpd_results *r = &job->results;
    struct error breakdown = {0};
    int ranks = rank_range_count(&s->ranks);
    bool ended = false;
    if (ranks > 1)
        r->outcome = memory_zeros((size_t)ranks, sizeof *r->outcome, error);
    for (int i = 0; i < ranks && !ended && error->status == STATUS_OK; i++) {
        const uint64_t rank = s->ranks.first + (uint64_t)i * s->ranks.step;
        r->times = (struct cpd_times){.start = i > 0 ? clock_now() : job->inputs.began};
        if (cpd_settings_take_rank(s, rank, error) == STATUS_OK)
            run_one(job, error);
        ended = starts_ended(&r->starts) || split_half_ended(&r->halves);
        note_one(rank, r, &breakdown, error);
        end_one(&job->run, r);
    }
    if (r->outcomes > 0)
        show_range(job, error);
    if (error->status == STATUS_OK)
        *error = breakdown;
    return error->status == STATUS_OK ? check_converged(s, r, error) : error->status;
}

static void open_progress(struct cpd_run *run, const struct cpd_settings *s)
{
    bool quiet = s->common.quiet || comm_world_rank() > 0;
    progress_init(&run->progress, quiet ? NULL : stderr, s->common.progress);
    progress_init(&run->tables,
                  comm_world_rank() > 0 ? NULL
                  : !s->json            ? stdout
                  : quiet               ? NULL
                                        : stderr,
                  PROGRESS_NEVER);
}

/* On all processes that a launcher has started, or on this one. *error may have the failure of this
 * process's options, which becomes that of all. */
static int run_command(int argc, char **argv, struct error *error)
{
    struct cpd_job job = {.inputs = {.began = clock_now(), .line = {.argc = argc, .argv = argv}},
                          .run.record.fd = -1};
    struct cpd_settings *s = &job.inputs.settings;
    struct cpd_run *run = &job.run;
    cpd_signals_count_asks();
    cpd_settings_parse(s, &job.inputs.line, error);
    if (error->status == STATUS_OK && cmd_answered(&cmd_cpd, &s->common))
        goto done;
    s->common.gpus.all_unless_given = comm_world_expected();
    open_progress(run, s);
    TRY_OR(done, ranks_join(&run->world, &job.inputs.line, cpd_sections, error));
    TRY_OR(done, cpd_checkpoint_look(s, run->world, &run->progress, error));
    run_range(&job, error);
    progress_clear(&run->progress);
done:
    cpd_job_free(&job);
    const int number =
        job.results.result.interrupted ? job.results.result.interrupted : cpd_interrupted;
    return error->status == STATUS_OK && number ? 128 + number : (int)error->status;
}

const struct command cmd_cpd = {
    .name = "cpd",
    .summary = "decompose a sparse tensor by CP-ALS",
    .usage = "Usage: blco cpd TENSOR -r RANK [-o STEM] [OPTION]...\n\n"
             "Decomposes a sparse tensor into RANK components (CP-ALS) and writes the weights\n"
             "to STEM.lambda.mat and the factor matrix of each mode to STEM.mode1.mat, ...\n"
             "TENSOR is text (.tns) or CSV (--columns), plain or gzip, a .blco file,\n"
             "COORDS.npy,VALUES.npy, or - for text from standard input.\n",
    .ending = "\nProcesses that mpirun or srun starts work on one tensor together, each with\na "
              "GPU of its own where there are GPUs. The memory options apply to each GPU "
              "or\nprocess, -t to each process. More in blco-cluster(7).\n\nAfter SIGINT, SIGTERM "
              "or SIGHUP, the run finishes the current iteration and\nwrites the model, and with "
              "--checkpoint a checkpoint; SIGUSR1 asks for a\ncheckpoint. Exit status: 0 done, 2 "
              "usage or input, 3 memory, 4 numerical\nbreakdown, 5 output, 7 not converged "
              "(--require-converged), 129, 130 or 143\ninterrupted. More in blco-cpd(1).\n",
    .short_ending = "\nblco cpd --help=all shows every option, blco-cpd(1) explains them.\n",
    .sections = cpd_sections,
    .run = run_command,
    .operands = CMD_TENSORS,
    .together = true,
};
