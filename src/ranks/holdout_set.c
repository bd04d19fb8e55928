#include "ranks/holdout_set.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/random_stream.h"
#include "tensor/coo.h"

#define ROUNDS 16 /* of drawing, at most: in a tensor that lists almost all, few are left */
#define PARTS  64 /* of the draws of a round, whatever the number of threads              */

/* Coordinates that were drawn, and which of them do not count. */
struct unlisted_sample {
    struct coo x;    /* (x.nnz) in the order in which they were drawn, without values           */
    bool *listed;    /* (x.nnz): the tensor lists them, or they were drawn before; owned        */
    uint64_t *slot;  /* (slots): a hash table of them: 1 + the place in x, or 0; owned          */
    uint64_t slots;  /* a power of two                                                          */
    uint64_t *fresh; /* (words): marks of the last draws, so that most entries of the tensor need
                      * not be looked up in the table: a Bloom filter; owned                    */
    uint64_t words;  /* a power of two                                                          */
};

static uint64_t hash_of(const uint32_t *coordinate, int order)
{
    uint64_t hash = 0;
    for (int n = 0; n < order; n++)
        hash = random_mix(hash ^ coordinate[n]);
    return hash;
}

/* Two bits of a word. The table and the word go by the lowest bits of the hash. */
static uint64_t marks_of(uint64_t hash)
{
    return UINT64_C(1) << (hash >> 52) % 64 | UINT64_C(1) << (hash >> 58);
}

static bool is_at(const struct coo *x, uint64_t i, const uint32_t *coordinate)
{
    for (int n = 0; n < x->shape.order; n++)
        if (x->index[n][i] != coordinate[n])
            return false;
    return true;
}

/* 1 + the place of the coordinate in s->x, or 0. */
static uint64_t find(const struct unlisted_sample *s, const uint32_t *coordinate, uint64_t hash)
{
    uint64_t at = hash & (s->slots - 1);
    while (s->slot[at] != 0 && !is_at(&s->x, s->slot[at] - 1, coordinate))
        at = (at + 1) & (s->slots - 1);
    return s->slot[at];
}

/* Puts place i of s->x into the table. Several threads may do so at once: of the places with one
 * coordinate, the first stays, whoever comes first. */
