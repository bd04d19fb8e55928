/* blco cpd on one rank: alone, a GPU of this process, or a process of a launcher. */
#include <string.h>

#include "als/decompose.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_checkpoint.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_machine.h"
#include "commands/cpd/cpd_output.h"
#include "commands/cpd/cpd_together.h"
#include "commands/rank_place.h"
#include "ranks/checkpoint_together.h"
#include "ranks/rank_fingerprint.h"

struct work {
    struct cpd_job *job;
    struct comm *comm;
    struct progress *progress;   /* rank 0's; NULL on the others               */
    struct rank_place *place;    /* (ranks); owned; NULL where a rank is alone */
    struct cpd_telling *telling; /* (ranks) in the end; owned; likewise        */
    struct device_comm *devices; /* owned                                      */
    struct rank_tensor *tensor;  /* the job's, where a rank is alone; else `part` */
    struct rank_tensor part;
    struct starts *starts; /* this rank's account: the job's, or `own` */
    struct starts own;
    struct backend backend;
    struct cpd_telling mine;
};

/* Whether the job is this rank's own; threads of one process leave the job to rank 0. */
static bool owns_job(const struct work *w)
{
    return w->comm->rank == 0 || comm_world_expected();
}

static bool is_alone(const struct work *w)
{
    return w->comm->size == 1;
}

static enum status find_places(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    size_t ranks = (size_t)w->comm->size;
    w->place = memory_zeros(ranks, sizeof *w->place, error);
    w->telling = memory_zeros(ranks, sizeof *w->telling, error);
    if (comm_end_phase(w->comm, error) != STATUS_OK ||
        rank_places(w->place, w->comm, &job->settings.common, job->kind, error) != STATUS_OK)
        return error->status;
    rank_meet(&w->devices, job->kind, w->place, w->comm, error);
    return comm_end_phase(w->comm, error);
}

/* Opens this rank's part of the tensor. A rank alone keeps the tensor from one of several -r to the
 * next. */
static enum status open_tensor(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    struct rank_request request = {0};
    if (w->tensor->comm)
        return STATUS_OK;
    if (!is_alone(w))
        request = rank_split(&job->settings.common, job->kind, w->place, w->comm);
    request.path = job->settings.tensor;
    request.tns = &job->settings.common.tns;
    request.hashed = cpd_hash_needed(job);
    if (rank_tensor_open(w->tensor, w->comm, &request, w->progress, error) != STATUS_OK)
        return error->status;
    w->tensor->rows.devices = w->devices;
    return STATUS_OK;
}

/* Tells how the tensor is split. */
static void show_grid(struct work *w)
{
    char name[128];
    const struct rank_tensor *t = w->tensor;
    if (is_alone(w))
        return;
    process_grid_name(t->grid.parts, t->shape.order, name, sizeof name);
    progress_note(w->progress,
                  "%d ranks, grid %s, the fullest has %.1f %% more nonzeros than the mean",
                  t->grid.ranks, name, 100 * (t->cost.imbalance > 0 ? t->cost.imbalance : 0));
}

/* Whether all ranks see the files of checkpoints. */
static enum status check_checkpoints(struct work *w, struct error *error)
{
    const char *path = w->job->settings.checkpoint;
    if (is_alone(w) || !cpd_checkpoint_used(w->job) ||
        (path && checkpoint_writable_together(path, w->comm, error) != STATUS_OK))
        return error->status;
    return cpd_checkpoint_agree(w->job, w->comm, error);
}

/* Refuses what does not go with this tensor, before anything large is made. */
static enum status check_tensor(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    const struct rank_tensor *t = w->tensor;
    if (cpd_check_start(job, &t->shape, error) != STATUS_OK ||
        cpd_checkpoint_check_shape(job, &t->shape, t->nnz, error) != STATUS_OK ||
        check_checkpoints(w, error) != STATUS_OK ||
        cpd_choose_together(job, w->comm, t, error) != STATUS_OK)
        return error->status;
    return w->comm->rank == 0 ? cpd_output_try(&job->settings, t->shape.order, error) : STATUS_OK;
}

/* Ranks of one host share the memory that may be used evenly, unless the user says how much a rank
 * may use. */
static struct backend_options make_options(const struct work *w)
{
    const struct cpd_job *job = w->job;
    struct backend_options options = job->settings.common.options;
    options.spends = !is_alone(w) || cpd_last_rank(job);
    if (w->place)
        options.device = w->place[w->comm->rank].device;
    if (options.host_memory == 0 && w->comm->local_size > 1)
        options.host_memory = machine_memory_budget(0) / (uint64_t)w->comm->local_size;
    return options;
}

/* Of several -r the largest must fit, or the work for the others may be in vain. */
static enum status check_last_rank(struct work *w, struct error *error)
{
    const struct cpd_job *job = w->job;
    struct backend_options options = make_options(w);
    options.problem.rank = job->settings.ranks.last;
    if (job->outcomes == 0 && !cpd_last_rank(job))
        backend_check_fits(job->kind, w->tensor, &options, error);
    return comm_end_phase(w->comm, error);
}

/* Opens the tensor, checks what can be checked, and reads what the backend needs. The failure of
 * one rank is that of all. */
