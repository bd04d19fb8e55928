#include "commands/cpd/cpd_checkpoint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "als/checkpoint_saver.h"
#include "base/outfile.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_guess.h"
#include "commands/cpd/cpd_signals.h"
#include "model/fit_text.h"

#define DEFAULT_SECONDS 600
#define DEFAULT_SHARE   0.02 /* of the time, for saving */

bool cpd_hash_needed(const struct cpd_settings *s)
{
    return s->checkpoint || s->resume || s->recorded;
}

enum status cpd_checkpoint_look(struct cpd_settings *s, struct comm *world,
                                struct progress *progress, struct error *error)
{
    const char *path = s->resume_if_exists;
    if (!path)
        return STATUS_OK;
    int exists = access(path, F_OK) == 0;
    if (!exists && errno != ENOENT && world->rank == 0)
        error_set(error, STATUS_INPUT, "%s: %s", path, strerror(errno));
    TRY(comm_end_phase(world, error));
    TRY(comm_bcast(world, 0, &exists, sizeof exists, error));
    if (exists) { /* other starts that were asked for are dropped */
        s->resume = path;
        s->init_stem = NULL;
        s->guess = GUESS_RANDOM;
    } else {
        progress_note(progress, "%s does not exist yet: this is a new run", path);
    }
    return STATUS_OK;
}

/* Opens the checkpoint of --resume. What the run before has drawn or chosen is not drawn or chosen
 * again. Momentum goes on as before, unless the user says otherwise. */
static enum status open_resume(struct cpd_inputs *in, struct error *error)
{
    struct cpd_settings *s = &in->settings;
    struct problem *problem = &s->common.options.problem;
    const struct checkpoint_about *before = &in->resume.about;
    TRY(checkpoint_open(&in->resume, s->resume, comm_world_rank(), comm_world_size(), error));
    TRY(checkpoint_check_run(&in->resume, problem, error));
    if (s->seed_given && s->seed != before->seed)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --seed %ju, but this run has %ju", s->resume,
                         (uintmax_t)before->seed, (uintmax_t)s->seed);
    if (s->choose_ridge && !before->ridge_chosen)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of a run without --ridge auto, expected its --ridge",
                         s->resume);
    s->seed = before->seed;
    if (s->choose_ridge)
        memcpy(problem->rules.ridge, before->problem.rules.ridge, sizeof problem->rules.ridge);
    if (problem->acceleration == ACCELERATE_AUTO)
        problem->acceleration = before->has_momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
    return STATUS_OK;
}

enum status cpd_checkpoint_prepare(struct cpd_inputs *in, struct checkpoint_options *saving,
                                   struct error *error)
{
    struct cpd_settings *s = &in->settings;
    const bool is_default = s->every_seconds == 0 && s->every_iterations == 0;
    if (s->checkpoint && comm_world_rank() == 0)
        TRY(outfile_check(s->checkpoint, error));
    if (s->resume)
        TRY(open_resume(in, error));
    *saving = (struct checkpoint_options){
        .path = s->checkpoint,
        .seconds = is_default ? DEFAULT_SECONDS : s->every_seconds,
        .iterations = s->every_iterations,
        .share = is_default ? DEFAULT_SHARE : 0,
        .asked = &cpd_asked,
        .about = {.problem = s->common.options.problem,
                  .ridge_chosen = s->choose_ridge,
                  .seed = s->seed,
                  .init = s->resume ? in->resume.about.init : cpd_guess(in).kind}};
    if (s->resume)
        s->choose_ridge = false;
    return STATUS_OK;
}

void cpd_checkpoint_note_resumed(const struct cpd_inputs *in, struct progress *progress,
                                 struct findings *findings)
{
    const struct checkpoint_about *a = &in->resume.about;
    const struct problem *problem = &in->settings.common.options.problem;
    char fit[FIT_TEXT];
    if (!in->settings.resume)
        return;
    progress_note(progress, "resuming %s: %d iteration%s, fit %s", in->settings.resume,
                  a->iterations, a->iterations == 1 ? "" : "s", fit_text(a->fit, 0, 9, fit));
    if (a->has_momentum != (problem->acceleration != ACCELERATE_OFF))
        findings_add(findings, "resumed", true,
                     "the checkpoint is from a run with --accelerate %s, this run has %s",
                     a->has_momentum ? "momentum" : "off", a->has_momentum ? "off" : "momentum");
    for (int n = 0; n < a->tensor.shape.order; n++)
        if (a->problem.rules.ridge[n] != problem->rules.ridge[n])
            findings_add(findings, "resumed", true,
                         "mode %d: the checkpoint is from a run with --ridge %g, this run has %g",
                         n + 1, a->problem.rules.ridge[n], problem->rules.ridge[n]);
}
