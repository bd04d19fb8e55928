/* blco cpd on one rank. */
#include <string.h>

#include "commands/cpd/cpd_output.h"
#include "commands/cpd/cpd_checkpoint.h"
#include "commands/cpd/cpd_job.h"
#include "commands/cpd/cpd_machine.h"
#include "formats/input_hash.h"

/* What the tensor is in while one rank decomposes it. */
struct alone {
    struct cpd_job *job;
    struct backend backend;
};

static enum status open_tensor(struct alone *a, struct error *error)
{
    struct cpd_job *job = a->job;
    const struct cpd_settings *s = &job->settings;
    if (job->outcomes > 0 || tensor_input_open(&job->input, s->tensor, &s->common.tns,
                                               &job->progress, error) == STATUS_OK)
        cpd_note_shape(job, &job->input.x.shape);
    return error->status;
}

/* Of several ranks the largest must fit, or the work for the others may be in vain. */
static enum status try_last_rank(struct cpd_job *job, struct error *error)
{
    struct backend largest;
    struct backend_options options = job->settings.common.options;
    options.problem.rank = job->settings.ranks.last;
    if (job->outcomes == 0 && !cpd_last_rank(job) &&
        backend_prepare(&largest, job->kind, &job->input, &options, NULL, &job->progress, error) ==
            STATUS_OK)
        backend_close(&largest);
    return error->status;
}

/* Refuses what fits nowhere, before anything large is made. */
static enum status plan_and_read(struct alone *a, struct error *error)
{
    struct cpd_job *job = a->job;
    const struct coo *x = &job->input.x;
    if (cpd_check_start(job, &x->shape, error) != STATUS_OK ||
        cpd_output_try(&job->settings, x->shape.order, error) != STATUS_OK ||
        cpd_checkpoint_check_shape(job, &x->shape, x->nnz, error) != STATUS_OK ||
        try_last_rank(job, error) != STATUS_OK)
        return error->status;
    cpd_note_start(job, &x->shape);
    return backend_prepare(&a->backend, job->kind, &job->input, &job->settings.common.options, NULL,
                           &job->progress, error);
}

/* Finds out which tensor it is, where a checkpoint or the record must know. */
static enum status identify(struct alone *a, struct error *error)
{
    struct cpd_job *job = a->job;
    job->tensor = (struct fingerprint){.shape = job->input.x.shape, .nnz = job->input.x.nnz};
    if (!cpd_hash_needed(job) || input_hash(&job->input, &job->tensor.hash, error) != STATUS_OK)
        return error->status;
    return cpd_checkpoint_identify(job, &job->tensor, error);
}

/* The first model, which is the start where one is given; that of a checkpoint, which is only
 * mapped, is copied. Otherwise the model has room for the result. */
static enum status make_start(struct alone *a, struct error *error)
{
    struct cpd_job *job = a->job;
    const struct cpd_settings *s = &job->settings;
    const struct shape *shape = &job->input.x.shape;
    struct ktensor *first = &job->starts.model[0];
    if (s->init_stem && shape_equal(&job->start.shape, shape)) {
        *first = job->start;
        job->start = (struct ktensor){0};
    } else if (ktensor_create(first, shape, s->common.options.problem.rank, error) == STATUS_OK) {
        const struct ktensor_start start = cpd_start(job);
        if (start.from)
            ktensor_begin(first, shape, &start, s->common.options.problem.rules.nonneg);
    }
    return error->status;
}

/* Tells which kernel computed each mode's MTTKRP in the end, if there was a choice. */
static void show_kernels(struct alone *a)
{
    struct backend_built built;
    backend_built(&a->backend, &built);
    for (int n = 0; n < a->backend.order; n++)
        if (built.kernel[n].name[0])
            progress_note(&a->job->progress, "mode %d: MTTKRP kernel %s", n + 1,
                          built.kernel[n].name);
}

static enum status decompose(struct alone *a, struct error *error)
{
    struct cpd_job *job = a->job;
    const struct cpd_settings *s = &job->settings;
    struct cpals_options options = cpd_als_options(job);
    const struct ktensor_start start = cpd_start(job);
    options.random = start.from || s->init.nvecs ? NULL : &start;
    progress_stage(&job->progress, "building");
    if (backend_open_prepared(&a->backend, &job->input, &s->common.options, &job->progress,
                              error) != STATUS_OK)
        return error->status;
    job->times.read = job->outcomes == 0 ? job->input.read_seconds : 0;
    job->times.clean = job->outcomes == 0 ? job->input.clean_seconds : 0;
    if (cpd_last_rank(job))
        tensor_input_close(&job->input); /* the backend has its own copy */
    backend_built(&a->backend, &job->built);
    int orderings = plan_orderings(&job->built.plan);
    progress_done(&job->progress, "%d ordering%s", orderings, orderings == 1 ? "" : "s");
    if (s->verbose)
        cpd_show_plan(job, &a->backend);
    cpd_catch_signals();
    enum status status =
        starts_run(&job->starts, &a->backend, &s->init, &options, &job->progress, error);
    memcpy(job->times.operation, backend_times(&a->backend)->seconds, sizeof job->times.operation);
    if (s->verbose)
        show_kernels(a);
    return status;
}

enum status cpd_alone(struct cpd_job *job, struct error *error)
{
    struct alone a = {.job = job};
    if (open_tensor(&a, error) == STATUS_OK && cpd_machine_wait(job, error) == STATUS_OK &&
        plan_and_read(&a, error) == STATUS_OK && identify(&a, error) == STATUS_OK &&
        make_start(&a, error) == STATUS_OK)
        decompose(&a, error);
    backend_close(&a.backend);
    return error->status;
}
