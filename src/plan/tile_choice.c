#include "plan/tile_choice.h"

#include <math.h>

#include "numerics/fiber_sample.h"
#include "numerics/tile_rows.h"

/* Tiles pay where each partial sum is of so many nonzeros on average, and where loading the tiles
 * costs little beside the nonzeros: a thread block fills its shared memory for so many, at least.
 * Measured on an H200: uber, with 24000 nonzeros for a tile, loses by tiles, enron with 414000
 * gains. */
#define NONZEROS_PER_SUM  30
#define NONZEROS_PER_LOAD 100000
#define SPANS             128 /* thread blocks of a GPU, about; each loads a tile at least once */

/* Rows of a mode shorter than a tile stay in the caches anyway. Of longer modes, the shortest has
 * the fewest tiles and so the longest partial sums. */
static bool is_better(uint64_t length, uint64_t than, uint64_t tile)
{
    if (length < tile || than < tile)
        return length > than;
    return length < than;
}

/* The tiles of all tiled modes together, at most. */
static double count_tiles(const struct tile *tile, const uint64_t *dims)
{
    double tiles = 1;
    for (int k = 0; k < tile->modes; k++)
        tiles *= (double)dims[tile->mode[k]] / exp2(tile->bits) + 1;
    return tiles;
}

/* Partial sums of `mode`, at most. */
static double partial_sums(const struct tile_request *r, int mode, const struct tile *tile)
{
    return count_tiles(tile, r->shape->dims) * (double)r->shape->dims[mode];
}

/* From one pair of tiles to the next, only one of the two is loaded. */
static bool pays(const struct tile_request *r, int mode, const struct tile *tile)
{
    const double nnz = (double)r->nnz, sums = partial_sums(r, mode, tile);
    const double loads = (count_tiles(tile, r->shape->dims) + SPANS) / tile->modes;
    return nnz >= NONZEROS_PER_SUM * sums && nnz >= NONZEROS_PER_LOAD * loads &&
           sums * (double)r->row_bytes <= (double)r->room;
}

/* Where the tiles of two longer modes pay, each of half the rows, they save one more gather: those
 * with the fewest partial sums. The tiles of the shorter mode are above: fewer of them are loaded
 * again. */
static void choose_two(struct tile *tile, const struct tile_request *r, int mode, uint64_t rows)
{
    const uint64_t *dims = r->shape->dims;
    double least = INFINITY;
    for (int n = 0; n < r->shape->order; n++)
        for (int k = 0; k < r->shape->order; k++) {
            const struct tile candidate = {
                .modes = 2, .mode = {n, k}, .bits = ordering_bits(rows) - 1};
            const double sums = partial_sums(r, mode, &candidate);
            const bool of_others = n != mode && k != mode && n != k;
            if (of_others && rows / 2 < dims[n] && dims[n] <= dims[k] && sums < least &&
                pays(r, mode, &candidate)) {
                *tile = candidate;
                least = sums;
            }
        }
}

uint64_t tile_choose(struct tile *tile, const struct tile_request *r, int mode)
{
    const uint64_t rows = tile_rows(r->row_bytes / VECTOR_BYTES);
    *tile = (struct tile){0};
    if (ordering_line_bits(r->shape) > 64) /* the kernel takes no other indices */
        return 0;
    if (r->forced > 0) {
        tile->bits = 2;
        for (; tile->modes < r->forced && tile->modes < r->shape->order - 1; tile->modes++)
            tile->mode[tile->modes] = (mode + 1 + tile->modes) % r->shape->order;
        return 0;
    }
    for (int n = 0; n < r->shape->order; n++) { /* the tiles of one mode that pay most */
        const struct tile candidate = {.modes = 1, .mode = {n}, .bits = ordering_bits(rows)};
        const uint64_t *dims = r->shape->dims;
        if (n != mode && pays(r, mode, &candidate) &&
            (tile->modes == 0 || is_better(dims[n], dims[tile->mode[0]], rows)))
            *tile = candidate;
    }
    choose_two(tile, r, mode, rows);
    if (tile->modes == 0)
        return 0;
    return (uint64_t)(partial_sums(r, mode, tile) * (double)r->row_bytes);
}

