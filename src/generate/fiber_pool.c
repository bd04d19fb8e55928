#include "generate/fiber_pool.h"

#include <math.h>

#include "base/memory.h"

#define FIBERS_AT_ONCE 65536 /* drawn by one thread in a row                     */
#define FEW_RANKS      64    /* after these ranks a mass is nearly the density   */
#define FEW_FIBERS     (1 << 18)
#define ENOUGH         64               /* fibers a nonzero: with more, few are drawn twice     */
#define STREAM         (UINT64_MAX - 2) /* names the random stream of mode 0; mode n's is n less */
#define RANKS          (UINT64_MAX - 1 - MAX_ORDER - 1)

uint64_t fiber_pool_count(const struct generate_spec *spec)
{
    uint64_t enough = spec->nnz < FEW_FIBERS / ENOUGH ? FEW_FIBERS : ENOUGH * spec->nnz;
    return spec->skew.pool < enough ? spec->skew.pool : enough;
}

/* Indices of an even mode are used one after the other, in a random order. */
struct fiber_mode {
    struct index_range range;
    struct permutation even;
};

static uint64_t fiber_index(const struct fiber_mode *mode, int n, uint64_t fiber, uint64_t count,
                            uint64_t seed)
{
    const struct index_distribution *distribution = mode->range.distribution;
    struct random_stream stream = random_stream_at(seed, STREAM - (uint64_t)n, fiber);
    double mass;
    if (distribution->even)
        return permutation_apply(&mode->even,
                                 (uint64_t)((uint128)fiber * distribution->length / count));
    return index_range_draw(&mode->range, &stream, &mass);
}

static void draw_fibers(struct fiber_pool *pool, uint32_t modes, const struct alto_keys *line,
                        const struct fiber_mode *mode, uint64_t seed)
{
    uint64_t count = pool->position.count;
#pragma omp parallel for schedule(dynamic, FIBERS_AT_ONCE)
    for (uint64_t i = 0; i < count; i++) {
        coordinate_key position = 0;
        for (int n = 0; n < line->alto.order; n++)
            if (modes >> n & 1)
                position |= alto_keys_position(line, n, fiber_index(&mode[n], n, i, count, seed));
        coordinate_keys_set(&pool->position, i, position);
    }
}

/* The Zipf ranks of a pool. A large pool has fewer fibers in memory: a fiber of the upper half then
 * stands for several ranks and has their mass. */
struct fiber_ranks {
    double kept, ratio, exponent;
};

static struct fiber_ranks ranks_create(const struct generate_skew *skew, uint64_t count)
{
    double kept = (double)count / 2;
    return (struct fiber_ranks){kept, ((double)skew->pool - kept) / ((double)count - kept),
                                skew->pool_exponent};
}

static double rank_begin(const struct fiber_ranks *r, uint64_t rank)
{
    double at = (double)rank;
    return 1 + (at > r->kept ? r->kept + (at - r->kept) * r->ratio : at);
}

/* The mass of a rank, relative: the caller scales masses to the sum 1. */
static double rank_mass(const struct fiber_ranks *r, uint64_t rank)
{
    double begin = rank_begin(r, rank), end = rank_begin(r, rank + 1);
    if (r->exponent <= 0)
        return end - begin;
    return rank < FEW_RANKS ? zipf_mass(begin, end, r->exponent)
                            : (end - begin) * pow((begin + end) / 2, -r->exponent);
}

/* Which fibers are the frequent ones is random. */
static void sum_masses(struct fiber_pool *pool, const struct generate_skew *skew, uint64_t seed)
{
    uint64_t count = pool->position.count;
    struct fiber_ranks ranks = ranks_create(skew, count);
    struct permutation rank = permutation_create(count, random_stream_at(seed, RANKS, 0));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        pool->sum[i + 1] = rank_mass(&ranks, permutation_apply(&rank, i));
    pool->sum[0] = 0;
    for (uint64_t i = 0; i < count; i++)
        pool->sum[i + 1] += pool->sum[i];
    double all = pool->sum[count];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i <= count; i++)
        pool->sum[i] /= all;
}

enum status fiber_pool_create(struct fiber_pool *pool, const struct generate_spec *spec,
                              const struct alto_keys *line,
                              const struct index_distribution *distribution, uint64_t seed,
                              struct error *error)
{
    *pool = (struct fiber_pool){0};
    const struct generate_skew *skew = &spec->skew;
    uint64_t count = fiber_pool_count(spec);
    if (count == 0)
        return STATUS_OK;
    struct fiber_mode *mode = memory_zeros(MAX_ORDER, sizeof *mode, error);
    if (!mode)
        return error->status;
    TRY_OR(done, coordinate_keys_create(&pool->position, count, error));
    for (int n = 0; n < line->alto.order; n++) {
        index_range_create(&mode[n].range, &distribution[n], 0, distribution[n].length);
        mode[n].even = permutation_create(distribution[n].length,
                                          random_stream_at(seed, RANKS, (uint64_t)n + 1));
    }
    draw_fibers(pool, skew->pool_modes, line, mode, seed);
    TRY_OR(done, coordinate_keys_sort(&pool->position, line->alto.line_bits, error));
    pool->sum = memory_array(count + 1, sizeof *pool->sum, error);
    if (!pool->sum)
        goto done;
    sum_masses(pool, skew, seed);
done:
    memory_free(mode);
    if (error->status != STATUS_OK)
        fiber_pool_free(pool);
    return error->status;
}

void fiber_pool_free(struct fiber_pool *pool)
{
    coordinate_keys_free(&pool->position);
    memory_free(pool->sum);
    pool->sum = NULL;
}

uint64_t fiber_pool_find(const struct fiber_pool *pool, uint64_t first, uint64_t last,
                         coordinate_key position)
{
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (coordinate_keys_get(&pool->position, middle) < position)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}
