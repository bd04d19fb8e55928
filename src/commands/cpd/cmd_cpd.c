/* blco cpd: from a tensor file to the files of its model. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_team.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_checkpoint.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_machine.h"
#include "commands/cpd/cpd_output.h"
#include "commands/cpd/cpd_ranks_file.h"
#include "commands/cpd/cpd_record.h"
#include "commands/cpd/cpd_signals.h"
#include "commands/cpd/cpd_starts.h"
#include "commands/ranks_join.h"

/* Reads the start that --init names; with --fix, what is fixed must be there. */
static enum status read_start(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    const bool *fixed = s->common.options.problem.rules.fixed;
    if (s->init_stem && mode_rules_any(fixed))
        ktensor_read_some(&job->start, s->init_stem, fixed, error);
    else if (s->init_stem)
        ktensor_read(&job->start, s->init_stem, 0, error);
    if (error->status != STATUS_OK || !s->init_stem)
        return error->status;
    if (job->start.rank != s->common.options.problem.rank)
        return error_set(
            error, STATUS_INPUT, "--init %s: a model of rank %ju, expected the rank %ju of -r",
            s->init_stem, (uintmax_t)job->start.rank, (uintmax_t)s->common.options.problem.rank);
    return STATUS_OK;
}

/* Refuses several -r where each would read a pipe anew. */
static enum status check_input(const struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    bool together = comm_world_expected() || s->common.gpus.count > 1;
    if (together && s->ranks.last > s->ranks.first && strcmp(s->tensor, "-") == 0)
        error_set(error, STATUS_INPUT,
                  "-: several GPUs or processes read the tensor anew for each rank of -r, "
                  "which standard input does not allow; a file expected");
    return error->status;
}

/* Checks all that can be checked before the tensor is read. */
static enum status prepare(struct cpd_job *job, struct error *error)
{
    struct cpd_settings *s = &job->settings;
    if (!job->kind &&
        (cpd_machine_choose(job, error) != STATUS_OK || check_input(job, error) != STATUS_OK))
        return error->status;
    if (comm_world_rank() == 0 &&
        (cpd_output_check(s, error) != STATUS_OK || cpd_output_open(job, error) != STATUS_OK ||
         cpd_record_open(job, error) != STATUS_OK))
        return error->status;
    if (starts_create(&job->starts, s->starts, s->seed, NULL, error) != STATUS_OK ||
        read_start(job, error) != STATUS_OK || cpd_checkpoint_prepare(job, error) != STATUS_OK)
        return error->status;
    cpd_machine_note(job);
    find_in_tolerance(&job->findings, &s->common.options, s->tolerance);
    cpd_tell_findings(job, &job->progress);
    cpd_checkpoint_note_resumed(job);
    return STATUS_OK;
}

/* The best start's model becomes the result; a signal ended the last start. Time is that of all. */
static enum status take_best_start(struct cpd_job *job, struct error *error)
{
    const struct starts *s = &job->starts;
    job->result = s->start[s->best].result;
    job->result.interrupted = s->start[s->made - 1].result.interrupted;
    job->result.seconds = 0;
    for (int i = 0; i < s->made; i++)
        job->result.seconds += s->start[i].result.seconds;
    return starts_take_best(&job->starts, &job->model, error);
}

/* Finds what there is to know of the result. The starts of one rank of -r are a result, which -q
 * leaves; those of several are part of the way to the table of the ranks. */
static void tell_findings(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    const struct cpals_options als = cpd_als_options(job);
    bool table = s->starts > 1 && s->ranks.first == s->ranks.last;
    struct progress *to = table ? &job->results : &job->progress;
    find_in_result(&job->findings, &job->result, &s->common.options, &als);
    cpd_tell_findings(job, &job->progress);
    cpd_tell_starts(to, &job->starts);
    find_in_starts(&job->findings, &job->starts, s->init_stem || s->resume);
    cpd_tell_findings(job, to);
}

/* Writes the result and tells of it: where there are several processes, process 0 does, unless all
 * write together. */
