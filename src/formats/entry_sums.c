#include "formats/entry_sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering.h"

#define PORTIONS 256 /* of the entries; each is one thread's work */

uint64_t *entry_sums_positions(uint64_t count, struct error *error)
{
    uint64_t *position = memory_array(count, sizeof *position, error);
    if (!position)
        return NULL;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        position[i] = i;
    return position;
}

/* Entries of x in line order. */
struct sorted {
    struct coo *x;
    uint64_t *position, *key; /* (count); equal coordinates have equal keys */
    uint64_t count;
    uint64_t length; /* of a portion */
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

/* Adds the entries with the coordinates of entry i, the first of them, to entry i, and makes the
 * others zero. Explicit zeros are counted as zeros and not as duplicates. */
static void sum_repeats(const struct sorted *s, uint64_t i, struct coo_cleaning *report)
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

/* Adds to *report. STATUS_INPUT where a sum is not finite. */
static enum status sum_all_repeats(const struct sorted *s, struct coo_cleaning *report,
                                   struct error *error)
{
    uint64_t zeros = 0, duplicates = 0, bad = s->count;
#pragma omp parallel for schedule(static) reduction(+ : zeros, duplicates) reduction(min : bad)
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        struct coo_cleaning own = {0};
        uint64_t end = (portion + 1) * s->length;
        for (uint64_t i = portion * s->length; i < (end < s->count ? end : s->count); i++) {
            if (i > 0 && repeats(s, i))
                continue;
            sum_repeats(s, i, &own);
            if (!isfinite(s->x->value[s->position[i]]) && i < bad)
                bad = i;
        }
        zeros += own.zeros;
        duplicates += own.duplicates;
    }
    report->zeros += zeros;
    report->duplicates += duplicates;
    return bad < s->count ? coo_overflow(s->x, NULL, s->position[bad], error) : STATUS_OK;
}

/* Keeps the positions of entries that are not zero. */
static void drop_zeros(struct sorted *s)
{
    uint64_t kept[PORTIONS];
#pragma omp parallel for schedule(static)
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        uint64_t begin = portion * s->length, end = begin + s->length, to = begin;
        for (uint64_t i = begin; i < (end < s->count ? end : s->count); i++) {
            s->position[to] = s->position[i];
            to += s->x->value[s->position[i]] != 0;
        }
        kept[portion] = to - begin;
    }
    uint64_t count = 0;
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        if (kept[portion] > 0)
            memmove(s->position + count, s->position + portion * s->length,
                    kept[portion] * sizeof *s->position);
        count += kept[portion];
    }
    s->count = count;
}

enum status entry_sums_append(struct coo *x, uint64_t *position, uint64_t count,
                              struct blco_writer *w, struct coo_cleaning *report,
                              struct error *error)
{
    uint64_t *key = memory_array(count, sizeof *key, error);
    struct sorted s = {x, position, key, count, count / PORTIONS + 1};
    struct coo_cleaning cleaned = {0};
    if (!key)
        return error->status;
    if (ordering_sort(&w->alto.ordering, x, position, count, key, error) != STATUS_OK)
        goto done;
    if (sum_all_repeats(&s, &cleaned, error) != STATUS_OK)
        goto done;
    if (cleaned.zeros + cleaned.duplicates > 0)
        drop_zeros(&s);
    report->zeros += cleaned.zeros;
    report->duplicates += cleaned.duplicates;
    blco_writer_append(w, x, position, s.count, error);
done:
    memory_free(key);
    return error->status;
}
