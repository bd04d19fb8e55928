#include "commands/cpd/cpd_job.h"

#include <omp.h>

#include "als/fit_trace.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"

void cpd_show_findings(struct cpd_results *results, struct progress *to)
{
    char text[FINDING_TEXT];
    for (; results->shown < results->findings.count; results->shown++)
        progress_note(to, "%s", finding_text(&results->findings.finding[results->shown], text));
}

/* --- times of stages --- */

static double sum_of(const double seconds[MAX_ORDER], int order)
{
    double sum = 0;
    for (int n = 0; n < order; n++)
        sum += seconds[n];
    return sum;
}

int cpd_stages(const struct cpd_times *times, int order, double total,
               struct cpd_stage stage[CPD_STAGES])
{
    int count = 0;
    double other = total;
    if (times->wake > 0)
        stage[count++] = (struct cpd_stage){"wake", times->wake, -1};
    stage[count++] = (struct cpd_stage){"read", times->read, -1};
    if (times->exchange > 0)
        stage[count++] = (struct cpd_stage){"exchange", times->exchange, -1};
    stage[count++] = (struct cpd_stage){"clean", times->clean, -1};
    for (int op = 0; op < OP_COUNT; op++) {
        double seconds = sum_of(times->operation[op], order);
        const char *name = op == OP_OPEN ? "build" : operation_name((enum operation)op);
        if ((op != OP_RESIDUAL && op != OP_COMPONENTS) || seconds > 0)
            stage[count++] = (struct cpd_stage){name, seconds, op};
    }
    if (times->replicates > 0)
        stage[count++] =
            (struct cpd_stage){times->halves ? "halves" : "replicates", times->replicates, -1};
    stage[count++] = (struct cpd_stage){"write", times->write, -1};
    for (int i = 0; i < count; i++)
        other -= stage[i].seconds;
    stage[count++] = (struct cpd_stage){"other", other, -1};
    return count;
}

/* --- reports of ranks --- */

/* Ranks that are threads of one process have one peak, the process's. */
void cpd_reports_show(struct progress *to, const struct cpd_reports *reports)
{
    progress_note(to, "rank host             GPU  threads      nonzeros    mttkrp    update "
                      "    moving      peak");
    for (int r = 0; r < reports->count; r++) {
        const struct rank_place *p = &reports->place[r];
        const struct rank_report *t = &reports->report[r].rank;
        char gpu[16] = "-", peak[NUMBER_SIZE_TEXT];
        if (p->device_bus[0])
            snprintf(gpu, sizeof gpu, "%d", p->device);
        progress_note(to, "%4d %-16.16s %4s %8d %13ju %7.3f s %7.3f s %8.3f s %9s", r, p->host, gpu,
                      p->threads, (uintmax_t)t->nnz, sum_of(t->operation[OP_MTTKRP], MAX_ORDER),
                      sum_of(t->operation[OP_UPDATE], MAX_ORDER), t->communication,
                      number_size(reports->report[r].peak, peak));
    }
}

void cpd_reports_free(struct cpd_reports *r)
{
    memory_free(r->place, r->report);
    *r = (struct cpd_reports){0};
}

/* --- the end --- */

void cpd_job_free(void *context)
{
    struct cpd_job *job = context;
    struct cpd_inputs *in = &job->inputs;
    struct cpd_results *results = &job->results;
    struct cpd_run *run = &job->run;
    named_model_free(&in->start);
    slice_means_free(&in->means);
    checkpoint_close(&in->resume);
    memory_free(in->settings.base_stem, in->settings.stem, in->settings.ranks_path,
                in->settings.record);
    ktensor_free(&results->model);
    slice_means_free(&results->means);
    fit_trace_free(&results->trace);
    ktensor_files_free(&results->files);
    for (int i = 0; i < results->outcomes; i++)
        memory_free(results->outcome[i].replication.score);
    memory_free(results->outcome);
    labels_free(&results->names);
    backend_wake_end(&run->wake);
    rank_tensor_close(&run->tensor);
    comm_finalize(run->world);
}

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

void cpd_machine_waited(struct cpd_job *job, double start)
{
    if (job->inputs.choice.kind->devices)
        job->results.times.wake += clock_now() - start;
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
                  (uintmax_t)s->runs.guess.seed);
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
