#include "commands/cpd/cpd_job.h"

#include <isa-l/crc64.h>
#include <string.h>

#include "base/memory.h"
#include "commands/cpd/cpd_signals.h"

struct cpals_options cpd_als_options(struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    return (struct cpals_options){.max_iterations = s->iterations,
                                  .tolerance = s->tolerance,
                                  .check_every = s->check_every,
                                  .interrupted = &cpd_interrupted,
                                  .deadline = s->time_limit > 0 ? job->began + s->time_limit : 0,
                                  .saving = s->checkpoint ? &job->saving : NULL,
                                  .resume = s->resume ? &job->resume : NULL,
                                  .trace = s->recorded ? &job->trace : NULL,
                                  .core_consistency = s->core_consistency};
}

void cpd_tell_findings(struct cpd_job *job, struct progress *to)
{
    char text[FINDING_TEXT];
    for (; job->told < job->findings.count; job->told++)
        progress_note(to, "%s", finding_text(&job->findings.finding[job->told], text));
}

void cpd_note_shape(struct cpd_job *job, const struct shape *shape)
{
    find_in_shape(&job->findings, shape, job->settings.common.options.problem.rank);
    cpd_tell_findings(job, &job->progress);
}

/* Fills `why` (size) where mode n starts at random although a model was given. */
static bool starts_at_random(const struct shape *start, int n, uint64_t length, char *why,
                             size_t size)
{
    uint64_t rows = n < start->order ? start->dims[n] : 0;
    if (rows == 0)
        snprintf(why, size, "has no file of this mode");
    else
        snprintf(why, size, "has %ju row%s, the tensor %ju", (uintmax_t)rows, rows == 1 ? "" : "s",
                 (uintmax_t)length);
    return rows != length;
}

void cpd_note_start(struct cpd_job *job, const struct shape *shape)
{
    const struct cpd_settings *s = &job->settings;
    char why[96];
    for (int n = 0; s->init_stem && n < shape->order; n++)
        if (starts_at_random(&job->start.shape, n, shape->dims[n], why, sizeof why))
            findings_add(&job->findings, FINDING_RANDOM_MODE, false,
                         "mode %d starts at random (seed %ju): --init %s %s", n + 1,
                         (uintmax_t)s->seed, s->init_stem, why);
    cpd_tell_findings(job, &job->progress);
}

struct initial_guess cpd_guess(const struct cpd_job *job)
{
    const struct cpd_settings *s = &job->settings;
    struct initial_guess guess = {.kind = s->guess, .seed = s->seed};
    if (s->init_stem || s->resume) {
        guess.kind = GUESS_MODEL;
        guess.model = s->init_stem ? &job->start : &job->resume.model[CHECKPOINT_STATE].rows;
    }
    return guess;
}

static uint64_t hash_model(const struct ktensor *k)
{
    uint64_t crc =
        crc64_ecma_refl(0, (const uint8_t *)k->lambda, k->lambda ? k->rank * sizeof *k->lambda : 0);
    for (int n = 0; n < k->shape.order; n++)
        crc = crc64_ecma_refl(crc, (const uint8_t *)k->factor[n],
                              k->shape.dims[n] * k->rank * sizeof *k->factor[n]);
    return crc;
}

enum status cpd_start_agree(const struct cpd_job *job, struct comm *world, struct error *error)
{
    const char *stem = job->settings.init_stem;
    if (!stem)
        return STATUS_OK;
    const uint64_t mine = hash_model(&job->start);
    uint64_t first = mine;
    if (comm_bcast(world, 0, &first, sizeof first, error) == STATUS_OK && first != mine)
        error_set(error, STATUS_INPUT, "--init %s: another model than the one that rank 0 reads",
                  stem);
    return comm_end_phase(world, error);
}

void cpd_catch_signals(void)
{
    cpd_signals_catch(CPD_SIGNALS_PATIENCE);
}

bool cpd_last_rank(const struct cpd_job *job)
{
    return job->settings.common.options.problem.rank == job->settings.ranks.last;
}

/* With --fix, modes that are not fixed may have other lengths, or be missing. */
static enum status check_lengths(const struct cpd_job *job, const struct shape *shape,
                                 struct error *error)
{
    const struct mode_rules *rules = &job->settings.common.options.problem.rules;
    const struct shape *start = &job->start.shape;
    const char *stem = job->settings.init_stem;
    bool may_differ = mode_rules_any(rules->fixed);
    if (start->order > shape->order || (start->order < shape->order && !may_differ))
        return error_set(error, STATUS_INPUT, "--init %s: %d mode%s, but the tensor has %d", stem,
                         start->order, start->order == 1 ? "" : "s", shape->order);
    for (int n = 0; n < shape->order; n++) {
        if (start->dims[n] == shape->dims[n] || (may_differ && !rules->fixed[n]))
            continue;
        if (n >= start->order)
            return error_set(error, STATUS_INPUT,
                             "--init %s: no file of mode %d, which --fix names", stem, n + 1);
        return error_set(error, STATUS_INPUT,
                         "--init %s: mode %d has %ju rows, but the tensor's has length %ju%s", stem,
                         n + 1, (uintmax_t)start->dims[n], (uintmax_t)shape->dims[n],
                         start->dims[n] > shape->dims[n] ? ": --dims can lengthen it" : "");
    }
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
    check_lengths(job, shape, error);
    for (int n = 0; n < start->order && error->status == STATUS_OK; n++)
        if (s->common.options.problem.rules.nonneg[n] && start->dims[n] == shape->dims[n])
            check_signs(job, n, error);
    return error->status;
}

void cpd_show_plan(struct cpd_job *job)
{
    char text[4096];
    plan_describe(&job->built.plan, &job->built.groups, text, sizeof text);
    for (char *text_line = strtok(text, "\n"); text_line; text_line = strtok(NULL, "\n"))
        progress_note(&job->progress, "%s", text_line);
}

void cpd_job_free(struct cpd_job *job)
{
    backend_wake_end(&job->wake);
    checkpoint_close(&job->resume);
    rank_tensor_close(&job->input);
    comm_finalize(job->self);
    ktensor_free(&job->start);
    ktensor_free(&job->model);
    memory_free(job->outcome);
    ktensor_files_free(&job->files);
    fit_trace_free(&job->trace);
    cpd_settings_free(&job->settings);
}
