#include "plan/tile_choice.h"

#include "numerics/tile_rows.h"

/* Tiles pay where each partial sum is of so many nonzeros on average, and where loading the tiles
 * costs little beside the nonzeros: a thread block loads a tile for so many, at least. Measured on
 * an H200: uber, with 24000 nonzeros for a tile, loses by tiles, enron with 414000 gains. */
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
        *tile = (struct tile){.mode = (mode + 1) % r->shape->order, .bits = 2};
}

uint64_t tile_choose(struct tile *tile, const struct tile_request *r, int mode)
{
    const uint64_t rows = tile_rows(r->row_bytes / VECTOR_BYTES), *dims = r->shape->dims;
    *tile = (struct tile){.mode = -1, .bits = ordering_bits(rows)};
    if (ordering_line_bits(r->shape) > 64) /* indices have one word */
        return 0;
    if (r->forced) {
        force_tile(tile, r, mode);
        return 0;
    }
    for (int n = 0; n < r->shape->order; n++)
        if (n != mode && pays(r, mode, n, (double)rows) &&
            (tile->mode < 0 || is_better(dims[n], dims[tile->mode], rows)))
            tile->mode = n;
    if (tile->mode < 0)
        return 0;
    return (uint64_t)(partial_sums(r, mode, tile->mode, (double)rows) * (double)r->row_bytes);
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
