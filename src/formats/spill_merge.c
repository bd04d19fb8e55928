#include "formats/spill_merge.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering.h"

#define LEAST_WINDOW 256 /* entries of a spill in memory */

/* The next entries of each spill are in memory, in its window: those of spill k are entries
 * [k * length, k * length + filled[k]) of `window`. A spill goes on if it has more entries. An
 * entry can be emitted if it comes before the last entry in the window of every spill that goes on.
 */
struct merger {
    struct spills *spills;
    const struct ordering *alto; /* the writer's                                              */
    struct entry_sums *sums;     /* borrowed                                                  */
    struct coo window;           /* (count * length); owned                                  */
    uint64_t length;             /* entries of a window                                      */
    uint64_t *filled;            /* (count) entries in each window; owned                    */
    uint64_t *taken;             /* (count) how many of these are emitted next; in `filled`  */
    uint64_t *position;          /* (count * length); owned                                  */
};

static void merger_free(struct merger *m)
{
    coo_free(&m->window);
    memory_free(m->filled);
    memory_free(m->position);
}

static bool goes_on(const struct merger *m, uint64_t k)
{
    return m->spills->spill[k].read < m->spills->spill[k].count;
}

static void move_entries(struct coo *x, uint64_t to, uint64_t from, uint64_t count)
{
    for (int n = 0; n < x->shape.order; n++)
        memmove(x->index[n] + to, x->index[n] + from, count * sizeof *x->index[n]);
    memmove(x->value + to, x->value + from, count * sizeof *x->value);
}

/* Fills the window of spill k from the spill file. */
static enum status refill(struct merger *m, uint64_t k, struct error *error)
{
    struct spill *spill = &m->spills->spill[k];
    const struct coo *x = &m->window;
    uint64_t room = m->length - m->filled[k], left = spill->count - spill->read;
    uint64_t count = room < left ? room : left, to = k * m->length + m->filled[k];
    uint64_t at = spill->offset;
    for (int n = 0; n < x->shape.order && count > 0; n++) {
        TRY(outfile_read_at(&m->spills->file, x->index[n] + to, count * sizeof *x->index[n],
                            at + spill->read * sizeof *x->index[n], error));
        at += spill->count * sizeof *x->index[n];
    }
    if (count > 0)
        TRY(outfile_read_at(&m->spills->file, x->value + to, count * sizeof *x->value,
                            at + spill->read * sizeof *x->value, error));
    spill->read += count;
    m->filled[k] += count;
    return STATUS_OK;
}

/* Finds the limit, the entry before which all entries can be emitted; false if no spill goes on, so
 * that all entries can be emitted. */
static bool find_limit(const struct merger *m, uint32_t *limit)
{
    bool found = false;
    for (uint64_t k = 0; k < m->spills->count; k++) {
        uint32_t last[MAX_ORDER] = {0};
        if (!goes_on(m, k))
            continue;
        coo_coordinates(&m->window, k * m->length + m->filled[k] - 1, last);
        if (!found || ordering_precedes(m->alto, last, limit))
            memcpy(limit, last, sizeof last);
        found = true;
    }
    return found;
}

