#include "commands/given_indices.h"

#include <string.h>

#include "base/number.h"

enum status given_indices_add(struct given_indices *g, const char *option, const char *text,
                              struct error *error)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1])
        return error_set(error, STATUS_INPUT, "%s: '%s', expected MODE=NAME", option, text);
    if (g->count == MAX_ORDER)
        return error_set(error, STATUS_INPUT, "%s: more than %d modes", option, MAX_ORDER);
    g->option = option;
    g->text[g->count++] = text;
    return STATUS_OK;
}

/* A whole number that takes all of text[0..length), or UINT64_MAX. */
static uint64_t number_of(const char *text, size_t length)
{
    uint64_t number;
    return number_parse_unsigned(text, text + length, &number) == text + length ? number
                                                                                : UINT64_MAX;
}

static bool has_name(const struct labels *labels, int n, const char *text, size_t length)
{
    return strlen(labels->modes.of[n]) == length && memcmp(labels->modes.of[n], text, length) == 0;
}

/* The mode of the slice with this name or, from 1, this number; -1 where there is none. */
static int find_mode(const struct unlisted_slice *s, const struct labels *labels, const char *text,
                     size_t length)
{
    for (int n = 0; n < s->shape.order; n++)
        if (has_name(labels, n, text, length))
            return n;
    const uint64_t number = number_of(text, length);
    return number >= 1 && number <= (uint64_t)s->shape.order ? (int)number - 1 : -1;
}

/* The index of a mode with this label or this number; UINT64_MAX where there is none. */
static uint64_t find_index(const struct labels *labels, int n, uint64_t length, const char *text,
                           uint64_t index_base)
{
    for (uint64_t i = 0; i < labels->mode[n].count; i++) {
        const char *label = labels_get(labels, n, i);
        if (label && strcmp(label, text) == 0)
            return i;
    }
    const uint64_t number = number_of(text, strlen(text));
    return number >= index_base && number - index_base < length ? number - index_base : UINT64_MAX;
}

static enum status take(struct unlisted_slice *s, const char *option, const char *text,
                        const struct labels *labels, int index_base, struct error *error)
{
    const char *sign = strchr(text, '=');
    const int n = find_mode(s, labels, text, (size_t)(sign - text));
    if (n < 0)
        return error_set(error, STATUS_INPUT,
                         "%s: no mode is named '%.*s', expected a name or a number from 1 to %d",
                         option, (int)(sign - text), text, s->shape.order);
    if (s->given[n])
        return error_set(error, STATUS_INPUT, "%s: mode %d twice, expected one index of it", option,
                         n + 1);
    const uint64_t length = s->shape.dims[n], base = (uint64_t)index_base;
    const uint64_t index = find_index(labels, n, length, sign + 1, base);
    if (index == UINT64_MAX)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s' is no index of mode %d, expected %sa number from %ju to %ju",
                         option, sign + 1, n + 1, labels->mode[n].count > 0 ? "a label or " : "",
                         (uintmax_t)base, (uintmax_t)(length - 1 + base));
    s->given[n] = true;
    s->index[n] = (uint32_t)index;
    return STATUS_OK;
}

enum status given_indices_find(struct unlisted_slice *s, const struct given_indices *g,
                               const struct labels *labels, int index_base, struct error *error)
{
    for (int i = 0; i < g->count; i++)
        TRY(take(s, g->option, g->text[i], labels, index_base, error));
    if (g->count == s->shape.order)
        return error_set(error, STATUS_INPUT,
                         "%s: an index of each mode, expected a mode without one", g->option);
    return STATUS_OK;
}
