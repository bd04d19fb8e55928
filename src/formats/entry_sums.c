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

/* The value of an entry that is in the sum of an earlier one, or in no sum; no entry has it before.
 */
#define GONE INFINITY

/* Entries of x in line order. */
struct sorted {
    struct coo *x;
    enum coo_zeros zeros;
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

void entry_sum_add(struct entry_sum *sum, double value, enum coo_zeros zeros)
{
    if (value == 0 && zeros == COO_DROP_ZEROS)
        sum->zeros++;
    else
        sum->value = sum->terms++ ? sum->value + value : value;
}

bool entry_sum_count(const struct entry_sum *sum, enum coo_zeros zeros,
                     struct coo_cleaning *cleaning)
{
    const bool cancels = sum->terms > 0 && sum->value == 0 && zeros == COO_DROP_ZEROS;
    cleaning->zeros += sum->zeros + cancels;
    cleaning->duplicates += sum->terms > 1 ? sum->terms - 1 : 0;
    return sum->terms > 0 && !cancels;
}

/* Makes entry i, the first of its coordinates, the sum of all entries with these, and the others
 * GONE; a nonzero that is alone stays untouched. Returns whether the sum is infinite. */
static bool sum_repeats(const struct sorted *s, uint64_t i, struct coo_cleaning *cleaning)
{
    double *value = s->x->value;
    struct entry_sum sum = {0};
    uint64_t j = i;
    if (value[s->position[i]] != 0 && (i + 1 == s->count || !repeats(s, i + 1)))
        return false;
    do {
        double *term = &value[s->position[j]];
        entry_sum_add(&sum, *term, s->zeros);
        *term = GONE;
    } while (++j < s->count && repeats(s, j));
    if (entry_sum_count(&sum, s->zeros, cleaning))
        value[s->position[i]] = sum.value;
    return isinf(sum.value);
}

/* STATUS_INPUT where a sum is infinite. */
static enum status sum_all_repeats(const struct sorted *s, struct coo_cleaning *cleaning,
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
            if (sum_repeats(s, i, &own) && i < bad)
                bad = i;
        }
        zeros += own.zeros;
        duplicates += own.duplicates;
    }
    cleaning->zeros += zeros;
    cleaning->duplicates += duplicates;
    return bad < s->count ? coo_overflow(s->x, NULL, s->position[bad], error) : STATUS_OK;
}

/* Keeps the positions of entries that are not GONE. */
static void drop_gone(struct sorted *s)
{
    uint64_t kept[PORTIONS];
#pragma omp parallel for schedule(static)
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        uint64_t begin = portion * s->length, end = begin + s->length, to = begin;
        for (uint64_t i = begin; i < (end < s->count ? end : s->count); i++) {
            s->position[to] = s->position[i];
            to += s->x->value[s->position[i]] != GONE;
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

enum status entry_sums_append(struct entry_sums *s, struct coo *x, uint64_t *position,
                              uint64_t count, struct error *error)
{
    uint64_t *key = memory_array(count, sizeof *key, error);
    struct sorted sorted = {.x = x,
                            .zeros = s->zeros,
                            .position = position,
                            .key = key,
                            .count = count,
                            .length = count / PORTIONS + 1};
    struct coo_cleaning cleaning = {0};
    if (!key)
        return error->status;
    TRY_OR(done, ordering_sort(&s->writer->alto.ordering, x, position, count, key, error));
    TRY_OR(done, sum_all_repeats(&sorted, &cleaning, error));
    if (cleaning.zeros + cleaning.duplicates > 0)
        drop_gone(&sorted);
    s->cleaning.zeros += cleaning.zeros;
    s->cleaning.duplicates += cleaning.duplicates;
    blco_writer_append(s->writer, x, position, sorted.count, error);
done:
    memory_free(key);
    return error->status;
}