static enum status finish(struct cpd_job *job, struct comm *world, struct error *error)
{
    bool tells = comm_world_rank() == 0;
    cpd_signals_done();
    if (take_best_start(job, error) != STATUS_OK)
        return error->status;
    job->unconverged |=
        job->result.stop == CPALS_ITERATIONS || job->result.stop == CPALS_TIME_LIMIT;
    if ((tells || job->together) && cpd_output_write(job, world, error) != STATUS_OK)
        return error->status;
    if (!tells)
        return STATUS_OK;
    cpd_summarise(&job->progress, &job->result, &job->times, job->model.shape.order,
                  job->settings.verbose, &job->files);
    tell_findings(job);
    cpd_record_write(job, error);
    cpd_checkpoint_note_saved(job, error);
    return error->status;
}

/* The processes wait for each other after each phase, so that the failure of one is that of all. */
static enum status run_processes(struct cpd_job *job, struct comm *world, struct error *error)
{
    prepare(job, error);
    if (comm_end_phase(world, error) != STATUS_OK ||
        cpd_start_agree(job, world, error) != STATUS_OK)
        return error->status;
    if (cpd_run(world, job, error) != STATUS_OK)
        return error->status;
    finish(job, world, error);
    return comm_end_phase(world, error);
}

/* On GPUs of this process, or alone. */
static enum status run_process(struct cpd_job *job, struct error *error)
{
    if (prepare(job, error) != STATUS_OK)
        return error->status;
    int gpus = job->settings.common.gpus.count;
    if (!job->self)
        job->self = comm_self(error);
    if (error->status != STATUS_OK)
        return error->status;
    if (gpus > 1)
        comm_run_team(gpus, cpd_run, job, error);
    else
        cpd_run(job->self, job, error);
    return error->status == STATUS_OK ? finish(job, NULL, error) : error->status;
}

/* Of several ranks, notes what the present one has come to. Where it broke down, which is no reason
 * against the next one, *error moves to *breakdown, which has the first such. */
static void note_rank(struct cpd_job *job, struct error *breakdown, struct error *error)
{
    struct rank_outcome of = {.rank = job->settings.common.options.problem.rank, .failure = *error};
    if (!job->outcome)
        return;
    if (error->status == STATUS_OK) {
        of.result = job->result;
        of.agreement = starts_agreement(&job->starts);
    }
    job->outcome[job->outcomes++] = of;
    if (error->status != STATUS_NUMERICAL)
        return;
    if (error->message[0])
        error_prefix(error, "-r %ju: ", (uintmax_t)of.rank);
    if (breakdown->status == STATUS_OK)
        *breakdown = *error;
    *error = (struct error){0};
}

/* Frees what the present rank has. */
static void end_rank(struct cpd_job *job)
{
    cpd_output_close(job);
    cpd_record_close(job);
    findings_free(&job->findings);
    job->told = 0;
    starts_free(&job->starts);
    ktensor_free(&job->model);
}

/* The table of the ranks and the suggestion, which stay in a file. Where the ranks have ended well,
 * all processes learn whether the file was written. */
static void tell_ranks(struct cpd_job *job, struct comm *world, int ranks, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    struct error lost = {0}, *of = error->status == STATUS_OK ? error : &lost;
    progress_clear(&job->progress);
    if (comm_world_rank() == 0) {
        cpd_tell_ranks(&job->results, job->outcome, job->outcomes, job->outcomes < ranks,
                       s->nowrite ? NULL : s->base_stem);
        cpd_ranks_file_write(job, ranks, of);
    }
    if (lost.status != STATUS_OK)
        error_append(error, "; %s", lost.message);
    if (world && of == error)
        comm_end_phase(world, error);
}

/* With --require-converged, the model of each rank of -r must have converged, unless a signal has
 * ended the run. Every process comes to the same answer, process 0 tells. */
static enum status check_converged(const struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    if (error->status != STATUS_OK || !s->require_converged || !job->unconverged ||
        job->result.interrupted)
        return error->status;
    return error_set(error, STATUS_UNCONVERGED, "%s",
                     comm_world_rank() > 0 ? ""
                     : s->nowrite          ? "not converged (--require-converged)"
                                           : "not converged (--require-converged); the model is "
                                             "written");
}

/* Decomposes with one rank of -r after the other; a signal and the time limit end all. A rank that
 * breaks down has no model, and the next one follows. */