static void insert(const struct unlisted_sample *s, uint64_t i)
{
    uint32_t own[MAX_ORDER];
    coo_coordinates(&s->x, i, own);
    for (uint64_t at = hash_of(own, s->x.shape.order);; at++) {
        uint64_t *slot = &s->slot[at & (s->slots - 1)], there = 0;
        if (__atomic_compare_exchange_n(slot, &there, i + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
        if (!is_at(&s->x, there - 1, own))
            continue;
        while (there > i + 1 && !__atomic_compare_exchange_n(slot, &there, i + 1, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        s->listed[there > i + 1 ? there - 1 : i] = true;
        return;
    }
}

/* Marks the hashes of the places from `first` on. */
static enum status mark_fresh(struct unlisted_sample *s, uint64_t first, struct error *error)
{
    for (s->words = 1; 8 * s->words < s->x.nnz - first;)
        s->words *= 2;
    memory_free(s->fresh);
    s->fresh = memory_zeros(s->words, sizeof *s->fresh, error);
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = first; i < s->x.nnz; i++) {
        uint32_t own[MAX_ORDER];
        coo_coordinates(&s->x, i, own);
        const uint64_t hash = hash_of(own, s->x.shape.order);
        __atomic_fetch_or(&s->fresh[hash & (s->words - 1)], marks_of(hash), __ATOMIC_RELAXED);
    }
    return STATUS_OK;
}

/* Makes the `listed` chosen entries of this rank unknown: t->holdout_set has their values, and
 * (*place)[0..listed) says where they are in the tensor. The caller frees *place. */
static enum status take_listed(uint64_t **place, struct rank_tensor *t, const bool *chosen,
                               struct error *error)
{
    struct coo *x = &t->input.x;
    struct holdout_set *set = &t->holdout_set;
    uint64_t count = 0;
    *place = memory_array(set->listed, sizeof **place, error);
    TRY(coo_create(&set->x, &x->shape, set->listed, error));
    for (uint64_t i = 0; count < set->listed; i++) {
        if (!chosen[i])
            continue;
        (*place)[count] = i;
        set->x.value[count++] = x->value[i];
        x->value[i] = COO_UNKNOWN;
    }
    return error->status;
}

/* local (order) = the k-th coordinate, if it is in this rank's part. */
static bool draw(const struct rank_tensor *t, const struct holdout *h, uint64_t k, uint32_t *local)
{
    holdout_draw(h, &t->shape, k, local);
    for (int n = 0; n < t->shape.order; n++) {
        const uint64_t at = local[n], first = t->part.first[n];
        if (at < first || at >= first + t->part.here.dims[n])
            return false;
        local[n] = (uint32_t)(at - first);
    }
    return true;
}

/* Adds the coordinates first to last - 1 of the sequence. *s is zeroed before the first call; the
 * caller frees it, on failure too. */
static enum status add_draws(struct unlisted_sample *s, const struct rank_tensor *t,
                             const struct holdout *h, uint64_t first, uint64_t last,
                             struct error *error)
{
    uint64_t start[PARTS + 1] = {s->x.nnz}; /* places of each part's draws */
    const uint64_t before = s->x.nnz, draws = last - first;
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < PARTS; p++) {
        uint64_t here = 0;
        uint32_t local[MAX_ORDER];
        for (uint64_t k = even_cut(draws, p, PARTS); k < even_cut(draws, p + 1, PARTS); k++)
            here += draw(t, h, first + k, local);
        start[p + 1] = here;
    }
    for (int p = 0; p < PARTS; p++)
        start[p + 1] += start[p];
    const uint64_t count = start[PARTS];
    s->x.shape = t->part.here;
    for (int n = 0; n < s->x.shape.order; n++)
        TRY(memory_resize(&s->x.index[n], count, sizeof *s->x.index[n], error));
    TRY(memory_resize(&s->listed, count, sizeof *s->listed, error));
    s->x.nnz = count;
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < PARTS; p++) {
        uint64_t i = start[p];
        uint32_t local[MAX_ORDER];
        for (uint64_t k = even_cut(draws, p, PARTS); k < even_cut(draws, p + 1, PARTS); k++) {
            if (!draw(t, h, first + k, local))
                continue;
            for (int n = 0; n < s->x.shape.order; n++)
                s->x.index[n][i] = local[n];
            s->listed[i++] = false;
        }
    }
    const bool grows = !s->slot || s->slots < 2 * count;
    for (s->slots = s->slots > 0 ? s->slots : 16; s->slots < 2 * count;)
        s->slots *= 2;
    if (grows) {
        memory_free(s->slot);
        s->slot = memory_zeros(s->slots, sizeof *s->slot, error);
        TRY(error->status);
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = grows ? 0 : before; i < count; i++)
        insert(s, i);
    return mark_fresh(s, before, error);
}

/* Marks those of the last draws that this rank's entries list, and counts all that count. */
static uint64_t count_unlisted(struct unlisted_sample *s, const struct coo *x)
{
    uint64_t count = 0;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) { /* entries of x are distinct */
        uint32_t coordinate[MAX_ORDER];
        coo_coordinates(x, i, coordinate);
        const uint64_t hash = hash_of(coordinate, x->shape.order), marks = marks_of(hash);
        if ((s->fresh[hash & (s->words - 1)] & marks) != marks)
            continue;
        const uint64_t place = find(s, coordinate, hash);
        if (place != 0)
            s->listed[place - 1] = true;
    }
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint64_t i = 0; i < s->x.nnz; i++)
        count += !s->listed[i];
    return count;
}

/* Draws until as many are not listed as are held out, and appends these as unknown entries. The
 * ranks draw the same coordinates, and each keeps those of its part. */
