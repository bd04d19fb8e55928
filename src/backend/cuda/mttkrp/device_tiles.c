#include "backend/cuda/mttkrp/device_mttkrp.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "base/least.h"
#include "base/memory.h"
#include "kernels/mttkrp/tile_sums.h"

/* Loading a tile costs a thread block about as much as so many nonzeros. */
#define TILE_COST 2000

/* A range ends at a multiple of so many nonzeros of its tile. */
#define RANGE_STEP 64

static const char doing[] = "building tiles on the GPU";

#define MOST_NONZEROS (UINT64_C(1) << 31) /* of a chunk */

/* Equal ranges of the line, one for each thread block, cut into chunks at the ends of tiles. */
struct cuts {
    struct mttkrp_chunk *chunk; /* (most chunks); host, owned */
    uint32_t *range;            /* (ranges + 1); host, owned   */
    uint64_t chunks;
    uint32_t ranges, ended; /* how many ranges there are, and how many are complete */
    double cost, done;      /* of all nonzeros and tiles; of those in chunks       */
};

/* The cost at which the present range ends. */
static double end_of_range(const struct cuts *c)
{
    return c->cost * (c->ended + 1) / c->ranges;
}

static enum status make_cuts(struct cuts *c, const struct device_blco *b, uint32_t ranges,
                             struct error *error)
{
    const uint64_t most = b->nblocks + ranges + b->nnz / MOST_NONZEROS;
    *c = (struct cuts){.ranges = ranges, .cost = (double)b->nnz + TILE_COST * (double)b->nblocks};
    c->chunk = memory_array(most, sizeof *c->chunk, error);
    c->range = memory_array((uint64_t)ranges + 1, sizeof *c->range, error);
    TRY(error->status);
    c->range[0] = 0;
    for (uint64_t k = 0; k < b->nblocks; k++) {
        const struct blco_block *tile = &b->block[k];
        c->done += TILE_COST;
        for (uint64_t at = 0; at < tile->count;) {
            const double room = end_of_range(c) - c->done;
            const uint64_t steps = room > 0 ? (uint64_t)(room / RANGE_STEP) + 1 : 1;
            const uint64_t left = tile->count - at;
            uint64_t count = c->ended + 1 == ranges ? left : steps * RANGE_STEP;
            count = least_of(least_of(count, left), MOST_NONZEROS);
            c->chunk[c->chunks++] = (struct mttkrp_chunk){
                .first = tile->first + at, .count = (uint32_t)count, .block = (uint32_t)k};
            at += count;
            c->done += (double)count;
            if (c->done >= end_of_range(c) && c->ended + 1 < ranges)
                c->range[++c->ended] = (uint32_t)c->chunks;
        }
    }
    while (c->ended < ranges)
        c->range[++c->ended] = (uint32_t)c->chunks;
    return STATUS_OK;
}

/* *to = a copy of a table of the host; waits, so that that may be freed. */
static enum status keep(void *to, const void *from, uint64_t count, size_t size,
                        const struct device_pool *pool, struct error *error)
{
    void *copy = device_pool_keep(pool, count, size, error);
    TRY(error->status);
    memcpy(to, &copy, sizeof copy);
    return device_send(copy, from, count * size, pool->stream, doing, error);
}

/* The number of each run's first partial sum, from how many each run has. */
static enum status number_partials(struct device_tiles *t, const struct device_pool *pool,
                                   struct error *error)
{
    const uint64_t runs = t->args.mttkrp.chunks * tiles_lane_groups(t->vectors);
    uint32_t *first_partial = memory_array(runs, sizeof *first_partial, error);
    uint32_t *count = device_pool_take(pool, runs, sizeof *count, error);
    TRY_OR(done, error->status);
    TRY_OR(done, cuda_status(tile_sums_count(&t->args, count, pool->stream), doing, error));
    TRY_OR(done, device_fetch(first_partial, count, runs * sizeof *first_partial, pool->stream,
                              doing, error));
    t->args.partials = 0;
    for (uint64_t r = 0; r < runs; r++) {
        const uint32_t own = first_partial[r];
        first_partial[r] = (uint32_t)t->args.partials;
        t->args.partials += own;
    }
    if (t->args.partials > INT32_MAX)
        error_set(error, STATUS_MEMORY, "%s: too many partial sums", doing);
    else
        keep(&t->args.first_partial, first_partial, runs, sizeof *first_partial, pool, error);
done:
    device_pool_give(pool, count);
    memory_free(first_partial);
    return error->status;
}

/* The partial sums of each row of M, in the order of the line. */
static enum status sort_partials(struct device_tiles *t, const struct device_pool *pool,
                                 struct error *error)
{
    struct tiles_args *a = &t->args;
    struct array_pairs p;
    const int bits = ordering_bits(a->rows);
    uint32_t *row_begin, *row_partial;
    TRY_OR(done, device_pairs_take(&p, t->args.partials, sizeof *row_partial, pool, error));
    TRY_OR(done,
           cuda_status(tile_sums_list_rows(a, p.key[0], p.value[0], pool->stream), doing, error));
    TRY_OR(done, device_pairs_sort(&p, 0, bits, pool, error));
    a->row_begin = row_begin = device_pool_keep(pool, a->rows + 1, sizeof *row_begin, error);
    a->row_partial = row_partial =
        device_pool_keep(pool, t->args.partials, sizeof *row_partial, error);
    TRY_OR(done, error->status);
    TRY_OR(done,
           cuda_status(tile_sums_begin_rows(p.key[0], p.count, row_begin, a->rows, pool->stream),
                       doing, error));
    device_copy(row_partial, p.value[0], t->args.partials * sizeof *row_partial, pool->stream,
                doing, error);
done:
    device_pairs_give(&p, pool);
    return error->status;
}

