#include "plan/cache_tile_choice.h"

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

/* What is lowest in the ordering `mode`. */
static int lowest_mode(const struct shape *shape, int mode, int lowest)
{
    int longest = mode == 0 ? 1 : 0;
    for (int n = longest; n < shape->order; n++)
        if (n != mode && shape->dims[n] >= shape->dims[longest])
            longest = n;
    return lowest >= 0 ? lowest : longest;
}

/* The share of gathers from mode g that miss in its tiles. */
static double tile_misses(const struct cache_tile_request *r, const struct cache_tile_counts *c,
                          int g)
{
    const double in_tiles = TILE_MISSES + (double)r->shape->dims[g] / (double)r->nnz;
    return in_tiles < c->misses[g] ? in_tiles : c->misses[g];
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
        if (n != mode)
            rows += gathers * (CACHE_COST + (n == g ? tile_misses(r, c, g) : c->misses[n]));
    }
    return rows;
}

void cache_tile_choose(struct tile *tile, const struct cache_tile_request *r,
                       const struct cache_tile_counts *counts, int mode, int lowest)
{
    *tile = (struct tile){0};
    if (r->shape->order < 2)
        return;
    lowest = lowest_mode(r->shape, mode, lowest);
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
