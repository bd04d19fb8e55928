#include "tensor/value_change.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

const char *value_rule_text(const struct value_rule *rule, char text[VALUE_RULE_TEXT])
{
    static const char *const words[] = {
        [VALUES_AS_THEY_ARE] = "", [VALUES_LOG1P] = "log1p", [VALUES_BINARY] = "binary"};
    if (rule->kind == VALUES_TFIDF)
        snprintf(text, VALUE_RULE_TEXT, "tfidf:%d", rule->mode + 1);
    else
        snprintf(text, VALUE_RULE_TEXT, "%s", words[rule->kind]);
    return text;
}

enum status value_change_begin(struct value_change *c, const struct value_rule *rule,
                               const struct shape *shape, struct error *error)
{
    *c = (struct value_change){.rule = *rule};
    if (rule->kind != VALUES_TFIDF)
        return STATUS_OK;
    if (rule->mode >= shape->order)
        return error_set(error, STATUS_INPUT, "--values tfidf:%d: expected a mode from 1 to %d",
                         rule->mode + 1, shape->order);
    c->length = shape->dims[rule->mode];
    c->factor = memory_zeros(c->length, sizeof *c->factor, error);
    return error->status;
}

static bool is_nonzero(double value)
{
    return value != 0 && !isnan(value);
}

void value_change_count(struct value_change *c, const struct coo *piece, const uint64_t *first)
{
    if (!c->factor)
        return;
    const uint32_t *index = piece->index[c->rule.mode];
    double *count = c->factor + (first ? first[c->rule.mode] : 0);
    for (uint64_t i = 0; i < piece->nnz; i++)
        count[index[i]] += is_nonzero(piece->value[i]);
}

void value_change_weigh(struct value_change *c)
{
    double most = 0;
    for (uint64_t i = 0; i < c->length; i++)
        most = fmax(most, c->factor[i]);
    for (uint64_t i = 0; i < c->length; i++)
        c->factor[i] = c->factor[i] > 0 ? 1 + log(most / c->factor[i]) : 1;
}

enum status value_change_apply(const struct value_change *c, struct coo *piece,
                               const uint64_t *first, struct error *error)
{
    const enum value_kind kind = c->rule.kind;
    const uint32_t *index = piece->index[c->rule.mode];
    const double *factor = c->factor && first ? c->factor + first[c->rule.mode] : c->factor;
    uint64_t bad = piece->nnz;
    if (kind == VALUES_AS_THEY_ARE)
        return STATUS_OK;
#pragma omp parallel for schedule(static) reduction(min : bad)
    for (uint64_t i = 0; i < piece->nnz; i++) {
        const double value = piece->value[i];
        if (!is_nonzero(value))
            continue;
        const double changed = kind == VALUES_LOG1P    ? log1p(value)
                               : kind == VALUES_BINARY ? 1
                                                       : value * factor[index[i]];
        if (isfinite(changed))
            piece->value[i] = changed;
        else
            bad = i < bad ? i : bad;
    }
    if (bad == piece->nnz)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     c->rule.kind == VALUES_LOG1P
                         ? "--values log1p: a value of %.9g, expected values above -1"
                         : "--values: a value of %.9g becomes too large",
                     piece->value[bad]);
}

enum status value_change_all(const struct value_rule *rule, struct coo *x, struct error *error)
{
    struct value_change c;
    TRY_OR(done, value_change_begin(&c, rule, &x->shape, error));
    value_change_count(&c, x, NULL);
    value_change_weigh(&c);
    value_change_apply(&c, x, NULL, error);
done:
    value_change_free(&c);
    return error->status;
}

void value_change_free(struct value_change *c)
{
    memory_free(c->factor);
    *c = (struct value_change){0};
}
