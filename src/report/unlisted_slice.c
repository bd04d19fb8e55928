#include "report/unlisted_slice.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM 64

static bool has(const struct unlisted_slice *s, const struct coo *x, uint64_t i)
{
    for (int n = 0; n < x->shape.order; n++)
        if (s->given[n] && x->index[n][i] != s->index[n])
            return false;
    return true;
}

static enum status make_room(struct unlisted_slice *s, struct error *error)
{
    if (s->count < s->room)
        return STATUS_OK;
    const uint64_t room = s->room ? 2 * s->room : FIRST_ROOM;
    TRY(memory_resize(&s->listed, room, sizeof *s->listed, error));
    s->room = room;
    return STATUS_OK;
}

enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (!has(s, x, i))
            continue;
        TRY(make_room(s, error));
        struct cell *cell = &s->listed[s->count++];
        *cell = (struct cell){{0}};
        coo_coordinates(x, i, cell->index);
    }
    return STATUS_OK;
}

/* Any order will do. */
static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct cell));
}

void unlisted_slice_sort(struct unlisted_slice *s)
{
    if (s->count > 0)
        qsort(s->listed, s->count, sizeof *s->listed, compare);
}

bool unlisted_slice_lists(const struct unlisted_slice *s, const struct cell *cell)
{
    return s->count > 0 && bsearch(cell, s->listed, s->count, sizeof *s->listed, compare);
}

void unlisted_slice_free(struct unlisted_slice *s)
{
    memory_free(s->listed);
    s->listed = NULL;
    s->count = s->room = 0;
}
