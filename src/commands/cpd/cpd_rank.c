/* blco cpd on one rank of several: a GPU of this process, or a process of a launcher. */
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_output.h"
#include "commands/cpd/cpd_checkpoint.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_together.h"
#include "commands/rank_place.h"
#include "ranks/checkpoint_together.h"
#include "ranks/rank_fingerprint.h"

struct work {
    struct cpd_job *job;
    struct comm *comm;
    struct progress *progress;   /* rank 0's; NULL on the others          */
    struct rank_place *place;    /* (ranks); owned                        */
    struct cpd_telling *telling; /* (ranks) in the end; owned             */
    struct device_comm *devices; /* owned                              */
    struct rank_tensor tensor;
    struct cpals_result *result; /* (starts): those that were made have a stop; owned */
};

/* Whether the job is this rank's own; threads of one process leave the job to rank 0. */
static bool owns_job(const struct work *w)
{
    return w->comm->rank == 0 || comm_world_expected();
}

/* Whether all ranks see the files of checkpoints. */
static enum status check_checkpoints(struct work *w, struct error *error)
{
    const char *path = w->job->settings.checkpoint;
    if (!cpd_checkpoint_used(w->job) ||
        (path && checkpoint_writable_together(path, w->comm, error) != STATUS_OK))
        return error->status;
    return cpd_checkpoint_agree(w->job, w->comm, error);
}

/* Finds out which tensor it is, with its hash where a checkpoint or the record must know. Ranks
 * that share the job wait until rank 0 knows. */
static enum status identify(struct work *w, struct error *error)
{
    struct fingerprint tensor = {.shape = w->tensor.shape, .nnz = w->tensor.nnz};
    bool hashed = cpd_hash_needed(w->job);
    if (check_checkpoints(w, error) != STATUS_OK ||
        (hashed && rank_fingerprint(&tensor, &w->tensor, w->comm, error) != STATUS_OK))
        return error->status;
    if (owns_job(w)) {
        w->job->tensor = tensor;
        if (hashed)
            cpd_checkpoint_identify(w->job, &tensor, error);
    }
    return hashed ? comm_allreduce_error(w->comm, error) : STATUS_OK;
}

/* Opens this rank's part of the tensor; the failure of one rank is that of all. */
static enum status open_tensor(struct work *w, struct error *error)
{
    const struct cpd_settings *s = &w->job->settings;
    const struct rank_request request = rank_split(&s->common, w->job->kind, w->place, w->comm);
    if (rank_meet(&w->devices, w->job->kind, w->place, w->comm, error) == STATUS_OK &&
        rank_tensor_open(&w->tensor, w->comm, s->tensor, &s->common.tns, &request, w->progress,
                         error) == STATUS_OK &&
        cpd_check_start(w->job, &w->tensor.shape, error) == STATUS_OK &&
        identify(w, error) == STATUS_OK &&
        cpd_choose_together(w->job, w->comm, &w->tensor, error) == STATUS_OK && w->comm->rank == 0)
        cpd_output_try(s, w->tensor.shape.order, error);
    return comm_end_phase(w->comm, error);
}

/* Tells how the tensor is split. */
static void show_grid(struct work *w)
{
    char name[128];
    const struct rank_tensor *t = &w->tensor;
    process_grid_name(t->grid.parts, t->shape.order, name, sizeof name);
    progress_note(w->progress,
                  "%d ranks, grid %s, the fullest has %.1f %% more nonzeros than the mean",
                  t->grid.ranks, name, 100 * (t->cost.imbalance > 0 ? t->cost.imbalance : 0));
    if (w->progress) {
        cpd_note_shape(w->job, &t->shape);
        cpd_note_start(w->job, &t->shape);
    }
}

/* Ranks of one host share the memory that may be used evenly, unless the user says how much a rank
 * may use. */
static struct cpals_setting make_setting(const struct work *w)
{
    struct cpd_job *job = w->job;
    struct cpals_setting setting = {.kind = job->kind,
                                    .options = job->settings.common.options,
                                    .start = cpd_start(job),
                                    .nvecs = job->settings.init.nvecs,
                                    .starts = job->settings.starts,
                                    .als = cpd_als_options(job),
                                    .opened = owns_job(w) ? cpd_catch_signals : NULL,
                                    .spread = job->together,
                                    .devices = w->devices,
                                    .progress = w->progress};
    setting.options.device = w->place[w->comm->rank].device;
    if (setting.options.host_memory == 0)
        setting.options.host_memory = machine_memory_budget(0) / (uint64_t)w->comm->local_size;
    return setting;
}

