#include "ranks/rank_census.h"

#include <string.h>

#include "base/memory.h"

#define SAMPLE UINT64_C(200000)    /* nonzeros, about */
#define CHUNK  ((uint64_t)1 << 18) /* rows whose counts are summed at a time */

/* Nonzeros of all ranks that are counted, at most: enough for cuts to be even. */
#define COUNTED (UINT64_C(1) << 28)

/* Counts are whole numbers below 2^53, so that sums of doubles are exact. */
static enum status sum_counts(struct comm *c, uint64_t *count, uint64_t rows, double *chunk,
                              struct error *error)
{
    for (uint64_t first = 0; first < rows && error->status == STATUS_OK; first += CHUNK) {
        uint64_t some = rows - first < CHUNK ? rows - first : CHUNK;
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < some; i++)
            chunk[i] = (double)count[first + i];
        comm_allreduce_sum(c, chunk, some, error);
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < some; i++)
            count[first + i] = (uint64_t)chunk[i];
    }
    return error->status;
}

static enum status sum_modes(struct share *s, struct comm *c, struct coo_census *census,
                             struct error *error)
{
    double *chunk = memory_array(CHUNK, sizeof *chunk, error);
    comm_allreduce_error(c, error);
    for (int n = 0; n < s->shape.order && error->status == STATUS_OK; n++)
        sum_counts(c, census->count[n], s->shape.dims[n], chunk, error);
    memory_free(chunk);
    return error->status;
}

/* *mine is where this rank's sample begins among all ranks' samples, *all is how many there are. */
static enum status place_sample(struct comm *c, uint64_t nnz, uint64_t *mine, uint64_t *all,
                                struct error *error)
{
    *mine = *all = 0;
    for (int k = 0; k < c->size; k++) {
        uint64_t its = nnz;
        if (comm_bcast(c, k, &its, sizeof its, error) != STATUS_OK)
            return error->status;
        *mine += k < c->rank ? its : 0;
        *all += its;
    }
    return STATUS_OK;
}

/* Rank k's part of an array, which begins at `first`, goes to all. */
static enum status spread(struct comm *c, int k, void *array, uint64_t first, uint64_t count,
                          size_t size, struct error *error)
{
    return comm_bcast(c, k, (char *)array + first * size, count * size, error);
}

/* `own` nonzeros from `mine` on are this rank's. */
static enum status spread_sample(struct comm *c, struct coo *sample, uint64_t mine, uint64_t own,
                                 struct error *error)
{
    for (int k = 0; k < c->size && error->status == STATUS_OK; k++) {
        uint64_t its[2] = {mine, own};
        comm_bcast(c, k, its, sizeof its, error);
        for (int n = 0; n < sample->shape.order && error->status == STATUS_OK; n++)
            spread(c, k, sample->index[n], its[0], its[1], sizeof *sample->index[n], error);
        if (error->status == STATUS_OK)
            spread(c, k, sample->value, its[0], its[1], sizeof *sample->value, error);
    }
    return error->status;
}

/* The samples of all ranks, in their order, take the place of this rank's. */
static enum status gather_sample(struct comm *c, struct coo *sample, struct error *error)
{
    struct coo whole = {0};
    uint64_t mine, all, own = sample->nnz;
    if (place_sample(c, own, &mine, &all, error) != STATUS_OK)
        return error->status;
    if (coo_create(&whole, &sample->shape, all, error) == STATUS_OK) {
        for (int n = 0; n < sample->shape.order; n++)
            memcpy(whole.index[n] + mine, sample->index[n], own * sizeof *whole.index[n]);
        memcpy(whole.value + mine, sample->value, own * sizeof *whole.value);
    }
    if (comm_allreduce_error(c, error) == STATUS_OK)
        spread_sample(c, &whole, mine, own, error);
    coo_free(sample);
    *sample = whole;
    return error->status;
}

enum status rank_census(struct share *s, struct comm *c, struct coo_census *census,
                        struct error *error)
{
    struct coo_pieces pieces = share_pieces(s);
    uint64_t stride = s->total > SAMPLE ? (s->total + SAMPLE - 1) / SAMPLE : 1;
    uint64_t every = s->total > COUNTED ? (s->total + COUNTED - 1) / COUNTED : 1;
    coo_pieces_census_every(&pieces, stride, every, census, error);
    if (comm_allreduce_error(c, error) != STATUS_OK || sum_modes(s, c, census, error) != STATUS_OK ||
        gather_sample(c, &census->sample, error) != STATUS_OK)
        coo_census_free(census);
    return error->status;
}
