#include "commands/cpd/cpd_guess.h"

#include <math.h>

#include <isa-l/crc64.h>

enum status cpd_guess_read(struct cpd_inputs *in, struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const struct problem *problem = &s->common.options.problem;
    const bool *fixed = problem->rules.fixed;
    if (!s->init_stem)
        return STATUS_OK;
    if (mode_rules_any(fixed))
        ktensor_read_some(&in->start, s->init_stem, fixed, error);
    else
        ktensor_read(&in->start, s->init_stem, 0, error);
    TRY(error->status);
    if (in->start.rank != problem->rank)
        return error_set(error, STATUS_INPUT,
                         "--init %s: a model of rank %ju, expected the rank %ju of -r",
                         s->init_stem, (uintmax_t)in->start.rank, (uintmax_t)problem->rank);
    return STATUS_OK;
}

void cpd_guess_set_lengths(struct cpd_inputs *in)
{
    const struct cpd_settings *s = &in->settings;
    const struct shape *from = s->init_stem ? &in->start.shape : &in->resume.about.tensor.shape;
    struct tns_options *tns = &in->settings.common.tns;
    for (int n = 0; n < from->order; n++) {
        if (!s->common.options.problem.rules.fixed[n] || tns->dims[n])
            continue;
        tns->dims[n] = from->dims[n];
        tns->dims_origin[n] = s->init_stem ? "the model of --init" : "the checkpoint";
    }
}

enum status cpd_guess_compare(const struct cpd_inputs *in, struct comm *world, struct error *error)
{
    const char *stem = in->settings.init_stem;
    if (!stem)
        return STATUS_OK;
    const struct ktensor *k = &in->start;
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

/* With --fix, modes that are not fixed may have other lengths, or be missing. */
static enum status check_lengths(const struct cpd_inputs *in, const struct shape *shape,
                                 struct error *error)
{
    const struct mode_rules *rules = &in->settings.common.options.problem.rules;
    const struct shape *start = &in->start.shape;
    const char *stem = in->settings.init_stem;
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

enum status cpd_guess_check(const struct cpd_inputs *in, const struct shape *shape,
                            struct error *error)
{
    const struct cpd_settings *s = &in->settings;
    const bool *nonneg = s->common.options.problem.rules.nonneg;
    const struct shape *start = &in->start.shape;
    const struct loss *loss = loss_of(s->common.options.problem.loss);
    const uint64_t rank = in->start.rank;
    char why[96];
    if (!s->init_stem)
        return STATUS_OK;
    TRY(check_lengths(in, shape, error));
    for (int n = 0; n < start->order; n++) {
        const bool taken = nonneg[n] && start->dims[n] == shape->dims[n];
        for (uint64_t e = 0; taken && e < start->dims[n] * rank; e++)
            if (in->start.factor[n][e] < 0)
                return error_set(error, STATUS_INPUT,
                                 "--init %s: mode %d, row %ju, column %ju: %g, but %s expects 0 or "
                                 "more",
                                 s->init_stem, n + 1, (uintmax_t)(e / rank + 1),
                                 (uintmax_t)(e % rank + 1), in->start.factor[n][e],
                                 loss->rates ? loss->option : "--nonneg");
    }
    bool random = false;
    for (int n = 0; n < shape->order; n++)
        random |= starts_at_random(start, n, shape->dims[n], why, sizeof why);
    if (s->seed_given && !random)
        return error_set(error, STATUS_INPUT, "--seed %ju and --init %s: no mode starts at random",
                         (uintmax_t)s->seed, s->init_stem);
    return STATUS_OK;
}

void cpd_guess_find_random(const struct cpd_inputs *in, const struct shape *shape,
                           struct findings *findings)
{
    const struct cpd_settings *s = &in->settings;
    char why[96];
    for (int n = 0; s->init_stem && n < shape->order; n++)
        if (starts_at_random(&in->start.shape, n, shape->dims[n], why, sizeof why))
            findings_add(findings, "random_mode", false,
                         "mode %d starts at random (seed %ju): --init %s %s", n + 1,
                         (uintmax_t)s->seed, s->init_stem, why);
}

void cpd_guess_keep_weights(const struct cpd_inputs *in, struct ktensor *result)
{
    const struct mode_rules *rules = &in->settings.common.options.problem.rules;
    const int n = mode_rules_first(rules, result->shape.order);
    const uint64_t rank = result->rank;
    if (!in->settings.init_stem || n != mode_rules_last(rules, result->shape.order) ||
        result->shape.order < 2)
        return;
    for (uint64_t r = 0; r < rank; r++) {
        const double old = in->start.lambda[r], scale = result->lambda[r] / old;
        if (!(old > 0) || !isfinite(scale))
            continue;
        result->lambda[r] = old;
        for (uint64_t i = 0; i < result->shape.dims[n]; i++)
            result->factor[n][i * rank + r] *= scale;
    }
}

struct initial_guess cpd_guess(const struct cpd_inputs *in)
{
    const struct cpd_settings *s = &in->settings;
    struct initial_guess guess = {.kind = s->guess, .seed = s->seed};
    if (s->init_stem || s->resume) {
        guess.kind = GUESS_MODEL;
        guess.model = s->init_stem ? &in->start : &in->resume.model[CHECKPOINT_STATE].rows;
    }
    return guess;
}

struct run_list cpd_run_list(const struct cpd_inputs *in)
{
    const struct cpd_settings *s = &in->settings;
    return (struct run_list){.starts = s->starts,
                             .guess = cpd_guess(in),
                             .choose_ridge = s->choose_ridge,
                             .halves = s->halves};
}
