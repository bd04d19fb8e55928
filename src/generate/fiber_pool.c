#include "generate/fiber_pool.h"

#include <math.h>

#include "base/memory.h"

#define CHUNK      65536 /* tuples that are drawn by one thread in a row                */
#define FEW_RANKS  64    /* behind these a rank's share is the density, nearly          */
#define FEW_TUPLES (1 << 18)
#define ENOUGH     64 /* for each nonzero: of more of them hardly any is chosen twice */
#define STREAM     (UINT64_MAX - 2) /* names the random streams of mode 0's indices     */
#define RANKS      (UINT64_MAX - 1 - MAX_ORDER - 1)

uint64_t fiber_pool_count(const struct generate_skew *skew, uint64_t nnz)
{
    uint64_t enough = nnz < FEW_TUPLES / ENOUGH ? FEW_TUPLES : ENOUGH * nnz;
    return skew->pool < enough ? skew->pool : enough;
}

/* Even modes are used in order, but each in an order of its own. */
struct tuple_mode {
    struct index_range range;
    struct permutation even;
};

static uint64_t tuple_index(const struct tuple_mode *mode, int n, uint64_t tuple, uint64_t count,
                            uint64_t seed)
{
    const struct index_distribution *law = mode->range.law;
    struct random_stream stream = random_stream_at(seed, STREAM - (uint64_t)n, tuple);
    double share;
    if (law->even)
        return permutation_apply(&mode->even,
                                 (uint64_t)((coordinate_key)tuple * law->length / count));
    return index_range_draw(&mode->range, &stream, &share);
}

static void draw_tuples(struct fiber_pool *pool, uint32_t modes, const struct alto_keys *line,
                        const struct tuple_mode *mode, uint64_t seed)
{
    uint64_t count = pool->place.count;
#pragma omp parallel for schedule(dynamic, CHUNK)
    for (uint64_t i = 0; i < count; i++) {
        coordinate_key place = 0;
        for (int n = 0; n < line->alto.order; n++)
            if (modes >> n & 1)
                place |= alto_keys_place(line, n, tuple_index(&mode[n], n, i, count, seed));
        coordinate_keys_set(&pool->place, i, place);
    }
}

/* The ranks of a pool, of which fewer are in memory where it is large: those of the second half
 * stand for several, and for their shares. */
struct tuple_ranks {
    double kept, ratio, exponent;
};

static struct tuple_ranks ranks_create(const struct generate_skew *skew, uint64_t count)
{
    double kept = (double)count / 2;
    return (struct tuple_ranks){kept, ((double)skew->pool - kept) / ((double)count - kept),
                                skew->pool_exponent};
}

static double rank_begin(const struct tuple_ranks *r, uint64_t rank)
{
    double at = (double)rank;
    return 1 + (at > r->kept ? r->kept + (at - r->kept) * r->ratio : at);
}

/* Relative to a whole that the caller makes 1. */
static double rank_share(const struct tuple_ranks *r, uint64_t rank)
{
    double begin = rank_begin(r, rank), end = rank_begin(r, rank + 1);
    if (r->exponent <= 0)
        return end - begin;
    return rank < FEW_RANKS ? zipf_mass(begin, end, r->exponent)
                            : (end - begin) * pow((begin + end) / 2, -r->exponent);
}

/* Which tuples are the frequent ones is random. */
static void sum_shares(struct fiber_pool *pool, const struct generate_skew *skew, uint64_t seed)
{
    uint64_t count = pool->place.count;
    struct tuple_ranks ranks = ranks_create(skew, count);
    struct permutation rank = permutation_create(count, random_stream_at(seed, RANKS, 0));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        pool->sum[i + 1] = rank_share(&ranks, permutation_apply(&rank, i));
    pool->sum[0] = 0;
    for (uint64_t i = 0; i < count; i++)
        pool->sum[i + 1] += pool->sum[i];
    double all = pool->sum[count];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i <= count; i++)
        pool->sum[i] /= all;
}

enum status fiber_pool_create(struct fiber_pool *pool, const struct generate_skew *skew,
                              const struct alto_keys *line, const struct index_distribution *law,
                              uint64_t nnz, uint64_t seed, struct error *error)
{
    *pool = (struct fiber_pool){0};
    uint64_t count = fiber_pool_count(skew, nnz);
    if (count == 0)
        return STATUS_OK;
    struct tuple_mode *mode = memory_zeros(MAX_ORDER, sizeof *mode, error);
    if (!mode || coordinate_keys_create(&pool->place, count, error) != STATUS_OK)
        goto done;
    for (int n = 0; n < line->alto.order; n++) {
        index_range_create(&mode[n].range, &law[n], 0, law[n].length);
        mode[n].even =
            permutation_create(law[n].length, random_stream_at(seed, RANKS, (uint64_t)n + 1));
    }
    draw_tuples(pool, skew->pool_modes, line, mode, seed);
    if (coordinate_keys_sort(&pool->place, line->alto.line_bits, error) != STATUS_OK ||
        !(pool->sum = memory_array(count + 1, sizeof *pool->sum, error)))
        goto done;
    sum_shares(pool, skew, seed);
done:
    memory_free(mode);
    if (error->status != STATUS_OK)
        fiber_pool_free(pool);
    return error->status;
}

void fiber_pool_free(struct fiber_pool *pool)
{
    coordinate_keys_free(&pool->place);
    memory_free(pool->sum);
    pool->sum = NULL;
}

uint64_t fiber_pool_find(const struct fiber_pool *pool, uint64_t first, uint64_t last,
                         coordinate_key place)
{
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (coordinate_keys_get(&pool->place, middle) < place)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}
