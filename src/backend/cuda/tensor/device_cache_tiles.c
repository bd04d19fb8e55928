#include "backend/cuda/tensor/device_cache_tiles.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_fibers.h"

/* Draws: at most 2^(MOST_DRAWS - 1), and one in FEW nonzeros, so that few are drawn again. */
#define MOST_DRAWS 27
#define FEW        4

static const char doing[] = "counting rows on the GPU";

/* The steps in which so many nonzeros are drawn: each doubles the draws. */
static int count_draws(uint64_t nnz)
{
    int draws = 0;
    while (draws < MOST_DRAWS && UINT64_C(1) << draws <= nnz / FEW)
        draws++;
    return draws;
}

/* fresh[k] (draws): as for cache_tile_misses, of the rows of mode g. */
static enum status draw(uint32_t *fresh, int draws, const struct device_coo *x, int g,
                        struct error *error)
{
    const struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    const uint64_t words = (x->shape.dims[g] + 63) / 64;
    const cudaStream_t stream = x->pool->stream;
    uint32_t *count = NULL;
    uint64_t *bits = device_pool_take(x->pool, words, sizeof *bits, error);
    if (!bits)
        goto done;
    count = device_pool_take(x->pool, MOST_DRAWS, sizeof *count, error);
    if (!count)
        goto done;
    TRY_OR(done, cuda_status(cudaMemsetAsync(bits, 0, words * sizeof *bits, stream), doing, error));
    TRY_OR(done, cuda_status(cudaMemsetAsync(count, 0, MOST_DRAWS * sizeof *count, stream), doing,
                             error));
    for (int k = 0; k < draws; k++) {
        const uint32_t last = UINT32_C(1) << k;
        TRY_OR(done, cuda_status(tuples_count_drawn(&nonzeros, g, last / 2, last, x->nnz, bits,
                                                    count + k, stream),
                                 doing, error));
    }
    device_fetch(fresh, count, MOST_DRAWS * sizeof *count, stream, doing, error);
done:
    device_pool_give(x->pool, bits);
    device_pool_give(x->pool, count);
    return error->status;
}

/* Pieces of fibers along mode g, and sums of every other mode. */
static enum status count_tuples(struct cache_tile_counts *counts,
                                const struct cache_tile_request *r, const struct device_coo *x,
                                int g, struct error *error)
{
    const int order = x->shape.order;
    struct tuples_parts parts = {.order = order, .kinds = order};
    for (int n = 0; n < order; n++) {
        for (int k = 0; k < order && n != g; k++)
            parts.dropped[n][k] = k == n ? 0 : TUPLES_ALL_BITS;
        parts.dropped[n][g] = (unsigned char)cache_tile_bits(r);
    }
    TRY(device_fibers_count_parts(counts->sums[g], &parts, x, error));
    counts->pieces[g] = counts->sums[g][g];
    counts->sums[g][g] = 0;
    return STATUS_OK;
}

/* *counts of x, whose shape and nonzeros those of r are. */
static enum status count_all(struct cache_tile_counts *counts, const struct cache_tile_request *r,
                             const struct device_coo *x, struct error *error)
{
    const int draws = count_draws(x->nnz);
    memset(counts, 0, sizeof *counts);
    TRY(device_fibers_count(counts->fibers, x, error));
    for (int g = 0; g < x->shape.order; g++) {
        uint32_t fresh[MOST_DRAWS];
        if (!cache_tile_may(r, g))
            continue;
        TRY(count_tuples(counts, r, x, g, error));
        TRY(draw(fresh, draws, x, g, error));
        counts->misses[g] = cache_tile_misses(r, fresh, draws);
    }
    return STATUS_OK;
}

enum status device_cache_tiles_choose(struct tile *tile, const struct cache_tile_request *r,
                                      const bool *ordered, const int *lowest,
                                      const struct device_coo *x, struct error *error)
{
    struct cache_tile_counts counts;
    bool open[MAX_ORDER], any = false;
    for (int n = 0; n < x->shape.order; n++) {
        open[n] = ordered[n] && tile[n].modes == 0 && cache_tile_open(r, n);
        any |= open[n];
    }
    if (!any || count_all(&counts, r, x, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < x->shape.order; n++)
        if (open[n])
            cache_tile_choose(&tile[n], r, &counts, n, lowest[n]);
    return STATUS_OK;
}
