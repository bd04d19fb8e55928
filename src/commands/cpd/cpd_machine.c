#include "commands/cpd/cpd_machine.h"

#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"

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

/* job->kind and job->machine follow from the choice. */
static void describe(struct cpd_job *job)
{
    const struct machine_choice *c = &job->choice;
    char workers[64];
    job->kind = c->kind;
    name_workers(job, workers);
    snprintf(job->machine, sizeof job->machine, "backend %s%s%s%s, %s", c->kind->name,
             c->why_not.status ? " (" : "", c->why_not.message, c->why_not.status ? ")" : "",
             workers);
}

/* Several ranks wake their GPUs themselves, before the GPUs meet. */
static bool is_alone(const struct cpd_job *job)
{
    return !comm_world_expected() && job->settings.common.gpus.count == 1;
}

enum status cpd_machine_choose(struct cpd_job *job, struct error *error)
{
    struct cmd_common *common = &job->settings.common;
    if (machine_choose(&job->choice, common, error) != STATUS_OK)
        return error->status;
    describe(job);
    if (check_grid(job, error) != STATUS_OK ||
        (!comm_world_expected() && threads_start(error) != STATUS_OK))
        return error->status;
    if (is_alone(job))
        backend_wake_begin(&job->wake, job->kind, common->options.device);
    return STATUS_OK;
}

void cpd_machine_note(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    progress_note(&job->progress, "blco %s: %s, rank %ju, seed %ju", version_text, job->machine,
                  (uintmax_t)s->common.options.problem.rank, (uintmax_t)s->seed);
}

enum status cpd_machine_wait(struct cpd_job *job, struct error *error)
{
    struct error woken = {0};
    backend_wake_wait(&job->wake, &woken);
    if (machine_choose_again(&job->choice, &woken, error) != STATUS_OK ||
        job->kind == job->choice.kind)
        return error->status;
    describe(job);
    cpd_machine_note(job);
    return STATUS_OK;
}
