#include "formats/external_sort_piece.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering_sort.h"

#define SLICES 256 /* of the entries: the work that is shared out to threads */

/* Entries in line order. */
struct sorted {
    struct coo *x;
    uint64_t *position, *key; /* (count); equal coordinates have equal keys */
    uint64_t count, length;   /* of a slice                                 */
};

static bool repeats(const struct sorted *s, uint64_t i)
{
    if (s->key[i] != s->key[i - 1])
        return false;
    for (int n = 0; n < s->x->shape.order; n++)
        if (s->x->index[n][s->position[i]] != s->x->index[n][s->position[i - 1]])
            return false;
    return true;
}

/* Sums the group that begins at i into its first entry and leaves the others zero. Explicit zeros
 * count for themselves, as if they had never been there. */
static void sum_group(const struct sorted *s, uint64_t i, struct coo_cleaning *report)
{
    double *value = s->x->value, sum = 0;
    uint64_t terms = 0, j = i;
    if (value[s->position[i]] != 0 && (i + 1 == s->count || !repeats(s, i + 1)))
        return;
    do {
        double *term = &value[s->position[j]];
        if (*term == 0)
            report->zeros++;
        else
            sum = terms++ ? sum + *term : *term;
        *term = 0;
    } while (++j < s->count && repeats(s, j));
    value[s->position[i]] = sum;
    report->duplicates += terms > 1 ? terms - 1 : 0;
    report->zeros += terms > 1 && sum == 0;
}

static struct coo_cleaning sum_groups(const struct sorted *s)
{
    uint64_t zeros = 0, duplicates = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros, duplicates)
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        struct coo_cleaning own = {0};
        uint64_t end = (slice + 1) * s->length;
        for (uint64_t i = slice * s->length; i < (end < s->count ? end : s->count); i++)
            if (i == 0 || !repeats(s, i))
                sum_group(s, i, &own);
        zeros += own.zeros;
        duplicates += own.duplicates;
    }
    return (struct coo_cleaning){zeros, duplicates};
}

/* Leaves the positions of what is not zero. */
static void drop_zeros(struct sorted *s)
{
    uint64_t kept[SLICES];
#pragma omp parallel for schedule(static)
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        uint64_t begin = slice * s->length, end = begin + s->length, to = begin;
        for (uint64_t i = begin; i < (end < s->count ? end : s->count); i++) {
            s->position[to] = s->position[i];
            to += s->x->value[s->position[i]] != 0;
        }
        kept[slice] = to - begin;
    }
    uint64_t count = 0;
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        if (kept[slice] > 0)
            memmove(s->position + count, s->position + slice * s->length,
                    kept[slice] * sizeof *s->position);
        count += kept[slice];
    }
    s->count = count;
}

enum status external_sort_emit(const struct ordering *alto, struct coo *x, uint64_t *position,
                               uint64_t count, struct blco_writer *w, struct coo_cleaning *report,
                               struct error *error)
{
    uint64_t *key = memory_array(count, sizeof *key, error);
    struct sorted s = {x, position, key, count, count / SLICES + 1};
    if (key && ordering_sort(alto, x, position, count, key, error) == STATUS_OK) {
        struct coo_cleaning cleaned = sum_groups(&s);
        if (cleaned.zeros + cleaned.duplicates > 0)
            drop_zeros(&s);
        report->zeros += cleaned.zeros;
        report->duplicates += cleaned.duplicates;
        blco_writer_append(w, x, position, s.count, error);
    }
    memory_free(key);
    return error->status;
}