enum status device_tiles_prepare(struct device_tiles *t, uint32_t vectors,
                                 const struct device_pool *pool, struct error *error)
{
    const struct device_blco *b = &t->tensor->blco;
    struct tiles_args *a = &t->args;
    struct cuts cuts = {0};
    int device, processors;
    device_tiles_free(t);
    const uint32_t panels = tiles_panels(vectors);
    device_tensor_args(t->tensor, 0, t->mode, &a->mttkrp);
    a->mttkrp.chunk = NULL;
    t->vectors = a->mttkrp.vectors = vectors;
    a->rows = b->shape.dims[t->mode];
    a->tiled_modes = b->ordering.tile.modes;
    for (int k = 0; k < a->tiled_modes; k++)
        a->tiled_rows[k] = b->shape.dims[b->ordering.tile.mode[k]];
    TRY_OR(done, cuda_status(cudaGetDevice(&device), doing, error));
    TRY_OR(done, device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error));
    a->ranges = (uint32_t)processors > panels ? (uint32_t)processors / panels : 1;
    TRY_OR(done, make_cuts(&cuts, b, a->ranges, error));
    a->mttkrp.chunks = cuts.chunks;
    TRY_OR(done, keep(&a->mttkrp.chunk, cuts.chunk, cuts.chunks, sizeof *cuts.chunk, pool, error));
    TRY_OR(done,
           keep(&a->range, cuts.range, (uint64_t)a->ranges + 1, sizeof *cuts.range, pool, error));
    TRY_OR(done, number_partials(t, pool, error));
    TRY_OR(done, sort_partials(t, pool, error));
    a->partial = device_pool_keep(pool, t->args.partials, vectors * (size_t)VECTOR_BYTES, error);
    TRY_OR(done, error->status);
    cuda_status(cudaStreamSynchronize(pool->stream), doing, error);
done:
    memory_free(cuts.chunk, cuts.range);
    if (error->status != STATUS_OK) {
        (void)cudaStreamSynchronize(pool->stream);
        device_tiles_free(t);
    }
    return error->status;
}

static void add_gather(const struct device_tiles *t, const struct device_factors *f, int n,
                       struct mttkrp_args *args)
{
    args->gather[args->gathers++] =
        (struct mttkrp_gather){device_tensor_field(t->tensor, n), f->factor[n]};
}

/* The other modes from the top of the line down, the tiled ones last. */
static void set_gathers(const struct device_tiles *t, const struct device_factors *f,
                        struct mttkrp_args *args)
{
    const struct ordering *o = &t->tensor->blco.ordering;
    args->gathers = 0;
    for (int n = 0; n < o->order; n++)
        if (n != t->mode && !tile_has(&o->tile, n) && o->mode_bits[n] == 0)
            add_gather(t, f, n, args);
    for (int place = o->cut - 1; place >= 0; place--)
        for (int n = 0; n < o->order; n++)
            if (n != t->mode && !tile_has(&o->tile, n) && o->mode_bits[n] > 0 &&
                o->place[n][0] == place)
                add_gather(t, f, n, args);
    for (int k = 0; k < o->tile.modes; k++)
        add_gather(t, f, o->tile.mode[k], args);
}

enum status device_tiles_run(const struct device_tiles *t, const struct device_factors *f,
                             cudaStream_t stream, struct error *error)
{
    struct tiles_args args = t->args;
    set_gathers(t, f, &args.mttkrp);
    args.mttkrp.m = f->m;
    args.mttkrp.precision = f->precision;
    args.mttkrp.wide_values = f->wide_values;
    TRY(cuda_status(tiles_launch(&args, stream), "MTTKRP", error));
    return cuda_status(tile_sums_add(&args, stream), "MTTKRP", error);
}

void device_tiles_describe(const struct device_tiles *t, char *text, size_t size)
{
    const struct ordering *o = &t->tensor->blco.ordering;
    size_t length = 0;
    for (int k = 0; k < o->tile.modes && length < size; k++) {
        const int n = o->tile.mode[k];
        length += (size_t)snprintf(text + length, size - length, "%s %d rows of mode %d",
                                   k == 0 ? "tiles of" : " and", (int)o->field[n].mask + 1, n + 1);
    }
}

void device_tiles_free(struct device_tiles *t)
{
    struct tiles_args *a = &t->args;
    const void *arrays[] = {a->mttkrp.chunk, a->range,     a->first_partial,
                            a->partial,      a->row_begin, a->row_partial};
    if (t->vectors == 0)
        return;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        device_free((void *)(uintptr_t)arrays[i]);
    *a = (struct tiles_args){0};
    t->vectors = 0;
}