uint64_t tile_choose_all(struct tile *tile, const struct plan *plan, const struct shape *shape,
                         uint64_t nnz, const bool *ordered)
{
    struct tile_request r = {.shape = shape,
                             .nnz = nnz,
                             .row_bytes = plan->request.row_bytes,
                             .forced = plan->request.forced.tiles};
    const bool may = plan->request.tiles && plan->request.conflict == CONFLICT_AUTO;
    uint64_t bytes = 0;
    if (plan->request.budget > plan->total_bytes)
        r.room = plan->request.budget - plan->total_bytes;
    for (int n = 0; n < shape->order; n++) {
        tile[n] = (struct tile){0};
        if (!may || !ordered[n])
            continue;
        const uint64_t sums = tile_choose(&tile[n], &r, n);
        r.room -= sums;
        bytes += sums;
    }
    return bytes;
}

uint64_t tile_length(const struct tile *tile, uint64_t length)
{
    const int bits = ordering_bits(length);
    return UINT64_C(1) << (tile->bits < bits ? tile->bits : bits);
}

/* A factor matrix of so many bytes of the cache, at least: the cache holds most of what is gathered
 * from a smaller one, in any order. */
#define FAR_LARGER 2

/* Times are compared as bytes of device memory. A row that comes from the L2 cache takes the time
 * of half a row from memory; where it comes from memory, both count. An atomic addition reads a row
 * of M and writes it. Also in tiles some gathers miss: the first of each row, and some because
 * other rows take room in the cache. */
#define CACHE_COST    0.5
#define ADDITION_COST 2
#define TILE_MISSES   0.1

/* Of the time without tiles, at most: what is expected is not exact. */
#define WORTH 0.9

void cache_tile_request(struct cache_tile_request *r, const struct plan *plan,
                        const struct shape *shape, uint64_t nnz)
{
    const struct plan_request *q = &plan->request;
    *r = (struct cache_tile_request){.shape = shape,
                                     .nnz = nnz,
                                     .row_bytes = q->row_bytes,
                                     .cache_bytes = q->cache_bytes,
                                     .forced = q->forced.cache_tiles};
    if (q->forced.cache_bytes)
        r->cache_bytes = q->forced.cache_bytes;
    if (q->conflict != CONFLICT_AUTO)
        r->cache_bytes = 0;
}

static uint64_t tile_rows_most(const struct cache_tile_request *r)
{
    const uint64_t rows = r->cache_bytes / 2 / r->row_bytes;
    return rows > 0 ? rows : 1;
}

int cache_tile_bits(const struct cache_tile_request *r)
{
    const uint64_t rows = tile_rows_most(r);
    int bits = 0;
    while (bits < 31 && UINT64_C(2) << bits <= rows)
        bits++;
    return bits;
}

bool cache_tile_may(const struct cache_tile_request *r, int g)
{
    const uint64_t length = r->shape->dims[g];
    const int bits = ordering_bits(length), tile = cache_tile_bits(r);
    const int upper = bits > tile ? bits - tile : 0;
    if (r->cache_bytes == 0 || ordering_line_bits(r->shape) - upper > 64)
        return false;
    if (r->forced != 0)
        return g == r->forced - 1;
    return (double)length * (double)r->row_bytes > FAR_LARGER * (double)r->cache_bytes;
}

bool cache_tile_open(const struct cache_tile_request *r, int n)
{
    for (int g = 0; g < r->shape->order; g++)
        if (g != n && cache_tile_may(r, g))
            return true;
    return false;
}

