#include "commands/cpd/cpd_job.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/crc64.h>

#include "als/checkpoint_saver.h"
#include "base/memory.h"
#include "comm/comm_world.h"
#include "commands/cpd/cpd_signals.h"
#include "model/fit_text.h"

#define DEFAULT_SECONDS 600
#define DEFAULT_SHARE   0.02 /* of the time, for saving */

enum status cpd_start_look(struct cpd_settings *s, struct comm *world, struct progress *progress,
                           struct error *error)
{
    const char *path = s->resume_if_exists;
    if (!path)
        return STATUS_OK;
    int exists = access(path, F_OK) == 0;
    if (!exists && errno != ENOENT && world->rank == 0)
        error_set(error, STATUS_INPUT, "%s: %s", path, strerror(errno));
    TRY(comm_end_phase(world, error));
    TRY(comm_bcast(world, 0, &exists, sizeof exists, error));
    if (!exists)
        progress_note(progress, "%s does not exist yet: this is a new run", path);
    s->resume = exists ? path : NULL;
    s->init_stem = exists ? NULL : s->init_stem; /* another start that was asked for is dropped */
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
    if (s->seed_given && s->runs.guess.seed != before->seed)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --seed %ju, but this run has %ju", s->resume,
                         (uintmax_t)before->seed, (uintmax_t)s->runs.guess.seed);
    if (s->runs.choose_ridge && !before->ridge_chosen)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of a run without --ridge auto, expected its --ridge",
                         s->resume);
    s->runs.guess =
        (struct initial_guess){GUESS_MODEL, &in->resume.model[CHECKPOINT_STATE].rows, before->seed};
    if (s->runs.choose_ridge)
        memcpy(problem->rules.ridge, before->problem.rules.ridge, sizeof problem->rules.ridge);
    if (problem->acceleration == ACCELERATE_AUTO)
        problem->acceleration = before->has_momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
    return STATUS_OK;
}

enum status cpd_start_prepare(struct cpd_inputs *in, struct error *error)
{
    struct cpd_settings *s = &in->settings;
    struct checkpoint_options *saving = &s->saving;
    struct tns_options *tns = &s->common.tns;
    const struct problem *problem = &s->common.options.problem;
    const bool *fixed = problem->rules.fixed;
    if (s->init_stem) { /* of its files, those of fixed modes are needed */
        s->runs.guess.model = &in->start.k;
        in->start.stem = s->init_stem;
        in->start.names.none = s->match == MATCH_INDEX;
        in->start.names.partial = mode_rules_any(fixed);
        TRY(named_model_read(&in->start, in->start.names.partial ? fixed : NULL, error));
        s->common.csv.like = &in->start.names;
        for (int n = 0; n < in->start.k.shape.order; n++)
            s->common.csv.names[n] = fixed[n] ? CSV_LIKE_ONLY : CSV_LIKE_FREE;
        const uint64_t rank = in->start.k.rank - (uint64_t)model_facts_means(&in->start.facts);
        if (rank != problem->rank)
            return error_set(error, STATUS_INPUT,
                             "--init %s: a model of rank %ju, expected the rank %ju of -r",
                             s->init_stem, (uintmax_t)rank, (uintmax_t)problem->rank);
    }
    if (saving->path && comm_world_rank() == 0)
        TRY(outfile_check(saving->path, error));
    if (s->resume)
        TRY(open_resume(in, error));
    if (saving->seconds == 0 && saving->iterations == 0) {
        saving->seconds = DEFAULT_SECONDS;
        saving->share = DEFAULT_SHARE;
    }
    if (s->resume && s->center && mode_rules_any(fixed))
        return error_set(error, STATUS_INPUT,
                         "--resume, --fix and --values center: the checkpoint lacks the means of "
                         "the model");
    saving->asked = &cpd_asked;
    saving->about =
        (struct checkpoint_about){.problem = *problem,
                                  .ridge_chosen = s->runs.choose_ridge,
                                  .seed = s->runs.guess.seed,
                                  .init = s->resume ? in->resume.about.init : s->runs.guess.kind};
    s->runs.choose_ridge = s->runs.choose_ridge && !s->resume;
    const struct shape *from = s->init_stem ? &in->start.k.shape : &in->resume.about.tensor.shape;
    struct labels beside = {.partial = true}; /* a tensor with names has their number of indices */
    if (s->init_stem)
        TRY_OR(done, labels_find_tensor(&beside, s->tensor, from->order, error));
    for (int n = 0; n < from->order; n++) {
        const bool named = s->init_stem && s->match != MATCH_INDEX && beside.mode[n].path;
        if (!fixed[n] || tns->dims[n] || named)
            continue;
        tns->dims[n] = from->dims[n];
        tns->dims_origin[n] = s->init_stem ? "the model of --init" : "the checkpoint";
    }
done:
    labels_free(&beside);
    return error->status;
}

