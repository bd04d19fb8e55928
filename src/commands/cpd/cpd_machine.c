#include "commands/cpd/cpd_machine.h"

#include <omp.h>

#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"

enum status cpd_machine_choose(struct cpd_inputs *in, struct backend_wake *wake,
                               struct error *error)
{
    struct cmd_common *common = &in->settings.common;
    const bool world = comm_world_expected();
    TRY(machine_choose(&in->choice, common, error));
    cmd_set_threads(common->threads, 1);
    const bool gpus = in->choice.kind->devices && !world;
    TRY(cmd_check_parts(&common->ranks, gpus ? common->gpus.count : comm_world_size(),
                        gpus ? "GPUs" : "processes", error));
    if (world)
        return STATUS_OK;
    TRY(threads_start(error));
    if (common->gpus.count == 1) /* several ranks wake their GPUs themselves, before these meet */
        backend_wake_begin(wake, in->choice.kind, common->options.device);
    return STATUS_OK;
}

void cpd_machine_note(const struct cpd_inputs *in, struct progress *progress)
{
    const struct cpd_settings *s = &in->settings;
    const struct machine_choice *c = &in->choice;
    const int processes = comm_world_size(), gpus = s->common.gpus.count;
    const int threads = omp_get_max_threads();
    char workers[64];
    if (processes > 1)
        snprintf(workers, sizeof workers, "%d processes", processes);
    else if (gpus > 1)
        snprintf(workers, sizeof workers, "%d GPUs", gpus);
    else
        snprintf(workers, sizeof workers, "%d thread%s", threads, threads == 1 ? "" : "s");
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
