/* blco cpd: from a tensor file to the files of its model. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_team.h"
#include "comm/comm_world.h"
#include "commands/cpd_checkpoint.h"
#include "commands/cpd_job.h"
#include "commands/cpd_output.h"
#include "commands/cpd_record.h"
#include "commands/cpd_signals.h"

/* Reads the start that --init names. */
static enum status read_start(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    if (!s->init_stem || ktensor_read(&job->start, s->init_stem, 0, error) != STATUS_OK)
        return error->status;
    if (job->start.rank != s->common.options.rank)
        return error_set(
            error, STATUS_INPUT, "--init %s: a model of rank %ju, expected the rank %ju of -r",
            s->init_stem, (uintmax_t)job->start.rank, (uintmax_t)s->common.options.rank);
    return STATUS_OK;
}

/* What computes: "4 threads", "2 GPUs", "3 processes". */
static void name_workers(const struct cpd_job *job, char text[64])
{
    int processes = comm_world_size(), gpus = job->settings.common.gpus.count;
    int threads = cmd_set_threads(job->settings.common.threads, 1);
    if (processes > 1)
        snprintf(text, 64, "%d processes", processes);
    else if (gpus > 1)
        snprintf(text, 64, "%d GPUs", gpus);
    else
        snprintf(text, 64, "%d thread%s", threads, threads == 1 ? "" : "s");
}

/* Refuses a --grid of another number of ranks than there are. */
static enum status check_grid(const struct cpd_job *job, struct error *error)
{
    const struct cmd_common *common = &job->settings.common;
    bool of_gpus = job->kind->devices && !comm_world_expected();
    return cmd_check_parts(&common->ranks, of_gpus ? common->gpus.count : comm_world_size(),
                           of_gpus ? "GPUs" : "processes", error);
}

/* Checks all that can be checked before the tensor is read. */
static enum status prepare(struct cpd_job *job, struct error *error)
{
    struct cpd_settings *s = &job->settings;
    struct error why_not = {0};
    char workers[64];
    if (cmd_choose_backend(&s->common, &job->kind, &why_not, error) != STATUS_OK)
        return error->status;
    if (check_grid(job, error) != STATUS_OK)
        return error->status;
    if (comm_world_rank() == 0 &&
        (cpd_output_open(job, error) != STATUS_OK || cpd_record_open(job, error) != STATUS_OK))
        return error->status;
    if (read_start(job, error) != STATUS_OK || cpd_checkpoint_prepare(job, error) != STATUS_OK)
        return error->status;
    name_workers(job, workers);
    if (!comm_world_expected() && threads_start(error) != STATUS_OK)
        return error->status;
    progress_note(&job->progress, "blco %s: backend %s%s%s%s, %s, rank %ju, seed %ju", version_text,
                  job->kind->name, why_not.status ? " (" : "", why_not.message,
                  why_not.status ? ")" : "", workers, (uintmax_t)s->common.options.rank,
                  (uintmax_t)s->seed);
    cpd_checkpoint_note_resumed(job);
    return STATUS_OK;
}

/* Writes the result and tells of it: where there are several processes, process 0 does, unless all
 * write together. */
static enum status finish(struct cpd_job *job, struct comm *world, struct error *error)
{
    bool tells = comm_world_rank() == 0;
    cpd_signals_done();
    if ((tells || job->together) && cpd_output_write(job, world, error) != STATUS_OK)
        return error->status;
    if (!tells)
        return STATUS_OK;
    cpd_summarise(&job->progress, &job->result, &job->times, job->model.shape.order,
                  job->settings.verbose, &job->files);
    cpd_note_advice(job);
    cpd_record_write(job, error);
    cpd_checkpoint_note_saved(job, error);
    return error->status;
}

/* The processes wait for each other after each phase, so that the failure of one is that of all. */
static enum status run_processes(struct cpd_job *job, struct comm *world, struct error *error)
{
    prepare(job, error);
    if (comm_settle(world, error) != STATUS_OK)
        return error->status;
    if (cpd_rank(world, job, error) != STATUS_OK)
        return error->status;
    finish(job, world, error);
    return comm_settle(world, error);
}

/* On GPUs of this process, or alone. */
static enum status run_process(struct cpd_job *job, struct error *error)
{
    if (prepare(job, error) != STATUS_OK)
        return error->status;
    int gpus = job->settings.common.gpus.count;
    enum status status =
        gpus > 1 ? comm_run_team(gpus, cpd_rank, job, error) : cpd_alone(job, error);
    return status == STATUS_OK ? finish(job, NULL, error) : status;
}

static void run(struct cpd_job *job, struct error *error)
{
    struct comm *world = NULL;
    cpd_signals_count_asks();
    bool together = comm_world_expected();
    bool quiet = job->settings.common.quiet || comm_world_rank() > 0;
    job->settings.common.gpus.all_unless_given = together;
    progress_init(&job->progress, quiet ? NULL : stderr);
    if (!together)
        run_process(job, error);
    else if (comm_world(&world, error) == STATUS_OK)
        run_processes(job, world, error);
    cpd_output_close(job); /* before comm_close(), which may end the process */
    comm_close(world);
    progress_clear(&job->progress);
}

int cmd_cpd(int argc, char **argv, struct error *error)
{
    struct cpd_job job = {.times.start = clock_now(), .record.fd = -1};
    if (kept_arguments_copy(&job.arguments, argc, argv, error) == STATUS_OK &&
        cpd_settings_parse(&job.settings, argc, argv, error) == STATUS_OK &&
        !cmd_common_answered(&job.settings.common, cmd_cpd_help))
        run(&job, error);
    cpd_job_free(&job);
    int number = job.result.interrupted ? job.result.interrupted : cpd_interrupted;
    if (error->status == STATUS_OK && number)
        return 128 + number;
    return (int)error->status;
}