static enum status prepare(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    if (!is_alone(w) && find_places(w, error) != STATUS_OK)
        return error->status;
    if (open_tensor(w, error) == STATUS_OK) {
        show_grid(w);
        if (w->comm->rank == 0)
            cpd_note_shape(job, &w->tensor->shape);
        if (!is_alone(w) || cpd_machine_wait(job, error) == STATUS_OK)
            check_tensor(w, error);
    }
    if (comm_end_phase(w->comm, error) != STATUS_OK || check_last_rank(w, error) != STATUS_OK)
        return error->status;
    if (w->comm->rank == 0)
        cpd_note_start(job, &w->tensor->shape);
    const struct backend_options options = make_options(w);
    return backend_prepare(&w->backend, job->kind, w->tensor, &options, w->progress, error);
}

/* Finds out which tensor it is, with its hash where a checkpoint or the record must know. Ranks
 * that share the job wait until rank 0 knows. */
static enum status identify(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    struct fingerprint tensor = {.shape = w->tensor->shape, .nnz = w->tensor->nnz};
    bool hashed = cpd_hash_needed(job);
    if (hashed && rank_fingerprint(&tensor, w->tensor, error) != STATUS_OK)
        return error->status;
    if (owns_job(w)) {
        job->tensor = tensor;
        if (hashed)
            cpd_checkpoint_identify(job, &tensor, error);
    }
    return hashed ? comm_allreduce_error(w->comm, error) : STATUS_OK;
}

/* As soon as the backend is open. */
static void opened(void *context, struct backend *b)
{
    struct work *w = context;
    if (w->comm->rank == 0) {
        backend_built(b, &w->job->built);
        if (w->job->settings.verbose && is_alone(w))
            cpd_show_plan(w->job);
    }
    if (owns_job(w))
        cpd_catch_signals();
}

static enum status run_starts(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    const struct decomposition d = {.guess = cpd_guess(job),
                                    .als = cpd_als_options(job),
                                    .opened = opened,
                                    .context = w,
                                    .spread = job->together,
                                    .progress = w->progress};
    if (!owns_job(w)) {
        w->starts = &w->own;
        if (starts_create(&w->own, job->starts.asked, job->settings.seed, job->starts.model,
                          error) != STATUS_OK) {
            comm_abort(w->comm, error);
            return error->status;
        }
    }
    return decompose(&w->backend, w->tensor, &d, w->starts, &w->mine.report, error);
}

/* Tells rank 0 of all ranks. */
static enum status gather(struct work *w, struct error *error)
{
    struct cpd_job *job = w->job;
    const struct rank_tensor *t = w->tensor;
    w->mine.peak = machine_memory_peak();
    if (!is_alone(w) &&
        comm_allgather(w->comm, &w->mine, sizeof w->mine, w->telling, error) != STATUS_OK)
        return error->status;
    if (w->comm->rank > 0)
        return STATUS_OK;
    const struct rank_report *mine = &w->mine.report;
    memcpy(job->times.operation, mine->operation, sizeof job->times.operation);
    job->times.communication = is_alone(w) ? 0 : mine->communication;
    if (job->outcomes > 0 && is_alone(w)) /* the tensor was there */
        return STATUS_OK;
    job->times.read = t->input.read_seconds;
    job->times.exchange = t->exchange_seconds;
    job->times.clean = t->input.clean_seconds;
    return STATUS_OK;
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

/* Tells which kernel computed each mode's MTTKRP in the end, if there was a choice. */
static void show_kernels(const struct work *w)
{
    for (int n = 0; n < w->tensor->shape.order; n++)
        if (w->mine.report.kernel[n][0])
            progress_note(w->progress, "mode %d: MTTKRP kernel %s", n + 1,
                          w->mine.report.kernel[n]);
}

/* Rank 0 keeps what the record and the summary tell of several ranks. */
static void keep_ranks(struct work *w)
{
    struct cpd_job *job = w->job;
    job->ranks = (struct cpd_ranks){.count = w->comm->size,
                                    .imbalance = w->tensor->cost.imbalance,
                                    .place = w->place,
                                    .telling = w->telling};
    memcpy(job->ranks.parts, w->tensor->grid.parts, sizeof job->ranks.parts);
    w->place = NULL;
    w->telling = NULL;
}

static enum status run(struct work *w, struct error *error)
{
    if (prepare(w, error) != STATUS_OK)
        return error->status;
    if (identify(w, error) != STATUS_OK || run_starts(w, error) != STATUS_OK)
        return error->status;
    if (gather(w, error) != STATUS_OK)
        return error->status;
    if (w->job->settings.verbose && is_alone(w))
        show_kernels(w);
    if (w->job->settings.verbose && !is_alone(w))
        show_ranks(w);
    if (w->comm->rank == 0 && !is_alone(w))
        keep_ranks(w);
    return STATUS_OK;
}

enum status cpd_run(struct comm *c, void *context, struct error *error)
{
    struct cpd_job *job = context;
    struct work w = {.job = job,
                     .comm = c,
                     .progress = c->rank == 0 ? &job->progress : NULL,
                     .starts = &job->starts};
    w.tensor = c->size == 1 ? &job->input : &w.part;
    run(&w, error);
    backend_close(&w.backend);
    starts_free(&w.own);
    rank_tensor_close(&w.part);
    if (w.devices)
        job->kind->leave(w.devices);
    memory_free(w.telling);
    memory_free(w.place);
    return error->status;
}