static enum status decompose(struct work *w, struct error *error)
{
    const struct cpals_setting setting = make_setting(w);
    struct cpd_telling mine = {0};
    if (cpals_run_rank(w->comm, &w->tensor, &setting, w->job->starts.model, w->result, &mine.report,
                       error) != STATUS_OK)
        return error->status;
    mine.peak = machine_memory_peak();
    return comm_allgather(w->comm, &mine, sizeof mine, w->telling, error);
}

static void hand_over(struct work *w)
{
    struct cpd_job *job = w->job;
    for (int i = 0; owns_job(w) && i < job->starts.asked; i++) {
        struct error breakdown = w->result[i].breakdown;
        if (w->result[i].stop != CPALS_GOES_ON &&
            !starts_note_breakdown(&job->starts, &w->result[i], NULL, &breakdown))
            starts_note(&job->starts, &w->result[i], NULL);
    }
    if (w->comm->rank > 0)
        return;
    job->times.read = w->tensor.read_seconds;
    job->times.exchange = w->tensor.exchange_seconds;
    job->times.clean = w->tensor.clean_seconds;
    memcpy(job->times.operation, w->telling[0].report.operation, sizeof job->times.operation);
    job->times.communication = w->telling[0].report.communication;
    job->ranks = (struct cpd_ranks){.count = w->comm->size,
                                    .imbalance = w->tensor.cost.imbalance,
                                    .place = w->place,
                                    .telling = w->telling};
    memcpy(job->ranks.parts, w->tensor.grid.parts, sizeof job->ranks.parts);
    w->place = NULL;
    w->telling = NULL;
}

static double sum_of(const struct rank_report *r, enum operation op)
{
    double sum = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        sum += r->operation[op][n];
    return sum;
}

/* Ranks that are threads of one process have one peak, the process's. */
static void show_ranks(struct work *w)
{
    progress_note(w->progress,
                  "rank host             GPU  threads      nonzeros    mttkrp    update "
                  "    moving      peak");
    for (int r = 0; r < w->comm->size; r++) {
        const struct rank_place *p = &w->place[r];
        const struct rank_report *t = &w->telling[r].report;
        char gpu[16] = "-", peak[NUMBER_SIZE_TEXT];
        if (p->device_bus[0])
            snprintf(gpu, sizeof gpu, "%d", p->device);
        progress_note(w->progress, "%4d %-16.16s %4s %8d %13ju %7.3f s %7.3f s %8.3f s %9s", r,
                      p->host, gpu, p->threads, (uintmax_t)t->nnz, sum_of(t, OP_MTTKRP),
                      sum_of(t, OP_UPDATE), t->communication,
                      number_size(w->telling[r].peak, peak));
    }
}

enum status cpd_rank(struct comm *c, void *context, struct error *error)
{
    struct cpd_job *job = context;
    struct work w = {.job = job, .comm = c, .progress = c->rank == 0 ? &job->progress : NULL};
    size_t ranks = (size_t)c->size;
    w.place = memory_zeros(ranks, sizeof *w.place, error);
    w.telling = memory_zeros(ranks, sizeof *w.telling, error);
    w.result = memory_zeros((size_t)job->settings.starts, sizeof *w.result, error);
    if (comm_end_phase(c, error) == STATUS_OK &&
        rank_places(w.place, c, &job->settings.common, job->kind, error) == STATUS_OK &&
        open_tensor(&w, error) == STATUS_OK) {
        show_grid(&w);
        if (decompose(&w, error) == STATUS_OK) {
            if (job->settings.verbose)
                show_ranks(&w);
            hand_over(&w);
        }
    }
    rank_tensor_close(&w.tensor);
    if (w.devices)
        job->kind->leave(w.devices);
    memory_free(w.result);
    memory_free(w.telling);
    memory_free(w.place);
    return error->status;
}
