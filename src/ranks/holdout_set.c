#include "ranks/holdout_set.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "numerics/random_counter.h"
#include "tensor/coo.h"

#define ROUNDS 16 /* of drawing, at most: in a tensor that lists almost all, few are left */

/* Distinct coordinates of a tensor, and which of them it lists. */
struct unlisted_sample {
    struct coo x;   /* (x.nnz) distinct coordinates that were offered, without values */
    bool *listed;   /* (x.nnz): the tensor lists them; owned                          */
    uint64_t *slot; /* (slots): a hash table of them: 1 + the place in x, or 0; owned */
    uint64_t slots; /* a power of two                                                 */
};

/* The slot that has this coordinate, or the free one where it would go. */
static uint64_t *find(const struct unlisted_sample *s, const uint32_t *coordinate)
{
    const struct coo *x = &s->x;
    uint64_t hash[2] = {0, 0};
    for (int n = 0; n < x->shape.order; n++)
        random_words(0, hash[0], coordinate[n], hash);
    uint64_t at = hash[0] & (s->slots - 1);
    for (; s->slot[at] != 0; at = (at + 1) & (s->slots - 1)) {
        int n = 0;
        while (n < x->shape.order && x->index[n][s->slot[at] - 1] == coordinate[n])
            n++;
        if (n == x->shape.order)
            break;
    }
    return &s->slot[at];
}

/* Chooses the listed entries of this rank, and makes them unknown: t->holdout_set has their values,
 * and (*place)[0..holdout_set.listed) says where they are in the tensor. The caller frees *place.
 */
static enum status choose_listed(uint64_t **place, struct rank_tensor *t, const struct holdout *h,
                                 struct error *error)
{
    struct coo *x = &t->input.x;
    struct holdout_set *set = &t->holdout_set;
    uint64_t count = 0;
    bool *chosen = memory_array(x->nnz, sizeof *chosen, error);
    TRY(error->status);
    set->listed = holdout_choose(h, x, t->part.first, chosen);
    *place = memory_array(set->listed, sizeof **place, error);
    coo_create(&set->x, &x->shape, set->listed, error);
    TRY_OR(done, error->status);
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (!chosen[i])
            continue;
        (*place)[count] = i;
        set->x.value[count++] = x->value[i];
        x->value[i] = COO_UNKNOWN;
    }
done:
    memory_free(chosen);
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

/* Offers the coordinates first to last - 1 of the sequence. *s is zeroed before the first call; the
 * caller frees it, on failure too. */
static enum status offer(struct unlisted_sample *s, const struct rank_tensor *t,
                         const struct holdout *h, uint64_t first, uint64_t last,
                         struct error *error)
{
    const uint64_t before = s->x.nnz;
    uint64_t room = before;
    uint32_t local[MAX_ORDER];
#pragma omp parallel for schedule(static) reduction(+ : room)
    for (uint64_t k = first; k < last; k++) {
        uint32_t at[MAX_ORDER];
        room += draw(t, h, k, at);
    }
    s->x.shape = t->part.here;
    for (int n = 0; n < s->x.shape.order; n++)
        TRY(memory_resize(&s->x.index[n], room, sizeof *s->x.index[n], error));
    TRY(memory_resize(&s->listed, room, sizeof *s->listed, error));
    for (s->slots = 16; s->slots < 2 * room;)
        s->slots *= 2;
    memory_free(s->slot);
    s->slot = memory_zeros(s->slots, sizeof *s->slot, error);
    TRY(error->status);
    for (uint64_t i = 0; i < before; i++) {
        coo_coordinates(&s->x, i, local);
        *find(s, local) = i + 1;
    }
    for (uint64_t k = first; k < last; k++) {
        uint64_t *slot = draw(t, h, k, local) ? find(s, local) : NULL;
        if (!slot || *slot != 0) /* elsewhere, or there already */
            continue;
        for (int n = 0; n < s->x.shape.order; n++)
            s->x.index[n][s->x.nnz] = local[n];
        s->listed[s->x.nnz] = false;
        *slot = ++s->x.nnz;
    }
    return STATUS_OK;
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
        mine = 0;
        if (offer(&s, t, h, drawn, last, error) == STATUS_OK) {
#pragma omp parallel for schedule(static)
            for (uint64_t i = 0; i < x->nnz; i++) { /* entries of x are distinct */
                uint32_t coordinate[MAX_ORDER];
                coo_coordinates(x, i, coordinate);
                const uint64_t slot = *find(&s, coordinate);
                if (slot != 0)
                    s.listed[slot - 1] = true;
            }
            for (uint64_t i = 0; i < s.x.nnz; i++)
                mine += !s.listed[i];
        }
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
    memory_free(s.listed, s.slot);
    return comm_allreduce_error(t->comm, error);
}

/* t->holdout_set gets the coordinates that the divided rows have, and the entries that were drawn,
 * which follow the first `before` ones of the tensor. */
static enum status fill(struct rank_tensor *t, const uint64_t *place, uint64_t before,
                        struct error *error)
{
    const struct coo *x = &t->input.x;
    struct holdout_set *set = &t->holdout_set;
    set->exponent = INT_MIN;
    TRY(coo_resize(&set->x, set->listed + x->nnz - before, error));
    set->x.shape = x->shape;
    for (uint64_t i = 0; i < set->x.nnz; i++) {
        const bool listed = i < set->listed;
        int exponent = INT_MIN;
        for (int n = 0; n < x->shape.order; n++)
            set->x.index[n][i] = x->index[n][listed ? place[i] : before + i - set->listed];
        set->x.value[i] = listed ? set->x.value[i] : 0;
        if (set->x.value[i] != 0)
            frexp(set->x.value[i], &exponent);
        set->exponent = exponent > set->exponent ? exponent : set->exponent;
    }
    return STATUS_OK;
}

enum status holdout_set_take(struct rank_tensor *t, const struct holdout *h, bool unlisted,
                             struct error *error)
{
    struct holdout_set *set = &t->holdout_set;
    const uint64_t before = t->input.x.nnz;
    uint64_t *place = NULL;
    if (rank_tensor_own_arrays(t, error) == STATUS_OK) {
        rank_tensor_take_hash(t);
        if (unlisted)
            holdout_places_find(&set->places, &t->input.x, &t->part, h, t->comm, error);
        if (error->status == STATUS_OK)
            choose_listed(&place, t, h, error);
    }
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
    memory_free(place);
    return error->status;
}
