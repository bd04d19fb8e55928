#include "commands/cpd/cpd_machine.h"

#include <omp.h>

#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"

/* What computes: "4 threads", "2 GPUs", "3 processes". */
static void name_workers(const struct cpd_inputs *in, char text[64])
{
    int processes = comm_world_size(), gpus = in->settings.common.gpus.count;
    int threads = omp_get_max_threads();
    if (processes > 1)
        snprintf(text, 64, "%d processes", processes);
    else if (gpus > 1)
        snprintf(text, 64, "%d GPUs", gpus);
    else
        snprintf(text, 64, "%d thread%s", threads, threads == 1 ? "" : "s");
}

/* Refuses a --grid of another number of ranks than there are. */
static enum status check_grid(const struct cpd_inputs *in, struct error *error)
{
    const struct cmd_common *common = &in->settings.common;
    bool of_gpus = in->choice.kind->devices && !comm_world_expected();
    return cmd_check_parts(&common->ranks, of_gpus ? common->gpus.count : comm_world_size(),
                           of_gpus ? "GPUs" : "processes", error);
}

/* Several ranks wake their GPUs themselves, before the GPUs meet. */
static bool is_alone(const struct cpd_inputs *in)
{
    return !comm_world_expected() && in->settings.common.gpus.count == 1;
}

enum status cpd_machine_choose(struct cpd_inputs *in, struct backend_wake *wake,
                               struct error *error)
{
    struct cmd_common *common = &in->settings.common;
    TRY(machine_choose(&in->choice, common, error));
    cmd_set_threads(common->threads, 1);
    TRY(check_grid(in, error));
    if (!comm_world_expected())
        TRY(threads_start(error));
    if (is_alone(in))
        backend_wake_begin(wake, in->choice.kind, common->options.device);
    return STATUS_OK;
}

void cpd_machine_note(const struct cpd_inputs *in, struct progress *progress)
{
    const struct cpd_settings *s = &in->settings;
    const struct machine_choice *c = &in->choice;
    char workers[64];
    name_workers(in, workers);
    progress_note(progress, "blco %s: backend %s%s%s%s, %s, rank %ju, seed %ju", version_text,
                  c->kind->name, c->why_not.status ? " (" : "", c->why_not.message,
                  c->why_not.status ? ")" : "", workers, (uintmax_t)s->common.options.problem.rank,
                  (uintmax_t)s->seed);
}

enum status cpd_machine_wait(struct cpd_inputs *in, struct backend_wake *wake,
                             struct progress *progress, struct error *error)
{
    const struct backend_kind *kind = in->choice.kind;
    struct error woken = {0};
    if (!wake->kind) /* nothing wakes; ranks of one process come here together */
        return STATUS_OK;
    backend_wake_wait(wake, &woken);
    TRY(machine_choose_again(&in->choice, &woken, error));
    if (in->choice.kind != kind)
        cpd_machine_note(in, progress);
    return STATUS_OK;
}