static enum status run_ranks(struct cpd_job *job, struct comm *world, struct error *error)
{
    struct cpd_settings *s = &job->settings;
    struct error breakdown = {0};
    int ranks = rank_range_count(&s->ranks);
    bool ended = false;
    if (ranks > 1)
        job->outcome = memory_zeros((size_t)ranks, sizeof *job->outcome, error);
    for (int i = 0; i < ranks && !ended && error->status == STATUS_OK; i++) {
        if (i > 0)
            job->times = (struct cpd_times){.start = clock_now()};
        if (cpd_settings_take_rank(s, s->ranks.first + (uint64_t)i * s->ranks.step, error) ==
            STATUS_OK)
            world ? run_processes(job, world, error) : run_process(job, error);
        ended = starts_ended(&job->starts);
        note_rank(job, &breakdown, error);
        end_rank(job);
    }
    if (job->outcomes > 0)
        tell_ranks(job, world, ranks, error);
    if (error->status == STATUS_OK)
        *error = breakdown;
    return check_converged(job, error);
}

/* On the processes that a launcher has started; *error says whether this one's options are wrong.
 */
static void run_world(struct cpd_job *job, struct error *error)
{
    struct comm *world;
    if (ranks_join(&world, &job->line, cpd_sections, error) == STATUS_OK &&
        cpd_checkpoint_look(job, world, error) == STATUS_OK)
        run_ranks(job, world, error); /* before comm_finalize(), which may end the process */
    comm_finalize(world);
}

static void run(struct cpd_job *job, struct error *error)
{
    bool together = comm_world_expected();
    bool quiet = job->settings.common.quiet || comm_world_rank() > 0;
    job->settings.common.gpus.all_unless_given = together;
    progress_init(&job->progress, quiet ? NULL : stderr, job->settings.common.progress);
    progress_init(&job->results,
                  comm_world_rank() > 0 ? NULL
                  : !job->settings.json ? stdout
                  : quiet               ? NULL
                                        : stderr,
                  PROGRESS_NEVER);
    if (together)
        run_world(job, error);
    else if (error->status == STATUS_OK && cpd_checkpoint_look(job, NULL, error) == STATUS_OK)
        run_ranks(job, NULL, error);
    progress_clear(&job->progress);
}

static int run_command(int argc, char **argv, struct error *error)
{
    struct cpd_job job = {
        .began = clock_now(), .record.fd = -1, .line = {.argc = argc, .argv = argv}};
    job.times.start = job.began;
    cpd_signals_count_asks();
    cpd_settings_parse(&job.settings, &job.line, error);
    if (error->status != STATUS_OK || !cmd_answered(&cmd_cpd, &job.settings.common))
        run(&job, error);
    cpd_job_free(&job);
    int number = job.result.interrupted ? job.result.interrupted : cpd_interrupted;
    if (error->status == STATUS_OK && number)
        return 128 + number;
    return (int)error->status;
}

const struct command cmd_cpd = {
    .name = "cpd",
    .summary = "decompose a sparse tensor by CP-ALS",
    .usage = "Usage: blco cpd TENSOR -r RANK [-o STEM] [OPTION]...\n\n"
             "Decomposes a sparse tensor into RANK components (CP-ALS) and writes the weights\n"
             "to STEM.lambda.mat and the factor matrix of each mode to STEM.mode1.mat, ...\n"
             "TENSOR is text (.tns), plain or gzip, a .blco file, or - for standard input.\n",
    .ending = "\nProcesses that mpirun or srun starts work on one tensor together, each with a\n"
              "GPU where there are GPUs. Options of memory count for each GPU or process, -t\n"
              "for each process. More in blco-cluster(7).\n"
              "\nSIGINT, SIGTERM or SIGHUP ends the run after the present iteration, and the\n"
              "model so far and a checkpoint are written; SIGUSR1 asks for a checkpoint. Exit\n"
              "codes: 0 done, 2 usage or input, 3 memory, 4 numerical breakdown, 5 output, 7 not\n"
              "converged (--require-converged), 129, 130 or 143 interrupted. More in\n"
              "blco-cpd(1).\n",
    .short_ending = "\nblco cpd --help=all shows every option, blco-cpd(1) explains them.\n",
    .sections = cpd_sections,
    .run = run_command,
    .operands = CMD_TENSORS,
    .together = true,
};
