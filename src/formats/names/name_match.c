#include "formats/names/name_match.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

#define SHOWN_BYTES 60 /* of a name in a message */

const struct word match_words[] = {
    {"names", MATCH_NAMES}, {"all", MATCH_ALL}, {"index", MATCH_INDEX}, {NULL, 0}};

/* The modes of b that have the names of those of a, where both sides name all modes. */
static enum status match_modes(struct name_match *m, const struct named_side *a,
                               const struct named_side *b, struct error *error)
{
    bool named = true, taken[MAX_ORDER] = {false};
    for (int n = 0; n < m->order; n++)
        named = named && a->names->modes.name[n][0] && b->names->modes.name[n][0];
    for (int n = 0; named && n < m->order; n++) {
        const char *name = a->names->modes.name[n];
        int k = n; /* of equal names that of the same number comes first */
        if (taken[n] || strcmp(name, b->names->modes.name[n]) != 0)
            for (k = 0; k < m->order && (taken[k] || strcmp(name, b->names->modes.name[k]) != 0);)
                k++;
        if (k == m->order)
            return error_set(error, STATUS_INPUT,
                             "%s: no mode is named '%s', as mode %d of %s is (--match index: modes "
                             "and indices agree)",
                             b->what, name, n + 1, a->what);
        taken[k] = true;
        m->mode[n] = k;
    }
    return STATUS_OK;
}

static bool same_names(const struct name_table *a, const struct name_table *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const struct name x = name_table_get(a, i), y = name_table_get(b, i);
        same = x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
    }
    return same;
}

/* *found = the names of the table, which then can be found. */
static enum status make_findable(struct name_table *found, const struct name_table *names,
                                 const char *what, int n, struct error *error)
{
    for (uint32_t i = 0; i < names->count; i++) {
        const struct name name = name_table_get(names, i);
        uint32_t number;
        TRY(name_table_add(found, name, name_hash(name.text, name.length), &number, error));
        if (number != i)
            return error_set(error, STATUS_INPUT,
                             "%s: mode %d: indices %ju and %ju have the name '%.*s': names do not "
                             "tell which index is which (--match index: they agree)",
                             what, n + 1, (uintmax_t)number + 1, (uintmax_t)i + 1,
                             name_shown(name, SHOWN_BYTES), name.text);
    }
    return STATUS_OK;
}

/* Finds b's names of mode n among those of a. */
static enum status match_indices(struct name_match *m, const struct named_side *a,
                                 const struct named_side *b, int n, struct error *error)
{
    const struct name_table *mine = labels_own(a->names, n),
                            *other = labels_own(b->names, m->mode[n]);
    struct name_table found = {0}, distinct = {0};
    m->count[n] = other->count;
    if (other->count == 0 && a->names->mode[n].given && a->names->mode[n].own.count == 0)
        return STATUS_OK;
    if ((mine->count > 0) != (other->count > 0))
        return error_set(
            error, STATUS_INPUT,
            "%s: no names of the indices of mode %d, which %s has: expected a .map file "
            "(--match index: indices agree)",
            mine->count > 0 ? b->what : a->what, mine->count > 0 ? m->mode[n] + 1 : n + 1,
            mine->count > 0 ? a->what : b->what);
    if (mine->count == 0 || same_names(mine, other))
        return STATUS_OK;
    m->index[n] = memory_array(other->count, sizeof *m->index[n], error);
    TRY(error->status);
    TRY_OR(done, make_findable(&found, mine, a->what, n, error));
    TRY_OR(done, make_findable(&distinct, other, b->what, m->mode[n], error));
    for (uint32_t i = 0; i < other->count; i++) {
        const struct name name = name_table_get(other, i);
        uint32_t *number = &m->index[n][i];
        if (name_table_find(&found, name, name_hash(name.text, name.length), number))
            continue;
        *number = NO_INDEX;
        if (m->only_b[n]++ == 0)
            m->first_only_b[n] = name.text;
    }
    m->only_a[n] = mine->count - (other->count - m->only_b[n]);
done:
    name_table_free(&found);
    name_table_free(&distinct);
    return error->status;
}

enum status name_match_find(struct name_match *m, const struct named_side *a,
                            const struct named_side *b, int order, enum match how,
                            struct error *error)
{
    *m = (struct name_match){.order = order};
    for (int n = 0; n < order; n++)
        m->mode[n] = n;
    if (how == MATCH_INDEX)
        return STATUS_OK;
    TRY_OR(failed, match_modes(m, a, b, error));
    for (int n = 0; n < order; n++)
        TRY_OR(failed, match_indices(m, a, b, n, error));
    for (int n = 0; n < order; n++)
        if (how == MATCH_ALL && m->only_b[n] > 0)
            TRY_OR(failed, error_set(error, STATUS_INPUT,
                                     "%s: mode %d: the name '%.60s', expected one that %s has",
                                     b->what, m->mode[n] + 1, m->first_only_b[n], a->what));
    return STATUS_OK;
failed:
    name_match_free(m);
    return error->status;
}

bool name_match_is_same(const struct name_match *m)
{
    for (int n = 0; n < m->order; n++)
        if (m->mode[n] != n || m->index[n])
            return false;
    return true;
}

void name_match_note(const struct name_match *m, const struct named_side *a,
                     const struct named_side *b, struct progress *progress)
{
    for (int n = 0; n < m->order; n++) {
        const char *mode = a->names->modes.name[n];
        char shown[PRINTABLE_ROOM(MODE_NAME_BYTES)] = "";
        if (mode[0])
            printable(mode, shown, sizeof shown);
        for (int side = 0; side < 2; side++) { /* whose names the other lacks */
            const uint64_t only = side == 0 ? m->only_b[n] : m->only_a[n];
            if (only > 0)
                progress_note(progress, "mode %d%s%s%s: %ju name%s of %s that %s lacks", n + 1,
                              mode[0] ? " (" : "", shown, mode[0] ? ")" : "", (uintmax_t)only,
                              only == 1 ? "" : "s", (side == 0 ? b : a)->what,
                              (side == 0 ? a : b)->what);
        }
    }
}

void name_match_free(struct name_match *m)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(m->index[n]);
    *m = (struct name_match){0};
}
