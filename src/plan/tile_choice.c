#include "plan/tile_choice.h"

#include <math.h>

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

static void force_tile(struct tile *tile, const struct tile_request *r, int mode)
{
    *tile = (struct tile){.bits = 2};
    while (tile->modes < r->forced && tile->modes < r->shape->order - 1) {
        tile->mode[tile->modes] = (mode + 1 + tile->modes) % r->shape->order;
        tile->modes++;
    }
}

/* The tiles of one mode in shared memory that pay most. */
static void choose_one(struct tile *tile, const struct tile_request *r, int mode, uint64_t rows)
{
    const uint64_t *dims = r->shape->dims;
    for (int n = 0; n < r->shape->order; n++) {
        const struct tile candidate = {.modes = 1, .mode = {n}, .bits = ordering_bits(rows)};
        if (n != mode && pays(r, mode, &candidate) &&
            (tile->modes == 0 || is_better(dims[n], dims[tile->mode[0]], rows)))
            *tile = candidate;
    }
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
        force_tile(tile, r, mode);
        return 0;
    }
    choose_one(tile, r, mode, rows);
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
