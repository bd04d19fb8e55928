#include "backend/cuda/mttkrp/device_tiles.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "base/memory.h"
#include "kernels/tensor/linearise.h"

/* Loading a tile costs a thread block about as much as so many nonzeros. */
#define TILE_COST 2000

/* Tiles pay where each partial sum is of so many nonzeros, and a tile has so many nonzeros for each
 * thread block that loads it. */
#define NONZEROS_PER_SUM  30
#define NONZEROS_PER_TILE 20000

/* A span ends at a multiple of so many nonzeros of its tile. */
#define SPAN_STEP 64

static const char doing[] = "building tiles on the GPU";

bool device_tiles_pay(struct tile *tile, const struct shape *shape, uint64_t nnz, int mode,
                      uint64_t row_bytes)
{
    const uint32_t rows = tiles_rows((uint32_t)(row_bytes / VECTOR_BYTES));
    *tile = (struct tile){.mode = -1, .bits = ordering_bits(rows)};
    for (int n = 0; n < shape->order; n++) {
        const uint64_t tiles = (shape->dims[n] + rows - 1) / rows;
        const double sums = (double)tiles * (double)shape->dims[mode];
        if (n == mode || (double)nnz < NONZEROS_PER_SUM * sums || nnz / tiles < NONZEROS_PER_TILE)
            continue;
        if (tile->mode < 0 || shape->dims[n] > shape->dims[tile->mode])
            tile->mode = n;
    }
    return tile->mode >= 0;
}

enum status device_tiles_build(struct device_tiles *t, struct device_coo *x, int mode,
                               const struct tile *tile, enum precision precision, bool last,
                               struct error *error)
{
    *t = (struct device_tiles){.mode = mode, .tiled = tile->mode};
    const struct device_blco_options options = {
        .kind = mode, .tile = tile, .precision = precision, .last = last};
    return device_blco_build(&t->blco, x, &options, error);
}

/* Equal spans of the line, each of which is cut at the ends of tiles. */
struct cuts {
    struct mttkrp_chunk *chunk; /* (most); host, owned */
    uint32_t *span;             /* (spans + 1); host, owned */
    uint64_t chunks;
};

static enum status cuts_create(struct cuts *c, const struct device_blco *b, uint32_t spans,
                               struct error *error)
{
    c->chunk = memory_array(b->nblocks + spans, sizeof *c->chunk, error);
    c->span = memory_array((uint64_t)spans + 1, sizeof *c->span, error);
    if (error->status != STATUS_OK)
        return error->status;
    const double all = (double)b->nnz + TILE_COST * (double)b->nblocks;
    double done = 0;
    uint32_t s = 0;
    c->span[0] = 0;
    for (uint64_t k = 0; k < b->nblocks; k++) {
        done += TILE_COST;
        for (uint64_t at = 0; at < b->block[k].count;) {
            const double end = s + 1 < spans ? all / spans * (s + 1) : all;
            const double room = end > done ? (end - done) / SPAN_STEP : 0;
            uint64_t count = ((uint64_t)room + 1) * SPAN_STEP, left = b->block[k].count - at;
            count = s + 1 == spans || left < count ? left : count;
            c->chunk[c->chunks++] = (struct mttkrp_chunk){
                .first = b->block[k].first + at, .count = (uint32_t)count, .block = (uint32_t)k};
            at += count;
            done += (double)count;
            if (done >= end && s + 1 < spans)
                c->span[++s] = (uint32_t)c->chunks;
        }
    }
    while (s < spans)
        c->span[++s] = (uint32_t)c->chunks;
    return STATUS_OK;
}

static void cuts_free(struct cuts *c)
{
    memory_free(c->chunk);
    memory_free(c->span);
}

/* *to = a copy of a table of the host; waits, so that that may be freed. */
static enum status keep(void *to, const void *from, uint64_t count, size_t size,
                        const struct device_pool *pool, struct error *error)
{
    void *copy = device_pool_keep(pool, count, size, error);
    if (!copy)
        return error->status;
    memcpy(to, &copy, sizeof copy);
    if (cuda_status(cudaMemcpyAsync(copy, from, count * size, cudaMemcpyHostToDevice, pool->stream),
                    doing, error) != STATUS_OK)
        return error->status;
    return cuda_status(cudaStreamSynchronize(pool->stream), doing, error);
}

