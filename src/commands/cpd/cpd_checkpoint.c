#include "commands/cpd/cpd_checkpoint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_signals.h"
#include "model/fit_text.h"

#define DEFAULT_SECONDS 600
#define DEFAULT_SHARE   0.02 /* of the time, for saving */

bool cpd_checkpoint_used(const struct cpd_job *job)
{
    return job->settings.checkpoint || job->settings.resume;
}

bool cpd_hash_needed(const struct cpd_job *job)
{
    return cpd_checkpoint_used(job) || job->settings.recorded;
}

enum status cpd_checkpoint_look(struct cpd_job *job, struct comm *world, struct error *error)
{
    const char *path = job->settings.resume_if_exists;
    int exists = path && access(path, F_OK) == 0;
    if (!path)
        return STATUS_OK;
    if (!exists && errno != ENOENT && comm_world_rank() == 0)
        error_set(error, STATUS_INPUT, "%s: %s", path, strerror(errno));
    if (world && comm_end_phase(world, error) == STATUS_OK)
        comm_bcast(world, 0, &exists, sizeof exists, error);
    if (error->status != STATUS_OK)
        return error->status;
    if (exists)
        cpd_settings_resume(&job->settings, path);
    else
        progress_note(&job->progress, "%s does not exist yet: this is a new run", path);
    return STATUS_OK;
}

static enum guess guess_of(const struct cpd_job *job)
{
    return job->settings.resume ? job->resume.about.init : cpd_guess(job).kind;
}

static void fill_saving(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    bool is_default = s->every_seconds == 0 && s->every_iterations == 0;
    job->saving =
        (struct checkpoint_options){.path = s->checkpoint,
                                    .seconds = is_default ? DEFAULT_SECONDS : s->every_seconds,
                                    .iterations = s->every_iterations,
                                    .share = is_default ? DEFAULT_SHARE : 0,
                                    .asked = &cpd_asked,
                                    .about = {.problem = s->common.options.problem,
                                              .seed = s->resume ? job->resume.about.seed : s->seed,
                                              .init = guess_of(job)}};
}

enum status cpd_checkpoint_prepare(struct cpd_job *job, struct error *error)
{
    struct cpd_settings *s = &job->settings;
    struct problem *problem = &s->common.options.problem;
    if (s->checkpoint && comm_world_rank() == 0 && outfile_check(s->checkpoint, error) != STATUS_OK)
        return error->status;
    if (s->resume && (checkpoint_open(&job->resume, s->resume, comm_world_rank(), comm_world_size(),
                                      error) != STATUS_OK ||
                      checkpoint_check_run(&job->resume, problem, error) != STATUS_OK))
        return error->status;
    if (s->resume && problem->acceleration == ACCELERATE_AUTO)
        problem->acceleration =
            job->resume.about.has_momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
    fill_saving(job);
    return STATUS_OK;
}

enum status cpd_checkpoint_check_shape(const struct cpd_job *job, const struct shape *shape,
                                       uint64_t nnz, struct error *error)
{
    return job->settings.resume ? checkpoint_check_shape(&job->resume, shape, nnz, error)
                                : STATUS_OK;
}

enum status cpd_checkpoint_identify(struct cpd_job *job, const struct fingerprint *tensor,
                                    struct error *error)
{
    job->saving.about.tensor = *tensor;
    if (!job->settings.resume)
        return STATUS_OK;
    if (checkpoint_check_shape(&job->resume, &tensor->shape, tensor->nnz, error) == STATUS_OK)
        checkpoint_check_hash(&job->resume, tensor->hash, error);
    return error->status;
}

enum status cpd_checkpoint_agree(const struct cpd_job *job, struct comm *c, struct error *error)
{
    uint64_t crc = job->resume.crc;
    if (comm_bcast(c, 0, &crc, sizeof crc, error) == STATUS_OK && crc != job->resume.crc)
        error_set(error, STATUS_INPUT, "%s: not the checkpoint that rank 0 reads",
                  job->settings.resume);
    return comm_allreduce_error(c, error);
}

void cpd_checkpoint_note_resumed(struct cpd_job *job)
{
    const struct checkpoint_about *a = &job->resume.about;
    if (!job->settings.resume)
        return;
    char fit[FIT_TEXT];
    progress_note(&job->progress, "resuming %s: %d iteration%s, fit %s", job->settings.resume,
                  a->iterations, a->iterations == 1 ? "" : "s", fit_text(a->fit, 0, 9, fit));
    if (a->has_momentum != (job->settings.common.options.problem.acceleration != ACCELERATE_OFF))
        findings_add(&job->findings, FINDING_RESUMED, true,
                     "the checkpoint is from a run with --accelerate %s, this run has %s",
                     a->has_momentum ? "momentum" : "off", a->has_momentum ? "off" : "momentum");
    const double *ridge = job->settings.common.options.problem.rules.ridge;
    for (int n = 0; n < a->tensor.shape.order; n++)
        if (a->problem.rules.ridge[n] != ridge[n])
            findings_add(&job->findings, FINDING_RESUMED, true,
                         "mode %d: the checkpoint is from a run with --ridge %g, this run has %g",
                         n + 1, a->problem.rules.ridge[n], ridge[n]);
    cpd_tell_findings(job, &job->progress);
}

void cpd_checkpoint_note_saved(struct cpd_job *job, struct error *error)
{
    const struct cpals_result *r = &job->result;
    if (r->not_saved.status != STATUS_OK)
        error_set(error, r->not_saved.status, "%s", r->not_saved.message);
    else if (r->saved > 0)
        progress_note(&job->progress, "wrote %s (checkpoint of iteration %d)",
                      job->settings.checkpoint, r->saved);
}
