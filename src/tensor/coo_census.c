#include "tensor/coo_census.h"

#include <omp.h>

#include "base/memory.h"

#define PARTS 16 /* of a mode's slices, at most: each thread that counts some reads all indices */
#define SHORT 4  /* a mode is short where so many nonzeros or more are counted by each counter  */

/* A census under way. */
struct census_taker {
    struct coo_census *census;
    const struct shape *shape;
    uint64_t stride; /* every stride-th nonzero is in the sample               */
    uint64_t every;  /* every every-th nonzero counts, as `every` nonzeros     */
    uint64_t seen;   /* nonzeros of the pieces so far                          */
    uint64_t taken;  /* nonzeros of the sample so far                          */
};

/* Counts one mode. */
static enum status count_mode(const uint32_t *index, uint64_t nnz, uint64_t first, uint64_t every,
                              uint64_t *count, uint64_t slices, struct error *error)
{
    const int parts = omp_get_max_threads() < PARTS ? omp_get_max_threads() : PARTS;
    const bool is_short = slices * (uint64_t)parts <= nnz / every / SHORT;
    uint64_t *own = memory_zeros(is_short ? slices * (uint64_t)parts : 0, sizeof *own, error);
    TRY(error->status);
#pragma omp parallel for schedule(dynamic)
    for (int k = 0; k < parts; k++) {
        const uint64_t steps = nnz > first ? (nnz - first + every - 1) / every : 0;
        const struct slice_share share = slice_share(is_short, k, parts, steps, slices);
        uint64_t *to = is_short ? own + (uint64_t)k * slices : count;
        for (uint64_t i = share.begin; i < share.end; i++) {
            const uint64_t slice = index[first + i * every];
            if (slice - share.first < share.count)
                to[slice] += every;
        }
    }
    for (int k = 0; k < parts && is_short; k++)
        for (uint64_t i = 0; i < slices; i++)
            count[i] += own[(uint64_t)k * slices + i];
    memory_free(own);
    return STATUS_OK;
}

enum status coo_count_slices(const struct coo *x, const struct shape *shape, uint64_t first,
                             uint64_t every, uint64_t *const *count, struct error *error)
{
    for (int n = 0; n < shape->order; n++)
        if (count[n])
            TRY(count_mode(x->index[n], x->nnz, first, every, count[n], shape->dims[n], error));
    return STATUS_OK;
}

/* The first nonzero of the next piece whose number in the tensor is a multiple of `stride`. */
static uint64_t first_of(const struct census_taker *t, uint64_t stride)
{
    return (stride - t->seen % stride) % stride;
}

static enum status take(void *context, struct coo *piece, struct error *error)
{
    struct census_taker *t = context;
    TRY(coo_count_slices(piece, t->shape, first_of(t, t->every), t->every, t->census->count,
                         error));
    struct coo *sample = &t->census->sample;
    for (uint64_t i = first_of(t, t->stride); i < piece->nnz; i += t->stride) {
        coo_put(sample, t->taken++, piece, i);
    }
    t->seen += piece->nnz;
    return STATUS_OK;
}

uint64_t coo_census_stride(uint64_t nnz, uint64_t most)
{
    return nnz > most ? (nnz + most - 1) / most : 1;
}

enum status coo_pieces_census(const struct coo_pieces *pieces, uint64_t stride, uint64_t every,
                              struct coo_census *c, struct error *error)
{
    struct census_taker t = {
        .census = c, .shape = &pieces->shape, .stride = stride, .every = every};
    uint64_t sampled = (pieces->nnz + stride - 1) / stride;
    *c = (struct coo_census){0};
    for (int n = 0; n < t.shape->order; n++) {
        c->count[n] = memory_zeros(pieces->shape.dims[n], sizeof *c->count[n], error);
        TRY_OR(done, error->status);
    }
    TRY_OR(done, coo_create(&c->sample, &pieces->shape, sampled, error));
    pieces->each(pieces->pieces, take, &t, error);
done:
    if (error->status != STATUS_OK)
        coo_census_free(c);
    return error->status;
}

void coo_census_free(struct coo_census *c)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(c->count[n]);
    coo_free(&c->sample);
    *c = (struct coo_census){0};
}
