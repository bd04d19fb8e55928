#include "ranks/hold_out.h"

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

/* Makes room for `more` coordinates of this shape, after those that there are. *s is zeroed before
 * the first call. The caller frees it, on failure too. STATUS_MEMORY. */
static enum status unlisted_sample_grow(struct unlisted_sample *s, const struct shape *shape,
                                        uint64_t more, struct error *error)
{
    const uint64_t count = s->x.nnz, room = count + more;
    uint32_t coordinate[MAX_ORDER];
    s->x.shape = *shape;
    for (s->slots = 16; s->slots < 2 * room;)
        s->slots *= 2;
    memory_free(s->slot);
    s->slot = memory_zeros(s->slots, sizeof *s->slot, error);
    if (!s->slot)
        return error->status;
    for (int n = 0; n < shape->order; n++)
        TRY(memory_resize(&s->x.index[n], room, sizeof *s->x.index[n], error));
    TRY(memory_resize(&s->listed, room, sizeof *s->listed, error));
    for (uint64_t i = 0; i < count; i++) {
        coo_coordinates(&s->x, i, coordinate);
        *find(s, coordinate) = i + 1;
    }
    return STATUS_OK;
}

/* The arrays of a tensor in the caller's memory become the rank's own, which may be changed. */
static enum status own_arrays(struct rank_tensor *t, struct error *error)
{
    const struct coo lent = t->input.x;
    struct coo own;
    if (!t->borrowed)
        return STATUS_OK;
    TRY(coo_create(&own, &lent.shape, lent.nnz, error));
    coo_move(&own, 0, &lent, 0, lent.nnz);
    t->input.x = own;
    t->borrowed = false;
    return STATUS_OK;
}

/* Chooses the listed entries of this rank, and makes them unknown: t->held has their values, and
 * (*place)[0..held.listed) says where they are in the tensor. The caller frees *place. */
static enum status choose_listed(uint64_t **place, struct rank_tensor *t, const struct holdout *h,
                                 struct error *error)
{
    struct coo *x = &t->input.x;
    struct held_out *held = &t->held;
    uint64_t count = 0;
    bool *chosen = memory_array(x->nnz, sizeof *chosen, error);
    if (!chosen)
        return error->status;
    held->listed = holdout_choose(h, x, t->part.first, chosen);
    *place = memory_array(held->listed, sizeof **place, error);
    coo_create(&held->x, &x->shape, held->listed, error);
    TRY_OR(done, error->status);
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (!chosen[i])
            continue;
        (*place)[count] = i;
        held->x.value[count++] = x->value[i];
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

/* Offers the coordinates first to last - 1 of the sequence. */
static enum status offer(struct unlisted_sample *s, const struct rank_tensor *t,
                         const struct holdout *h, uint64_t first, uint64_t last,
                         struct error *error)
{
    uint64_t here = 0;
    uint32_t local[MAX_ORDER];
#pragma omp parallel for schedule(static) reduction(+ : here)
    for (uint64_t k = first; k < last; k++) {
        uint32_t at[MAX_ORDER];
        here += draw(t, h, k, at);
    }
    TRY(unlisted_sample_grow(s, &t->part.here, here, error));
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

static enum status sum_over_ranks(struct rank_tensor *t, uint64_t mine, uint64_t *all,
                                  struct error *error)
{
    double sum = (double)mine; /* exact: below 2^53 */
    TRY(comm_allreduce_error(t->comm, error));
    TRY(comm_allreduce_sum(t->comm, &sum, 1, error));
    *all = (uint64_t)sum;
    return STATUS_OK;
}

/* Appends the coordinates that are not listed, as unknown entries. */
static enum status append(struct coo *x, const struct unlisted_sample *s, struct error *error)
{
    uint64_t at = x->nnz, count = 0;
    for (uint64_t i = 0; i < s->x.nnz; i++)
        count += !s->listed[i];
    TRY(coo_resize(x, at + count, error));
    for (uint64_t i = 0; i < s->x.nnz; i++) {
        if (s->listed[i])
            continue;
        for (int n = 0; n < x->shape.order; n++)
            x->index[n][at] = s->x.index[n][i];
        x->value[at++] = COO_UNKNOWN;
    }
    return STATUS_OK;
}

/* Draws until as many are not listed as are held out, and appends them. The ranks draw the same
 * coordinates, and each keeps those of its part. */
static enum status take_unlisted(struct rank_tensor *t, const struct holdout *h,
                                 struct error *error)
{
    struct held_out *held = &t->held;
    struct unlisted_sample s = {0};
    uint64_t drawn = 0;
    for (int round = 0; round < ROUNDS && held->all_unlisted < held->all_listed; round++) {
        const uint64_t last = drawn + held->all_listed - held->all_unlisted;
        uint64_t mine = 0;
        if (offer(&s, t, h, drawn, last, error) == STATUS_OK) {
            const struct coo *x = &t->input.x;
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
        TRY_OR(done, sum_over_ranks(t, mine, &held->all_unlisted, error));
    }
    append(&t->input.x, &s, error);
done:
    coo_free(&s.x);
    memory_free(s.listed);
    memory_free(s.slot);
    return comm_allreduce_error(t->comm, error);
}

/* t->held gets the coordinates that the divided rows have, and the entries that were drawn, which
 * follow the first `before` ones of the tensor. */
static enum status fill(struct rank_tensor *t, const uint64_t *place, uint64_t before,
                        struct error *error)
{
    const struct coo *x = &t->input.x;
    struct held_out *held = &t->held;
    held->exponent = INT_MIN;
    TRY(coo_resize(&held->x, held->listed + x->nnz - before, error));
    held->x.shape = x->shape;
    for (uint64_t i = 0; i < held->x.nnz; i++) {
        const bool listed = i < held->listed;
        int exponent = INT_MIN;
        for (int n = 0; n < x->shape.order; n++)
            held->x.index[n][i] = x->index[n][listed ? place[i] : before + i - held->listed];
        held->x.value[i] = listed ? held->x.value[i] : 0;
        if (held->x.value[i] != 0)
            frexp(held->x.value[i], &exponent);
        held->exponent = exponent > held->exponent ? exponent : held->exponent;
    }
    return STATUS_OK;
}

enum status hold_out(struct rank_tensor *t, const struct holdout *h, bool unlisted,
                     struct error *error)
{
    struct held_out *held = &t->held;
    const uint64_t before = t->input.x.nnz;
    uint64_t *place = NULL;
    if (own_arrays(t, error) == STATUS_OK) {
        rank_tensor_take_hash(t);
        choose_listed(&place, t, h, error);
    }
    TRY_OR(done, sum_over_ranks(t, held->listed, &held->all_listed, error));
    const uint64_t known = t->nnz - t->listed.unknown;
    if (held->all_listed == 0)
        error_set(error, STATUS_INPUT,
                  "--holdout %g: none of the %ju entries is held out, expected a larger share",
                  h->share, (uintmax_t)known);
    else if (held->all_listed == known)
        error_set(error, STATUS_INPUT,
                  "--holdout %g: all %ju entries are held out, expected a smaller share", h->share,
                  (uintmax_t)known);
    TRY_OR(done, error->status);
    if (unlisted)
        TRY_OR(done, take_unlisted(t, h, error));
    t->listed.unknown += held->all_listed + held->all_unlisted;
    TRY_OR(done, rank_tensor_divide_rows(t, true, error));
    fill(t, place, before, error);
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    TRY_OR(done, comm_allreduce_max(t->comm, &held->exponent, error));
    if (held->exponent == INT_MIN)
        held->exponent = 0;
done:
    memory_free(place);
    return error->status;
}