/* The number of entries of window k before the limit. */
static uint64_t count_before(const struct merger *m, uint64_t k, const uint32_t *limit)
{
    uint64_t low = 0, high = m->filled[k];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t coordinate[MAX_ORDER];
        coo_coordinates(&m->window, k * m->length + middle, coordinate);
        if (ordering_precedes(m->alto, coordinate, limit))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lists the entries that can be emitted, spill after spill. Returns their number; m->taken[k] of
 * them are from spill k. */
static uint64_t choose(const struct merger *m)
{
    uint32_t limit[MAX_ORDER] = {0};
    uint64_t count = 0;
    bool limited = find_limit(m, limit);
    for (uint64_t k = 0; k < m->spills->count; k++) {
        m->taken[k] = limited ? count_before(m, k, limit) : m->filled[k];
        for (uint64_t i = 0; i < m->taken[k]; i++)
            m->position[count++] = k * m->length + i;
    }
    return count;
}

/* --- entries that fill a window and may all be equal --- */

/* The entries with the same coordinates, as they are summed in input order. */
struct equals {
    struct coo at; /* one entry, their coordinates; owned */
    struct entry_sum sum;
    uint64_t entries;
};

/* Takes the entries at the beginning of window k that have the coordinates of *equal. Returns
 * their number. */
static uint64_t take_equal(const struct merger *m, uint64_t k, struct equals *equal)
{
    const struct coo *x = &m->window;
    uint64_t first = k * m->length, i = 0;
    for (; i < m->filled[k]; i++) {
        for (int n = 0; n < x->shape.order; n++)
            if (x->index[n][first + i] != equal->at.index[n][0])
                return i;
        entry_sum_add(&equal->sum, x->value[first + i], m->sums->zeros);
    }
    return i;
}

static void drop_first(struct merger *m, uint64_t k, uint64_t count)
{
    m->filled[k] -= count;
    move_entries(&m->window, k * m->length, k * m->length + count, m->filled[k]);
}

/* Sums the entries at the limit, spill after spill, so that the windows need not hold them all. */
static enum status sum_equals(struct merger *m, struct equals *equal, struct error *error)
{
    uint32_t limit[MAX_ORDER] = {0};
    find_limit(m, limit);
    for (int n = 0; n < equal->at.shape.order; n++)
        equal->at.index[n][0] = limit[n];
    for (uint64_t k = 0; k < m->spills->count; k++) {
        uint64_t taken;
        do {
            taken = take_equal(m, k, equal);
            drop_first(m, k, taken);
            equal->entries += taken;
            if (goes_on(m, k))
                TRY(refill(m, k, error));
        } while (taken > 0 && m->filled[k] > 0);
    }
    return STATUS_OK;
}

/* Emits the sum of the entries at the limit; *count is how many entries these are. */
static enum status emit_equals(struct merger *m, uint64_t *count, struct error *error)
{
    struct equals equal = {0};
    TRY(coo_create(&equal.at, &m->window.shape, 1, error));
    TRY_OR(done, sum_equals(m, &equal, error));
    *count = equal.entries;
    equal.at.value[0] = equal.sum.value;
    const bool stays = entry_sum_count(&equal.sum, m->sums->zeros, &m->sums->cleaning);
    if (isinf(equal.sum.value))
        coo_overflow(&equal.at, NULL, 0, error);
    else if (stays)
        blco_writer_append(m->sums->writer, &equal.at, NULL, 1, error);
done:
    coo_free(&equal.at);
    return error->status;
}

static enum status merger_create(struct merger *m, uint64_t memory, struct error *error)
{
    const struct shape *shape = &m->sums->writer->pending.shape;
    uint64_t spills = m->spills->count;
    m->alto = &m->sums->writer->alto.ordering;
    m->length = memory / spills / (4 * (uint64_t)shape->order + 8 + EXTERNAL_SORT_OVERHEAD);
    if (m->length < LEAST_WINDOW)
        m->length = LEAST_WINDOW;
    m->filled = memory_zeros(2 * spills, sizeof *m->filled, error);
    m->taken = m->filled ? m->filled + spills : NULL;
    m->position = memory_array(spills * m->length, sizeof *m->position, error);
    TRY(error->status);
    return coo_create(&m->window, shape, spills * m->length, error);
}

/* Emits the `count` entries that choose() has listed. */
static enum status emit_chosen(struct merger *m, uint64_t count, struct error *error)
{
    TRY(entry_sums_append(m->sums, &m->window, m->position, count, error));
    for (uint64_t k = 0; k < m->spills->count; k++)
        drop_first(m, k, m->taken[k]);
    return STATUS_OK;
}

static enum status merge_all(struct merger *m, struct progress *progress, struct error *error)
{
    struct spills *s = m->spills;
    uint64_t done = 0, all = 0;
    for (uint64_t k = 0; k < s->count; k++)
        all += s->spill[k].count;
    while (done < all) {
        for (uint64_t k = 0; k < s->count; k++)
            if (goes_on(m, k) && refill(m, k, error) != STATUS_OK)
                return error->status;
        uint64_t count = choose(m);
        if ((count > 0 ? emit_chosen(m, count, error) : emit_equals(m, &count, error)) != STATUS_OK)
            return error->status;
        done += count;
        progress_update(progress, (double)done / (double)all, "%.0f million entries",
                        (double)done / 1e6);
    }
    return STATUS_OK;
}

enum status spill_merge(struct spills *s, uint64_t memory, struct entry_sums *sums,
                        struct progress *progress, struct error *error)
{
    struct merger m = {.spills = s, .sums = sums};
    TRY_OR(done, merger_create(&m, memory, error));
    merge_all(&m, progress, error);
done:
    merger_free(&m);
    return error->status;
}