static enum status keep_cuts(struct device_tiles *t, const struct cuts *c,
                             const struct device_pool *pool, struct error *error)
{
    struct tiles_args *a = &t->args;
    a->mttkrp.chunks = c->chunks;
    if (keep(&a->mttkrp.chunk, c->chunk, c->chunks, sizeof *c->chunk, pool, error) != STATUS_OK)
        return error->status;
    return keep(&a->span, c->span, (uint64_t)a->spans + 1, sizeof *c->span, pool, error);
}

/* The first row of each tile. */
static enum status keep_bases(struct device_tiles *t, const struct device_pool *pool,
                              struct error *error)
{
    const struct device_blco *b = &t->blco;
    uint32_t *base = memory_array(b->nblocks, MAX_ORDER * sizeof *base, error);
    if (!base)
        return error->status;
    for (uint64_t k = 0; k < b->nblocks; k++)
        memcpy(base + k * MAX_ORDER, b->block[k].base, MAX_ORDER * sizeof *base);
    keep(&t->args.mttkrp.base, base, b->nblocks * MAX_ORDER, sizeof *base, pool, error);
    memory_free(base);
    return error->status;
}

static struct mttkrp_field field_of(const struct device_blco *b, int n)
{
    const struct field *f = &b->ordering.field[n];
    return (struct mttkrp_field){
        .word = f->word, .shift = f->shift, .mask = (uint32_t)f->mask, .mode = n};
}

/* The slots of each run, from the numbers of its partial sums. */
static enum status number_slots(struct device_tiles *t, const struct device_pool *pool,
                                struct error *error)
{
    const uint64_t runs = t->args.mttkrp.chunks * tiles_lane_groups(t->vectors);
    uint32_t *slot = memory_array(runs, sizeof *slot, error);
    uint32_t *count = device_pool_take(pool, runs, sizeof *count, error);
    if (error->status != STATUS_OK)
        goto done;
    if (cuda_status(tiles_count(&t->args, count, pool->stream), doing, error) != STATUS_OK)
        goto done;
    if (device_fetch(slot, count, runs * sizeof *slot, pool->stream, doing, error) != STATUS_OK)
        goto done;
    t->sums = 0;
    for (uint64_t r = 0; r < runs; r++) {
        const uint32_t own = slot[r];
        slot[r] = (uint32_t)t->sums;
        t->sums += own;
    }
    if (t->sums > UINT32_MAX)
        error_set(error, STATUS_MEMORY, "%s: too many partial sums", doing);
    else
        keep(&t->args.slot, slot, runs, sizeof *slot, pool, error);
done:
    device_pool_give(pool, count);
    memory_free(slot);
    return error->status;
}

/* The slots of each row of M, in the order of the line. */
static enum status sort_slots(struct device_tiles *t, const struct device_pool *pool,
                              struct error *error)
{
    struct tiles_args *a = &t->args;
    struct device_pairs p;
    const int bits = ordering_bits(a->rows);
    uint32_t *row_slots, *slots;
    if (device_pairs_take(&p, t->sums, sizeof *slots, pool, error) != STATUS_OK)
        goto done;
    if (cuda_status(tiles_list_rows(a, p.key[0], pool->stream), doing, error) != STATUS_OK)
        goto done;
    if (cuda_status(linearise_positions(p.payload[0], p.payload_size, p.n, pool->stream), doing,
                    error) != STATUS_OK)
        goto done;
    if (device_pairs_sort(&p, 0, bits, pool, error) != STATUS_OK)
        goto done;
    a->row_slots = row_slots = device_pool_keep(pool, a->rows + 1, sizeof *row_slots, error);
    a->slots = slots = device_pool_keep(pool, t->sums, sizeof *slots, error);
    if (error->status != STATUS_OK)
        goto done;
    if (cuda_status(tiles_begin_rows(p.key[0], p.n, row_slots, a->rows, pool->stream), doing,
                    error) != STATUS_OK)
        goto done;
    cuda_status(cudaMemcpyAsync(slots, p.payload[0], t->sums * sizeof *slots,
                                cudaMemcpyDeviceToDevice, pool->stream),
                doing, error);
done:
    device_pairs_give(&p, pool);
    return error->status;
}

