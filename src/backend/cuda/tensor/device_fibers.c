#include "backend/cuda/tensor/device_fibers.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/tensor/tuples.h"
#include "numerics/fiber_sample.h"

static const char doing[] = "counting fibers on the GPU";

/* tuples[k] (kinds) = the number of tuples of each kind, as device_fibers_count. */
static enum status count_parts(double *tuples, const struct tuples_parts *parts,
                               const struct device_coo *x, struct error *error)
{
    const uint64_t kinds = (uint64_t)parts->kinds, words = kinds * FIBER_MAP_WORDS;
    const int skipped = fiber_skipped_bits(x->nnz);
    const struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    const cudaStream_t stream = x->pool->stream;
    uint32_t marked[MAX_ORDER];
    /* the bits, and after them the counts */
    uint64_t *bits = device_pool_take(x->pool, words + kinds, sizeof *bits, error);
    TRY(error->status);
    uint32_t *count = (uint32_t *)(bits + words);
    TRY_OR(done, cuda_status(cudaMemsetAsync(bits, 0, (words + kinds) * sizeof *bits, stream),
                             doing, error));
    TRY_OR(done,
           cuda_status(tuples_count_parts(&nonzeros, parts, skipped, x->nnz, bits, count, stream),
                       doing, error));
    TRY_OR(done, device_fetch(marked, count, kinds * sizeof *count, stream, doing, error));
    for (uint64_t k = 0; k < kinds; k++)
        tuples[k] = fiber_estimate(marked[k], skipped);
done:
    device_pool_give(x->pool, bits);
    return error->status;
}

enum status device_fibers_count(double *fibers, const struct device_coo *x, struct error *error)
{
    struct tuples_parts parts = {.order = x->shape.order, .kinds = x->shape.order};
    for (int n = 0; n < x->shape.order; n++)
        parts.dropped[n][n] = TUPLES_ALL_BITS;
    return count_parts(fibers, &parts, x, error);
}

/* Draws: at most 2^(MOST_DRAWS - 1), and one in FEW nonzeros, so that few are drawn again. */
#define MOST_DRAWS 27
#define FEW        4

static const char drawing[] = "counting rows on the GPU";

/* fresh[k] (draws): as for cache_tile_misses, of the rows of mode g. */
static enum status draw(uint32_t *fresh, int draws, const struct device_coo *x, int g,
                        struct error *error)
{
    const struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    const uint64_t words = (x->shape.dims[g] + 63) / 64;
    const cudaStream_t stream = x->pool->stream;
    /* the bits, and after them the counts */
    uint64_t *bits = device_pool_take(x->pool, words + MOST_DRAWS, sizeof *bits, error);
    TRY(error->status);
    uint32_t *count = (uint32_t *)(bits + words);
    TRY_OR(done, cuda_status(cudaMemsetAsync(bits, 0, (words + MOST_DRAWS) * sizeof *bits, stream),
                             drawing, error));
    for (int k = 0; k < draws; k++) {
        const uint32_t last = UINT32_C(1) << k;
        TRY_OR(done, cuda_status(tuples_count_drawn(&nonzeros, g, last / 2, last, x->nnz, bits,
                                                    count + k, stream),
                                 drawing, error));
    }
    device_fetch(fresh, count, MOST_DRAWS * sizeof *count, stream, drawing, error);
done:
    device_pool_give(x->pool, bits);
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
    TRY(count_parts(counts->sums[g], &parts, x, error));
    counts->pieces[g] = counts->sums[g][g];
    counts->sums[g][g] = 0;
    return STATUS_OK;
}

enum status device_cache_tiles_choose(struct tile *tile, const struct cache_tile_request *r,
                                      const bool *ordered, const int *lowest,
                                      const struct device_coo *x, struct error *error)
{
    struct cache_tile_counts counts = {0};
    bool open[MAX_ORDER], any = false;
    int draws = 0; /* steps in which nonzeros are drawn: each doubles the draws */
    for (int n = 0; n < x->shape.order; n++) {
        open[n] = ordered[n] && tile[n].modes == 0 && cache_tile_open(r, n);
        any |= open[n];
    }
    if (!any)
        return STATUS_OK;
    while (draws < MOST_DRAWS && UINT64_C(1) << draws <= x->nnz / FEW)
        draws++;
    TRY(device_fibers_count(counts.fibers, x, error));
    for (int g = 0; g < x->shape.order; g++) {
        uint32_t fresh[MOST_DRAWS];
        if (!cache_tile_may(r, g))
            continue;
        TRY(count_tuples(&counts, r, x, g, error));
        TRY(draw(fresh, draws, x, g, error));
        counts.misses[g] = cache_tile_misses(r, fresh, draws);
    }
    for (int n = 0; n < x->shape.order; n++)
        if (open[n])
            cache_tile_choose(&tile[n], r, &counts, n, lowest[n]);
    return STATUS_OK;
}
