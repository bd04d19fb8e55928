#include "backend/cuda/tensor/device_block_finder.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "base/memory.h"
#include "kernels/tensor/linearise.h"
#include "tensor/ordering_moves.h"

static const char doing[] = "cutting the tensor into blocks";

static cudaStream_t stream_of(const struct device_block_finder *f)
{
    return f->x->pool->stream;
}

static bool is_cut(const struct ordering *o)
{
    return o->cut < o->line_bits;
}

static cudaError_t flag_blocks(struct device_block_finder *f, const struct ordering *o)
{
    uint64_t nnz = f->x->nnz;
    if (f->line)
        return linearise_flag_lines(f->line, o->cut, f->flag, f->count, nnz, stream_of(f));

    struct linearise_coordinates coordinates = device_coo_coordinates(f->x);
    uint32_t above[MAX_ORDER];
    for (int n = 0; n < o->order; n++)
        above[n] = (uint32_t)(((UINT64_C(1) << o->mode_bits[n]) - 1) & ~o->field[n].mask);
    return linearise_flag_coordinates(&coordinates, above, f->position,
                                      device_pairs_position_size(nnz), f->flag, f->count, nnz,
                                      stream_of(f));
}

enum status device_block_finder_count(struct device_block_finder *f, const struct ordering *o,
                                      uint64_t *nblocks, struct error *error)
{
    const struct device_pool *pool = f->x->pool;
    *nblocks = f->x->nnz > 0;
    if (!is_cut(o))
        return STATUS_OK;
    if (!f->flag)
        f->flag = device_pool_take(pool, f->x->nnz, sizeof *f->flag, error);
    if (!f->count)
        f->count = device_pool_take(pool, 1, sizeof *f->count, error);
    if (!f->flag || !f->count)
        return error->status;

    TRY(cuda_status(flag_blocks(f, o), doing, error));
    return device_fetch(nblocks, f->count, sizeof *nblocks, stream_of(f), doing, error);
}

/* first (nblocks, device) = the first nonzero of each block. */
static enum status find_first(struct device_block_finder *f, uint64_t *first, struct error *error)
{
    size_t bytes = 0;
    uint64_t nnz = f->x->nnz;
    cudaError_t code = linearise_select(NULL, &bytes, f->flag, first, f->count, nnz, stream_of(f));
    TRY(cuda_status(code, doing, error));
    void *temporary = device_pool_take(f->x->pool, bytes, 1, error);
    if (!temporary)
        return error->status;
    code = linearise_select(temporary, &bytes, f->flag, first, f->count, nnz, stream_of(f));
    device_pool_give(f->x->pool, temporary);
    return cuda_status(code, doing, error);
}

/* The first nonzeros of the blocks, and scratch. */
struct first_nonzeros {
    uint64_t nblocks;
    uint64_t *first;                  /* (nblocks); device, of the pool, as the next two    */
    uint64_t *line;                   /* (nblocks): a word of each line                     */
    void *at;                         /* (nblocks): positions, or unused                    */
    uint64_t *host_first, *host_line; /* (nblocks), (words x nblocks); owned */
};

/* n->host_line = the words of the lines of the first nonzeros. */
static cudaError_t fetch_lines(struct device_block_finder *f, const struct ordering *o,
                               const struct first_nonzeros *n)
{
    const uint64_t nblocks = n->nblocks, *first = n->first;
    uint64_t *line = n->line, *host = n->host_line;
    void *at = n->at;
    struct linearise_coordinates coordinates = device_coo_coordinates(f->x);
    int size = f->line ? (int)sizeof *f->line : device_pairs_position_size(f->x->nnz);
    const void *from = f->line ? (const void *)f->line : f->position;
    cudaError_t code = linearise_gather(from, size, first, sizeof *first, f->line ? line : at, size,
                                        nblocks, stream_of(f));
    if (code != cudaSuccess)
        return code;
    for (int w = 0; 64 * w < o->line_bits; w++) {
        struct bit_moves moves;
        ordering_moves_create(&moves, NULL, o, ORDERING_LINE, w);
        if (!f->line)
            code =
                linearise_gather_words(&coordinates, at, size, line, nblocks, &moves, stream_of(f));
        if (code != cudaSuccess)
            return code;
        code = cudaMemcpyAsync(host + (uint64_t)w * nblocks, line, nblocks * sizeof *line,
                               cudaMemcpyDeviceToHost, stream_of(f));
        if (code != cudaSuccess)
            return code;
    }
    return cudaSuccess;
}

static void fill_table(const struct ordering *o, uint64_t nnz, const uint64_t *first,
                       const uint64_t *line, uint64_t nblocks, struct blco_block *block)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nblocks; i++) {
        uint64_t words[MAX_LINE_WORDS];
        for (int w = 0; 64 * w < o->line_bits; w++)
            words[w] = line[(uint64_t)w * nblocks + i];
        block[i].first = first[i];
        block[i].count = (i + 1 < nblocks ? first[i + 1] : nnz) - first[i];
        ordering_base(o, words, block[i].base);
    }
}

/* As device_block_finder_table, for an ordering with a cut; block (nblocks) is zeroed. */
static enum status find_blocks(struct device_block_finder *f, const struct ordering *o,
                               uint64_t nblocks, struct blco_block *block, struct error *error)
{
    const struct device_pool *pool = f->x->pool;
    uint64_t words = (uint64_t)(o->line_bits + 63) / 64;
    struct first_nonzeros n = {.nblocks = nblocks,
                               .first = device_pool_take(pool, nblocks, sizeof *n.first, error),
                               .line = device_pool_take(pool, nblocks, sizeof *n.line, error),
                               .at = device_pool_take(pool, nblocks, sizeof(uint64_t), error),
                               .host_first = memory_array(nblocks, sizeof *n.host_first, error),
                               .host_line =
                                   memory_array(nblocks, words * sizeof *n.host_line, error)};
    TRY_OR(done, error->status);
    TRY_OR(done, find_first(f, n.first, error));
    cudaError_t code = cudaMemcpyAsync(n.host_first, n.first, nblocks * sizeof *n.first,
                                       cudaMemcpyDeviceToHost, stream_of(f));
    TRY_OR(done, cuda_status(code, doing, error));
    TRY_OR(done, cuda_status(fetch_lines(f, o, &n), doing, error));
    TRY_OR(done, cuda_status(cudaStreamSynchronize(stream_of(f)), doing, error));
    fill_table(o, f->x->nnz, n.host_first, n.host_line, nblocks, block);
done:
    device_pool_give(pool, n.first);
    device_pool_give(pool, n.line);
    device_pool_give(pool, n.at);
    memory_free(n.host_first);
    memory_free(n.host_line);
    return error->status;
}

enum status device_block_finder_table(struct device_block_finder *f, const struct ordering *o,
                                      uint64_t nblocks, struct blco_block **block,
                                      struct error *error)
{
    *block = memory_zeros(nblocks, sizeof **block, error);
    if (!*block)
        return error->status;
    if (!is_cut(o)) {
        if (nblocks > 0)
            (*block)->count = f->x->nnz;
        return STATUS_OK;
    }
    if (find_blocks(f, o, nblocks, *block, error) != STATUS_OK) {
        memory_free(*block);
        *block = NULL;
    }
    return error->status;
}

void device_block_finder_close(struct device_block_finder *f)
{
    if (!f->x)
        return;
    device_pool_give(f->x->pool, f->flag);
    device_pool_give(f->x->pool, f->count);
    f->flag = NULL;
    f->count = NULL;
}