/* Frees what device_tiles_prepare has made. */
static void forget(struct device_tiles *t)
{
    struct tiles_args *a = &t->args;
    const void *arrays[] = {a->mttkrp.chunk, a->mttkrp.base, a->span, a->slot,
                            a->partial,      a->row_slots,   a->slots};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        device_free((void *)(uintptr_t)arrays[i]);
    t->args = (struct tiles_args){0};
    t->vectors = 0;
}

static enum status count_spans(struct device_tiles *t, struct error *error)
{
    int device, processors;
    const uint32_t panels = tiles_panels(t->vectors);
    if (cuda_status(cudaGetDevice(&device), doing, error) != STATUS_OK)
        return error->status;
    if (device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error) != STATUS_OK)
        return error->status;
    t->args.spans = (uint32_t)processors > panels ? (uint32_t)processors / panels : 1;
    return STATUS_OK;
}

enum status device_tiles_prepare(struct device_tiles *t, uint32_t vectors,
                                 const struct device_pool *pool, struct error *error)
{
    const struct device_blco *b = &t->blco;
    struct tiles_args *a = &t->args;
    struct cuts cuts = {0};
    forget(t);
    t->vectors = a->mttkrp.vectors = vectors;
    a->rows = b->shape.dims[t->mode];
    a->tiled_rows = b->shape.dims[t->tiled];
    a->mttkrp.index[0] = b->index[0];
    a->mttkrp.value = b->value;
    a->mttkrp.output = field_of(b, t->mode);
    if (count_spans(t, error) != STATUS_OK)
        goto done;
    if (cuts_create(&cuts, b, a->spans, error) != STATUS_OK)
        goto done;
    if (keep_cuts(t, &cuts, pool, error) != STATUS_OK)
        goto done;
    if (keep_bases(t, pool, error) != STATUS_OK)
        goto done;
    if (number_slots(t, pool, error) != STATUS_OK)
        goto done;
    if (sort_slots(t, pool, error) != STATUS_OK)
        goto done;
    a->partial = device_pool_keep(pool, t->sums, vectors * (size_t)VECTOR_BYTES, error);
    if (!a->partial)
        goto done;
    cuda_status(cudaStreamSynchronize(pool->stream), doing, error);
done:
    cuts_free(&cuts);
    if (error->status != STATUS_OK) {
        (void)cudaStreamSynchronize(pool->stream);
        forget(t);
    }
    return error->status;
}

/* The other modes as they stand on the line, the tiled one last. */
static void set_gathers(const struct device_tiles *t, const struct device_factors *f,
                        struct mttkrp_args *args)
{
    const struct ordering *o = &t->blco.ordering;
    args->gathers = 0;
    for (int place = o->cut - 1; place >= 0; place--)
        for (int n = 0; n < o->order; n++)
            if (n != t->mode && n != t->tiled && o->mode_bits[n] > 0 && o->place[n][0] == place)
                args->gather[args->gathers++] =
                    (struct mttkrp_gather){field_of(&t->blco, n), f->factor[n]};
    for (int n = 0; n < o->order; n++)
        if (n != t->mode && n != t->tiled && o->mode_bits[n] == 0)
            args->gather[args->gathers++] =
                (struct mttkrp_gather){field_of(&t->blco, n), f->factor[n]};
    args->gather[args->gathers++] =
        (struct mttkrp_gather){field_of(&t->blco, t->tiled), f->factor[t->tiled]};
}

enum status device_tiles_run(const struct device_tiles *t, const struct device_factors *f,
                             cudaStream_t stream, struct error *error)
{
    struct tiles_args args = t->args;
    set_gathers(t, f, &args.mttkrp);
    args.mttkrp.m = f->m;
    args.mttkrp.precision = f->precision;
    args.mttkrp.wide_values = f->wide_values;
    if (cuda_status(tiles_prepare(&args), "MTTKRP", error) != STATUS_OK)
        return error->status;
    return cuda_status(tiles_launch(&args, stream), "MTTKRP", error);
}

void device_tiles_describe(const struct device_tiles *t, char *text, size_t size)
{
    snprintf(text, size, "tiles x%u of mode %d", tiles_rows(t->vectors), t->tiled + 1);
}

void device_tiles_free(struct device_tiles *t)
{
    forget(t);
    device_blco_free(&t->blco);
    *t = (struct device_tiles){0};
}
