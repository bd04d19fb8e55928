#include "plan/tile_choice.h"

#include <math.h>

#include "numerics/tile_rows.h"

/* Tiles pay where each partial sum is of so many nonzeros on average, and where loading the tiles
 * costs little beside the nonzeros: a thread block loads a tile for so many, at least. Measured on
 * an H200: uber, with 24000 nonzeros for a tile, loses by tiles, enron with 414000 gains. */
#define NONZEROS_PER_SUM  30
#define NONZEROS_PER_LOAD 100000
#define SPANS             128 /* thread blocks of a GPU, about; each loads a tile at least once */

/* Tiles of the L2 cache: of at most so many bytes; of a factor matrix of so many tiles, or the
 * cache holds most of what is gathered anyway; with so many nonzeros for a partial sum, which is
 * added to M in device memory. Measured on an H200: amazon's third mode, with 66 nonzeros for a
 * sum, takes 0.87 times as long, its second, with as many, 1.03, its first, with 25, 1.08. */
#define CACHE_TILE             (UINT64_C(1) << 25)
#define CACHE_TILES            4
#define CACHE_NONZEROS_PER_SUM 40

/* Rows of a mode shorter than a tile stay in the caches anyway. Of longer modes, the shortest has
 * the fewest tiles and so the longest partial sums. */
static bool is_better(uint64_t length, uint64_t than, uint64_t tile)
{
    if (length < tile || than < tile)
        return length > than;
    return length < than;
}

/* Partial sums of `mode` with tiles of mode n, at most. */
static double partial_sums(const struct tile_request *r, int mode, int n, double rows)
{
    const double tiles = (double)r->shape->dims[n] / rows + 1;
    return tiles * (double)r->shape->dims[mode];
}

static bool pays(const struct tile_request *r, int mode, int n, double rows)
{
    const double nnz = (double)r->nnz, sums = partial_sums(r, mode, n, rows);
    const double loads = (double)r->shape->dims[n] / rows + SPANS;
    return nnz >= NONZEROS_PER_SUM * sums && nnz >= NONZEROS_PER_LOAD * loads &&
           sums * (double)r->row_bytes <= (double)r->room;
}

static void force_tile(struct tile *tile, const struct tile_request *r, int mode)
{
    if (r->shape->order > 1)
        *tile =
            (struct tile){.mode = (mode + 1) % r->shape->order, .bits = 2, .in_cache = r->in_cache};
}

static int bits_below(uint64_t rows)
{
    int bits = 0;
    while (UINT64_C(2) << bits <= rows)
        bits++;
    return bits;
}

/* The tiles of the L2 cache with the fewest partial sums, if they pay. */
static void choose_in_cache(struct tile *tile, const struct tile_request *r, int mode)
{
    const int bits = bits_below(CACHE_TILE / r->row_bytes), line = ordering_line_bits(r->shape);
    double least = (double)r->nnz / CACHE_NONZEROS_PER_SUM;
    for (int n = 0; n < r->shape->order; n++) {
        const uint64_t tiles = r->shape->dims[n] >> bits;
        const double sums = partial_sums(r, mode, n, exp2(bits));
        const bool one_word = line - ordering_bits(r->shape->dims[n]) + bits <= 64;
        if (n != mode && tiles >= CACHE_TILES && one_word && sums <= least) {
            *tile = (struct tile){.mode = n, .bits = bits, .in_cache = true};
            least = sums;
        }
    }
}

/* The tiles of shared memory that pay most; none where an index would have two words. */
static void choose_shared(struct tile *tile, const struct tile_request *r, int mode)
{
    const uint64_t rows = tile_rows(r->row_bytes / VECTOR_BYTES), *dims = r->shape->dims;
    if (ordering_line_bits(r->shape) > 64)
        return;
    for (int n = 0; n < r->shape->order; n++)
        if (n != mode && pays(r, mode, n, (double)rows) &&
            (tile->mode < 0 || is_better(dims[n], dims[tile->mode], rows)))
            *tile = (struct tile){.mode = n, .bits = ordering_bits(rows)};
}

uint64_t tile_choose(struct tile *tile, const struct tile_request *r, int mode)
{
    *tile = (struct tile){.mode = -1};
    if (r->forced) {
        if (ordering_line_bits(r->shape) <= 64)
            force_tile(tile, r, mode);
        return 0;
    }
    choose_shared(tile, r, mode);
    if (tile->mode < 0) {
        choose_in_cache(tile, r, mode);
        return 0;
    }
    return (uint64_t)(partial_sums(r, mode, tile->mode, exp2(tile->bits)) * (double)r->row_bytes);
}

uint64_t tile_choose_all(struct tile *tile, const struct plan *plan, const struct shape *shape,
                         uint64_t nnz, const bool *ordered)
{
    struct tile_request r = {.shape = shape,
                             .nnz = nnz,
                             .row_bytes = plan->request.row_bytes,
                             .forced = plan->request.forced.tiles,
                             .in_cache = plan->request.forced.cache_tiles};
    const bool may = plan->request.tiles && plan->request.conflict == CONFLICT_AUTO;
    uint64_t bytes = 0;
    if (plan->request.budget > plan->total_bytes)
        r.room = plan->request.budget - plan->total_bytes;
    for (int n = 0; n < shape->order; n++) {
        tile[n].mode = -1;
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
