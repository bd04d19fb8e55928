#include "backend/cuda/tensor/device_tensor.h"

#include <stdbool.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "kernels/mttkrp/chunks.h"

/* Nonzeros of the shortest chunks. Chunks of large tensors are long enough to be worth a thread
 * block; small tensors are cut finer to fill the GPU. */
#define SMALLEST_CHUNK 512
#define FINEST_CHUNK   64                  /* of a small tensor            */
#define SMALL_TENSOR   (UINT64_C(1) << 20) /* has fewer nonzeros than that */

static const char copying[] = "copying a table to the GPU";

uint32_t device_tensor_chunk_size(const struct device_tensor *t, int table)
{
    return (uint32_t)(t->blco.nnz < SMALL_TENSOR ? FINEST_CHUNK : SMALLEST_CHUNK) << table;
}

/* For each table, a block's first chunk and first nonzero (nblocks), and their ends; from these the
 * device lists the chunks. */
static enum status build_tables(struct device_tensor *t, const struct device_pool *pool,
                                struct error *error)
{
    const struct device_blco *b = &t->blco;
    uint64_t entries = DEVICE_CHUNK_TABLES * (b->nblocks + 1), all = 0;
    struct chunk_block *host = memory_array(entries, sizeof *host, error), *device = NULL;
    TRY(error->status);
    for (int i = 0; i < DEVICE_CHUNK_TABLES; i++) {
        const uint32_t size = device_tensor_chunk_size(t, i);
        struct chunk_block *at = host + (uint64_t)i * (b->nblocks + 1);
        uint64_t chunks = 0;
        for (uint64_t k = 0; k < b->nblocks; k++) {
            at[k] = (struct chunk_block){chunks, b->block[k].first};
            chunks += (b->block[k].count + size - 1) / size;
        }
        at[b->nblocks] = (struct chunk_block){chunks, b->nnz};
        t->table[i].count = chunks;
        all += chunks;
    }
    device = device_pool_take(pool, entries, sizeof *device, error);
    struct mttkrp_chunk *chunk = t->chunk = device_pool_keep(pool, all, sizeof *chunk, error);
    TRY_OR(done, error->status);
    TRY_OR(done, device_send(device, host, entries * sizeof *host, pool->stream, copying, error));
    for (int i = 0; i < DEVICE_CHUNK_TABLES; i++) {
        t->table[i].chunk = chunk;
        cudaError_t code =
            chunks_list(chunk, t->table[i].count, device + (uint64_t)i * (b->nblocks + 1),
                        b->nblocks, device_tensor_chunk_size(t, i), pool->stream);
        TRY_OR(done, cuda_status(code, "cutting the blocks into chunks", error));
        chunk += t->table[i].count;
    }
done:
    device_pool_give(pool, device);
    memory_free(host);
    return error->status;
}

/* None where they are all zero. */
static enum status build_bases(struct device_tensor *t, const struct device_pool *pool,
                               struct error *error)
{
    const struct device_blco *b = &t->blco;
    bool based = false;
    for (uint64_t k = 0; k < b->nblocks; k++)
        for (int n = 0; n < b->shape.order; n++)
            based |= b->block[k].base[n] != 0;
    if (!based)
        return STATUS_OK;
    uint32_t *base = memory_array(b->nblocks * MAX_ORDER, sizeof *base, error);
    TRY(error->status);
    for (uint64_t k = 0; k < b->nblocks; k++)
        memcpy(base + k * MAX_ORDER, b->block[k].base, MAX_ORDER * sizeof *base);
    t->base = device_pool_keep(pool, b->nblocks * MAX_ORDER, sizeof *base, error);
    if (t->base)
        device_send(t->base, base, b->nblocks * MAX_ORDER * sizeof *base, pool->stream, copying,
                    error);
    memory_free(base);
    return error->status;
}

/* One list of rows serves every table: the ends of longer chunks are among those of the shortest.
 */
static enum status list_zero_rows(struct device_tensor *t, int mode, const struct device_pool *pool,
                                  struct error *error)
{
    uint64_t rows = t->blco.shape.dims[mode];
    struct mttkrp_args args;
    device_tensor_args(t, 0, mode, &args);

    uint8_t *marked = device_pool_take(pool, rows, sizeof *marked, error);
    uint32_t *row = device_pool_take(pool, rows, sizeof *row, error);
    TRY_OR(done, error->status);
    cudaError_t code = empty_rows_mark(&args, rows, marked, pool->stream);
    TRY_OR(done, cuda_status(code, "marking the rows without nonzeros", error));
    TRY_OR(done, device_pairs_select(marked, rows, row, sizeof *row, &t->zero_rows, pool, error));
    if (t->zero_rows == 0)
        goto done;
    /* `row` has room for all rows; what is kept has its true size */
    t->zero_row = device_pool_keep(pool, t->zero_rows, sizeof *row, error);
    TRY_OR(done, error->status);
    device_copy(t->zero_row, row, t->zero_rows * sizeof *row, pool->stream,
                "keeping the rows without nonzeros", error);
done:
    device_pool_give(pool, row, marked);
    return error->status;
}

enum status device_tensor_build(struct device_tensor *t, struct device_coo *x,
                                const struct device_blco_options *options, struct error *error)
{
    const struct device_pool *pool = x->pool;
    memset(t, 0, sizeof *t);
    TRY_OR(done, device_blco_build(&t->blco, x, options, error));
    TRY_OR(done, build_bases(t, pool, error));
    TRY_OR(done, build_tables(t, pool, error));
    if (options->kind != ORDERING_ALTO && !options->tile)
        list_zero_rows(t, options->kind, pool, error);
done:
    if (error->status != STATUS_OK) {
        (void)cudaStreamSynchronize(pool->stream);
        device_tensor_free(t);
    }
    return error->status;
}

void device_tensor_free(struct device_tensor *t)
{
    device_blco_free(&t->blco);
    device_free(t->base, t->chunk, t->zero_row);
    memset(t, 0, sizeof *t);
}

struct mttkrp_field device_tensor_field(const struct device_tensor *t, int n)
{
    const struct field *f = &t->blco.ordering.field[n];
    return (struct mttkrp_field){
        .word = f->word, .shift = f->shift, .mask = (uint32_t)f->mask, .mode = n};
}

void device_tensor_args(const struct device_tensor *t, int table, int mode,
                        struct mttkrp_args *args)
{
    *args = (struct mttkrp_args){.index = {t->blco.index[0], t->blco.index[1]},
                                 .value = t->blco.value,
                                 .chunk = t->table[table].chunk,
                                 .chunks = t->table[table].count,
                                 .base = t->base,
                                 .output = device_tensor_field(t, mode),
                                 .copies = 1,
                                 .ordered = t->blco.ordering.kind == mode &&
                                            t->blco.ordering.tile.modes == 0};
}