void cpd_start_note_resumed(const struct cpd_inputs *in, struct progress *progress,
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

enum status cpd_start_compare(const struct cpd_inputs *in, struct comm *world, struct error *error)
{
    const char *stem = in->settings.init_stem;
    if (!stem)
        return STATUS_OK;
    const struct ktensor *k = &in->start.k;
    uint64_t mine =
        crc64_ecma_refl(0, (const uint8_t *)k->lambda, k->lambda ? k->rank * sizeof *k->lambda : 0);
    for (int n = 0; n < k->shape.order; n++)
        mine = crc64_ecma_refl(mine, (const uint8_t *)k->factor[n],
                               k->shape.dims[n] * k->rank * sizeof *k->factor[n]);
    uint64_t first = mine;
    if (comm_bcast(world, 0, &first, sizeof first, error) == STATUS_OK && first != mine)
        error_set(error, STATUS_INPUT, "--init %s: not the model that rank 0 reads", stem);
    return comm_end_phase(world, error);
}

/* A fixed mode has the names of the model, and no others. */
static enum status check_fixed(const struct cpd_inputs *in, const struct name_match *m,
                               struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const bool *fixed = s->common.options.problem.rules.fixed;
    for (int n = 0; n < m->order; n++) {
        if (m->mode[n] != n && mode_rules_any(fixed))
            return error_set(error, STATUS_INPUT,
                             "--fix: mode %d of the model is mode %d of %s, expected the order of "
                             "the model",
                             n + 1, m->mode[n] + 1, s->tensor);
        if (fixed[n] && m->only_b[n] > 0)
            return error_set(error, STATUS_INPUT,
                             "--fix %d: %s has %ju name%s that --init %s lacks, as '%.60s'", n + 1,
                             s->tensor, (uintmax_t)m->only_b[n], m->only_b[n] == 1 ? "" : "s",
                             s->init_stem, m->first_only_b[n]);
        if (fixed[n] && m->only_a[n] > 0)
            return error_set(error, STATUS_INPUT,
                             "--fix %d: %s lacks %ju name%s that --init %s has: give its CSV, or "
                             "convert that with --order COLUMN=%s.mode%d.map",
                             n + 1, s->tensor, (uintmax_t)m->only_a[n],
                             m->only_a[n] == 1 ? "" : "s", s->init_stem, s->init_stem, n + 1);
    }
    return STATUS_OK;
}

/* Rank 0 tells the others. */
static enum status share_match(struct name_match *m, struct comm *c, struct error *error)
{
    struct name_match all = *m;
    TRY(comm_bcast(c, 0, &all, sizeof all, error)); /* pointers say only whether they are there */
    if (c->rank > 0)
        *m = all;
    for (int n = 0; n < m->order; n++) {
        if (c->rank > 0 && all.index[n])
            m->index[n] = memory_array(all.count[n], sizeof *m->index[n], error);
        if (c->rank > 0)
            m->first_only_b[n] = NULL;
    }
    TRY(comm_allreduce_error(c, error));
    for (int n = 0; n < m->order; n++)
        if (m->index[n])
            TRY(comm_bcast(c, 0, m->index[n], m->count[n] * sizeof *m->index[n], error));
    return STATUS_OK;
}

/* Makes the start that has the tensor's modes and rows, column after column; random rows of names
 * that the model lacks are as large as the others are in the mean. */
static enum status reorder_start(struct cpd_inputs *in, const struct name_match *m,
                                 struct error *error)
{
    const struct ktensor *from = &in->start.k;
    const uint64_t rank = from->rank;
    struct ktensor to;
    struct shape shape = from->shape;
    for (int n = 0; n < m->order; n++) {
        const bool renumbered = m->index[n] && from->shape.dims[n] > 0;
        shape.dims[m->mode[n]] = renumbered ? m->count[n] : from->shape.dims[n];
        in->new_rows[m->mode[n]] = renumbered ? m->only_b[n] : 0;
    }
    TRY(ktensor_create(&to, &shape, rank, error));
    ktensor_randomise(&to, KTENSOR_RANDOM, in->settings.runs.guess.seed);
    memcpy(to.lambda, from->lambda, rank * sizeof *to.lambda);
    for (int n = 0; n < m->order; n++) {
        const uint64_t rows = from->shape.dims[n];
        const double *model = from->factor[n];
        double *a = to.factor[m->mode[n]];
        const bool renumbered = m->index[n] && rows > 0;
        if (!renumbered)
            memcpy(a, model, rows * rank * sizeof *a);
        for (uint64_t r = 0; renumbered && r < rank; r++) {
            double squares = 0;
            for (uint64_t i = 0; i < rows; i++)
                squares += model[i * rank + r] * model[i * rank + r];
            const double size = sqrt(3 * squares / (double)rows); /* a uniform one's square: 1/3 */
            for (uint64_t i = 0; i < m->count[n]; i++)
                a[i * rank + r] = m->index[n][i] == NO_INDEX ? a[i * rank + r] * size
                                                             : model[m->index[n][i] * rank + r];
        }
    }
    ktensor_free(&in->start.k);
    in->start.k = to;
    return STATUS_OK;
}

enum status cpd_start_match(struct cpd_inputs *in, struct comm *c, const struct labels *names,
                            const struct shape *shape, struct progress *progress,
                            struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const int order = in->start.k.shape.order;
    const bool owns = c->rank == 0 || comm_world_expected();
    struct name_match m = {0};
    if (!s->init_stem || order > shape->order)
        return STATUS_OK;
    const struct named_side model = {s->init_stem, &in->start.names}, tensor = {s->tensor, names};
    if (c->rank == 0 && name_match_find(&m, &model, &tensor, order, s->match, error) == STATUS_OK &&
        check_fixed(in, &m, error) == STATUS_OK)
        name_match_note(&m, &model, &tensor, progress);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, share_match(&m, c, error));
    if (owns && !name_match_is_same(&m))
        TRY_OR(moved, reorder_start(in, &m, error));
    if (owns && mode_rules_any(s->common.options.problem.rules.fixed)) {
        in->means.shrinkage = in->start.facts.shrinkage;
        memcpy(in->means.mode, in->start.facts.centred, sizeof in->means.mode);
        slice_means_split(&in->means, &in->start.k, error);
    } else if (owns) {
        named_model_drop_means(&in->start, error);
    }
moved:
    comm_allreduce_error(c, error);
done:
    name_match_free(&m);
    return error->status;
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

/* With --fix, modes that are not fixed may have other lengths, or be missing. */
enum status cpd_start_check(const struct cpd_inputs *in, const struct shape *shape,
                            struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const struct mode_rules *rules = &s->common.options.problem.rules;
    const bool may_differ = mode_rules_any(rules->fixed);
    const struct shape *start = &in->start.k.shape;
    const struct loss *loss = loss_of(s->common.options.problem.loss);
    const uint64_t rank = in->start.k.rank;
    char why[96];
    if (!s->init_stem)
        return STATUS_OK;
    if (start->order > shape->order || (start->order < shape->order && !may_differ))
        return error_set(error, STATUS_INPUT, "--init %s: %d mode%s, but the tensor has %d",
                         s->init_stem, start->order, start->order == 1 ? "" : "s", shape->order);
    for (int n = 0; n < shape->order; n++) {
        if (start->dims[n] == shape->dims[n] || (may_differ && !rules->fixed[n]))
            continue;
        if (n >= start->order)
            return error_set(error, STATUS_INPUT,
                             "--init %s: no file of mode %d, which --fix names", s->init_stem,
                             n + 1);
        return error_set(error, STATUS_INPUT,
                         "--init %s: mode %d has %ju rows, but the tensor's has length %ju%s",
                         s->init_stem, n + 1, (uintmax_t)start->dims[n], (uintmax_t)shape->dims[n],
                         start->dims[n] > shape->dims[n] ? ": --dims can lengthen it" : "");
    }
    for (int n = 0; n < start->order; n++) {
        const bool taken = rules->nonneg[n] && start->dims[n] == shape->dims[n];
        for (uint64_t e = 0; taken && e < start->dims[n] * rank; e++)
            if (in->start.k.factor[n][e] < 0)
                return error_set(error, STATUS_INPUT,
                                 "--init %s: mode %d, row %ju, column %ju: %g, but %s expects 0 or "
                                 "more",
                                 s->init_stem, n + 1, (uintmax_t)(e / rank + 1),
                                 (uintmax_t)(e % rank + 1), in->start.k.factor[n][e],
                                 loss->rates ? loss->option : "--nonneg");
    }
    bool random = false;
    for (int n = 0; n < shape->order; n++)
        random |=
            in->new_rows[n] > 0 || starts_at_random(start, n, shape->dims[n], why, sizeof why);
    if (s->seed_given && !random)
        return error_set(error, STATUS_INPUT, "--seed %ju and --init %s: no mode starts at random",
                         (uintmax_t)s->runs.guess.seed, s->init_stem);
    return STATUS_OK;
}

void cpd_start_find_random(const struct cpd_inputs *in, const struct shape *shape,
                           struct findings *findings)
{
    const struct cpd_settings *s = &in->settings;
    char why[96];
    for (int n = 0; s->init_stem && n < shape->order; n++)
        if (starts_at_random(&in->start.k.shape, n, shape->dims[n], why, sizeof why))
            findings_add(findings, "random_mode", false,
                         "mode %d starts at random (seed %ju): --init %s %s", n + 1,
                         (uintmax_t)s->runs.guess.seed, s->init_stem, why);
}

void cpd_start_keep_weights(const struct cpd_inputs *in, struct ktensor *result)
{
    const struct mode_rules *rules = &in->settings.common.options.problem.rules;
    const int n = mode_rules_first(rules, result->shape.order);
    const uint64_t rank = result->rank;
    if (!in->settings.init_stem || n != mode_rules_last(rules, result->shape.order) ||
        result->shape.order < 2)
        return;
    for (uint64_t r = 0; r < rank; r++) {
        const double old = in->start.k.lambda[r], scale = result->lambda[r] / old;
        if (!(old > 0) || !isfinite(scale))
            continue;
        result->lambda[r] = old;
        for (uint64_t i = 0; i < result->shape.dims[n]; i++)
            result->factor[n][i * rank + r] *= scale;
    }
}
