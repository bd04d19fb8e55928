#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <string.h>

/* "1,3", or "none". */
static const char *name_modes(char text[64], unsigned bits)
{
    int used = snprintf(text, 64, "%s", bits ? "" : "none");
    for (int n = 0; bits >> n; n++)
        if (bits >> n & 1)
            used += snprintf(text + used, 64 - (size_t)used, "%s%d",
                             bits & ((1u << n) - 1) ? "," : "", n + 1);
    return text;
}

static enum status check_modes(const struct checkpoint *c, const char *option, const bool *then,
                               const bool *now, struct error *error)
{
    char before[64], after[64];
    unsigned modes = (1u << c->about.tensor.shape.order) - 1;
    unsigned had = mode_rules_bits(then) & modes, has = mode_rules_bits(now) & modes;
    if (had == has)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: a checkpoint of a run with other modes in %s: %s, but this run has %s",
                     c->name, option, name_modes(before, had), name_modes(after, has));
}

static enum status check_unlisted(const struct checkpoint *c, const struct unlisted *now,
                                  struct error *error)
{
    const struct unlisted *then = &c->about.problem.unlisted;
    char before[UNLISTED_TEXT], after[UNLISTED_TEXT];
    if (then->weighed != now->weighed || then->weight != now->weight)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --unlisted %s, but this run has %s", c->name,
                         unlisted_text(then, before), unlisted_text(now, after));
    if (then->fade != now->fade)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --fade %g, but this run has %g", c->name,
                         then->fade, now->fade);
    return STATUS_OK;
}

static const char *holdout_text(const struct holdout *h, char text[64])
{
    if (h->share > 0)
        snprintf(text, 64, "with --holdout %g:%ju", h->share, (uintmax_t)h->seed);
    else
        snprintf(text, 64, "without --holdout");
    return text;
}

static enum status check_holdout(const struct checkpoint *c, const struct holdout *now,
                                 struct error *error)
{
    const struct holdout *then = &c->about.problem.holdout;
    char before[64], after[64];
    if (then->share == now->share && then->seed == now->seed)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: a checkpoint of a run %s, but this run is one %s",
                     c->name, holdout_text(then, before), holdout_text(now, after));
}

enum status checkpoint_check_run(const struct checkpoint *c, const struct problem *now,
                                 struct error *error)
{
    const struct problem *then = &c->about.problem;
    if (then->rank != now->rank)
        return error_set(error, STATUS_INPUT, "%s: a checkpoint of rank %ju, but -r is %ju",
                         c->name, (uintmax_t)then->rank, (uintmax_t)now->rank);
    TRY(check_unlisted(c, &now->unlisted, error));
    for (const struct problem_choice *choice = problem_choices; choice->name; choice++) {
        const char *had = problem_word(then, choice), *has = problem_word(now, choice);
        if (strcmp(had, has) != 0)
            return error_set(error, STATUS_INPUT,
                             "%s: a checkpoint with --%s %s, but this run has %s", c->name,
                             choice->name, had, has);
    }
    if (problem_inner(then) != problem_inner(now))
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --inner %d, but this run has %d", c->name,
                         problem_inner(then), problem_inner(now));
    TRY(check_holdout(c, &now->holdout, error));
    TRY(check_modes(c, "--nonneg", then->rules.nonneg, now->rules.nonneg, error));
    return check_modes(c, "--fix", then->rules.fixed, now->rules.fixed, error);
}

enum status checkpoint_check_shape(const struct checkpoint *c, const struct shape *shape,
                                   uint64_t nnz, struct error *error)
{
    const struct fingerprint *t = &c->about.tensor;
    if (t->shape.order != shape->order)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %d modes, this one %d",
                         c->name, t->shape.order, shape->order);
    for (int n = 0; n < shape->order; n++)
        if (t->shape.dims[n] != shape->dims[n])
            return error_set(error, STATUS_INPUT,
                             "%s: a checkpoint of another tensor: its mode %d has length %ju, that "
                             "of this one %ju",
                             c->name, n + 1, (uintmax_t)t->shape.dims[n],
                             (uintmax_t)shape->dims[n]);
    if (t->nnz != nnz)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %ju nonzeros, this one %ju",
                         c->name, (uintmax_t)t->nnz, (uintmax_t)nnz);
    return STATUS_OK;
}

enum status checkpoint_check_hash(const struct checkpoint *c, uint64_t hash, struct error *error)
{
    if (c->about.tensor.hash != hash)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor, of the same lengths and number of "
                         "nonzeros: their coordinates or values differ",
                         c->name);
    return STATUS_OK;
}