static enum status take_unlisted(struct rank_tensor *t, const struct holdout *h,
                                 struct error *error)
{
    struct holdout_set *set = &t->holdout_set;
    struct coo *x = &t->input.x;
    struct unlisted_sample s = {0};
    uint64_t drawn = 0, mine = 0, at = x->nnz; /* mine: of this rank, that are not listed */
    for (int round = 0; round < ROUNDS && set->all_unlisted < set->all_listed; round++) {
        const uint64_t last = drawn + set->all_listed - set->all_unlisted;
        mine = add_draws(&s, t, h, drawn, last, error) == STATUS_OK ? count_unlisted(&s, x) : 0;
        drawn = last;
        set->all_unlisted = mine;
        TRY_OR(done, comm_allreduce_counts(t->comm, &set->all_unlisted, 1, error));
    }
    TRY_OR(done, coo_resize(x, at + mine, error));
    for (uint64_t i = 0; i < s.x.nnz; i++) {
        if (s.listed[i])
            continue;
        for (int n = 0; n < x->shape.order; n++)
            x->index[n][at] = s.x.index[n][i];
        x->value[at++] = COO_UNKNOWN;
    }
done:
    coo_free(&s.x);
    memory_free(s.listed, s.slot, s.fresh);
    return comm_allreduce_error(t->comm, error);
}

/* t->holdout_set gets the coordinates that the divided rows have, and the entries that were drawn,
 * which follow the first `before` ones of the tensor. */
static enum status fill(struct rank_tensor *t, const uint64_t *place, uint64_t before,
                        struct error *error)
{
    const struct coo *x = &t->input.x;
    struct holdout_set *set = &t->holdout_set;
    TRY(coo_resize(&set->x, set->listed + x->nnz - before, error));
    set->x.shape = x->shape;
    int largest = INT_MIN;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (uint64_t i = 0; i < set->x.nnz; i++) {
        const bool listed = i < set->listed;
        int exponent = INT_MIN;
        for (int n = 0; n < x->shape.order; n++)
            set->x.index[n][i] = x->index[n][listed ? place[i] : before + i - set->listed];
        set->x.value[i] = listed ? set->x.value[i] : 0;
        if (set->x.value[i] != 0)
            frexp(set->x.value[i], &exponent);
        largest = exponent > largest ? exponent : largest;
    }
    set->exponent = largest;
    return STATUS_OK;
}

enum status holdout_set_take(struct rank_tensor *t, const struct holdout *h, bool unlisted,
                             struct error *error)
{
    struct holdout_set *set = &t->holdout_set;
    const uint64_t before = t->input.x.nnz;
    uint64_t *place = NULL;
    rank_tensor_own_arrays(t, error);
    bool *chosen = memory_array(before, sizeof *chosen, error);
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    rank_tensor_take_hash(t);
    set->listed = holdout_choose(h, &t->input.x, t->part.first, chosen);
    if (unlisted)
        TRY_OR(done,
               holdout_places_find(&set->places, &t->input.x, &t->part, h, chosen, t->comm, error));
    take_listed(&place, t, chosen, error);
    set->all_listed = set->listed;
    TRY_OR(done, comm_allreduce_counts(t->comm, &set->all_listed, 1, error));
    const uint64_t known = t->nnz - t->listed.unknown;
    if (set->all_listed == 0)
        error_set(error, STATUS_INPUT,
                  "--holdout %g: none of the %ju entries is held out, expected a larger share",
                  h->share, (uintmax_t)known);
    else if (set->all_listed == known)
        error_set(error, STATUS_INPUT,
                  "--holdout %g: all %ju entries are held out, expected a smaller share", h->share,
                  (uintmax_t)known);
    TRY_OR(done, error->status);
    if (unlisted)
        TRY_OR(done, take_unlisted(t, h, error));
    t->listed.unknown += set->all_listed + set->all_unlisted;
    TRY_OR(done, rank_tensor_divide_rows(t, true, error));
    fill(t, place, before, error);
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    TRY_OR(done, comm_allreduce_max(t->comm, &set->exponent, error));
    if (set->exponent == INT_MIN)
        set->exponent = 0;
done:
    memory_free(chosen, place);
    return error->status;
}
