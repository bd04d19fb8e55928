#include "commands/cpd_job.h"

#include <string.h>

#include "commands/cpd_signals.h"

struct cpals_options cpd_als_options(const struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    return (struct cpals_options){.max_iterations = s->iterations,
                                  .tolerance = s->tolerance,
                                  .check_every = s->check_every,
                                  .interrupted = &cpd_interrupted,
                                  .deadline =
                                      s->time_limit > 0 ? job->times.start + s->time_limit : 0,
                                  .saving = s->checkpoint ? &job->saving : NULL,
                                  .resume = s->resume ? &job->resume : NULL};
}

struct ktensor_start cpd_start(const struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    return (struct ktensor_start){.from = s->init_stem ? &job->start
                                          : s->resume  ? &job->resume.model
                                                       : NULL,
                                  .init = s->init,
                                  .seed = s->seed};
}

void cpd_catch_signals(void)
{
    cpd_signals_catch(CPD_SIGNALS_PATIENCE);
}

/* With --fix, modes that are not fixed may have other lengths. */
static enum status check_lengths(const struct cpd_job *job, const struct shape *shape,
                                 struct error *error)
{
    const struct mode_rules *rules = &job->settings.common.options.rules;
    const struct shape *start = &job->start.shape;
    bool may_differ = mode_rules_any(rules->fixed);
    for (int n = 0; n < start->order; n++)
        if (start->dims[n] != shape->dims[n] && (!may_differ || rules->fixed[n]))
            return error_set(error, STATUS_INPUT,
                             "--init %s: mode %d has %ju rows, but the tensor's has length %ju",
                             job->settings.init_stem, n + 1, (uintmax_t)start->dims[n],
                             (uintmax_t)shape->dims[n]);
    return STATUS_OK;
}

/* Refuses a negative entry of a mode that is to be nonnegative. */
static enum status check_signs(const struct cpd_job *job, int n, struct error *error)
{
    const struct ktensor *start = &job->start;
    for (uint64_t e = 0; e < start->shape.dims[n] * start->rank; e++)
        if (start->factor[n][e] < 0)
            return error_set(error, STATUS_INPUT,
                             "--init %s: mode %d, row %ju, column %ju: %g, but --nonneg expects 0 "
                             "or more",
                             job->settings.init_stem, n + 1, (uintmax_t)(e / start->rank + 1),
                             (uintmax_t)(e % start->rank + 1), start->factor[n][e]);
    return STATUS_OK;
}

enum status cpd_check_start(const struct cpd_job *job, const struct shape *shape,
                            struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    const struct shape *start = &job->start.shape;
    if (cpd_settings_check_order(s, shape->order, error) != STATUS_OK || !s->init_stem)
        return error->status;
    if (start->order != shape->order)
        return error_set(error, STATUS_INPUT, "--init %s: %d mode%s, but the tensor has %d",
                         s->init_stem, start->order, start->order == 1 ? "" : "s", shape->order);
    check_lengths(job, shape, error);
    for (int n = 0; n < start->order && error->status == STATUS_OK; n++)
        if (s->common.options.rules.nonneg[n] && start->dims[n] == shape->dims[n])
            check_signs(job, n, error);
    return error->status;
}

void cpd_show_plan(struct cpd_job *job, struct backend *b)
{
    char text[4096];
    struct backend_built built;
    backend_built(b, &built);
    plan_describe(&built.plan, &built.groups, text, sizeof text);
    for (char *text_line = strtok(text, "\n"); text_line; text_line = strtok(NULL, "\n"))
        progress_note(&job->progress, "%s", text_line);
}
