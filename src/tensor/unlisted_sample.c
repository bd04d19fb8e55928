#include "tensor/unlisted_sample.h"

#include "base/memory.h"
#include "numerics/random_counter.h"

static uint64_t hash_of(const uint32_t *coordinate, int order)
{
    uint64_t word[2] = {0, 0};
    for (int n = 0; n < order; n++)
        random_words(0, word[0], coordinate[n], word);
    return word[0];
}

static bool is_at(const struct coo *x, uint64_t i, const uint32_t *coordinate)
{
    int n = 0;
    while (n < x->shape.order && x->index[n][i] == coordinate[n])
        n++;
    return n == x->shape.order;
}

/* The slot that has this coordinate, or the free one where it would go. */
static uint64_t *find(const struct unlisted_sample *s, const uint32_t *coordinate)
{
    uint64_t at = hash_of(coordinate, s->x.shape.order) & (s->slots - 1);
    while (s->slot[at] != 0 && !is_at(&s->x, s->slot[at] - 1, coordinate))
        at = (at + 1) & (s->slots - 1);
    return &s->slot[at];
}

enum status unlisted_sample_grow(struct unlisted_sample *s, const struct shape *shape,
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

void unlisted_sample_offer(struct unlisted_sample *s, const uint32_t *coordinate)
{
    uint64_t *slot = find(s, coordinate);
    if (*slot != 0)
        return;
    for (int n = 0; n < s->x.shape.order; n++)
        s->x.index[n][s->x.nnz] = coordinate[n];
    s->listed[s->x.nnz] = false;
    *slot = ++s->x.nnz;
}

uint64_t unlisted_sample_check(struct unlisted_sample *s, const struct coo *x)
{
    uint64_t left = 0;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) { /* entries of x are distinct */
        uint32_t coordinate[MAX_ORDER];
        coo_coordinates(x, i, coordinate);
        const uint64_t slot = *find(s, coordinate);
        if (slot != 0)
            s->listed[slot - 1] = true;
    }
    for (uint64_t i = 0; i < s->x.nnz; i++)
        left += !s->listed[i];
    return left;
}

void unlisted_sample_free(struct unlisted_sample *s)
{
    coo_free(&s->x);
    memory_free(s->listed);
    memory_free(s->slot);
    *s = (struct unlisted_sample){0};
}