double cache_tile_misses(const struct cache_tile_request *r, const uint32_t *fresh, int draws)
{
    uint64_t rows = 0;
    for (int k = 0; k + 1 < draws; k++) {
        rows += fresh[k];
        if (rows >= tile_rows_most(r))
            return (double)fresh[k + 1] / (double)(UINT64_C(1) << k);
    }
    return 0;
}

/* Rows that MTTKRP of `mode` gathers, adds and stores in tiles of mode g, or in none (-1), in the
 * time of so many from memory. Neighbours in a fiber along the lowest mode gather the rows of the
 * other modes from a cache that is near. */
static double cost(const struct cache_tile_request *r, const struct cache_tile_counts *c, int mode,
                   int lowest, int g)
{
    const struct shape *shape = r->shape;
    const double fibers = g >= 0 && g == lowest ? c->pieces[g] : c->fibers[lowest];
    double rows = (double)shape->dims[mode];
    if (g >= 0)
        rows += ADDITION_COST * c->sums[g][mode];
    for (int n = 0; n < shape->order; n++) {
        const double gathers = n == lowest ? (double)r->nnz : fibers;
        const double in_tiles = TILE_MISSES + (double)shape->dims[n] / (double)r->nnz;
        const double misses = n == g ? fmin(in_tiles, c->misses[n]) : c->misses[n];
        if (n != mode)
            rows += gathers * (CACHE_COST + misses);
    }
    return rows;
}

void cache_tile_choose(struct tile *tile, const struct cache_tile_request *r,
                       const struct cache_tile_counts *counts, int mode, int lowest)
{
    *tile = (struct tile){0};
    if (r->shape->order < 2)
        return;
    if (lowest < 0) { /* the ordering of the mode has the longest of the other modes lowest */
        lowest = mode == 0 ? 1 : 0;
        for (int n = lowest; n < r->shape->order; n++)
            if (n != mode && r->shape->dims[n] >= r->shape->dims[lowest])
                lowest = n;
    }
    double least = WORTH * cost(r, counts, mode, lowest, -1);
    for (int g = 0; g < r->shape->order; g++) {
        if (g == mode || !cache_tile_may(r, g))
            continue;
        const double in_tiles = cost(r, counts, mode, lowest, g);
        if (r->forced == 0 && in_tiles > least)
            continue;
        *tile =
            (struct tile){.modes = 1, .mode = {g}, .bits = cache_tile_bits(r), .in_cache = true};
        least = in_tiles;
    }
}

#define MAP_BITS (UINT64_C(1) << FIBER_MAP_BITS)
#define CROWDED  4 /* one in so many bits may be marked */

/* So many of the longest mode's fibers, at most: sorting then takes longer. */
#define FEWER_FIBERS 0.8

int fiber_skipped_bits(uint64_t nnz)
{
    int skipped = 0;
    while (nnz >> skipped > MAP_BITS / CROWDED)
        skipped++;
    return skipped;
}

/* Several fibers may have marked one bit: linear counting (Whang, Vander-Zanden, Taylor; ACM
 * Transactions on Database Systems 15, 1990). */
double fiber_estimate(uint64_t marked, int skipped)
{
    const double bits = (double)MAP_BITS;
    return -bits * log1p(-(double)marked / bits) * exp2(skipped);
}

bool fiber_choice_open(int order, const bool *ordered, const struct tile *tile)
{
    for (int n = 0; n < order; n++)
        if (ordered[n] && order - tile[n].modes > 2)
            return true;
    return false;
}

int fiber_lowest(int mode, const struct tile *tile, const struct shape *shape, const double *fibers)
{
    int longest = -1, best = -1;
    for (int n = 0; n < shape->order; n++) {
        if (n == mode || tile_has(tile, n))
            continue;
        if (longest < 0 || shape->dims[n] >= shape->dims[longest])
            longest = n;
        if (best < 0 || fibers[n] < fibers[best])
            best = n;
    }
    return best >= 0 && fibers[best] <= FEWER_FIBERS * fibers[longest] ? best : -1;
}
