#include "backend/cuda/tensor/device_blco.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "base/memory.h"
#include "kernels/arrays/arrays.h"
#include "kernels/tensor/linearise.h"
#include "tensor/ordering.h"

static const char doing[] = "building the tensor on the GPU";

struct build {
    struct device_coo *x;
    const struct device_pool *pool; /* x's */
    struct device_pairs pairs;      /* lines and values, or keys and positions */
    const struct device_blco_options *options;
    cudaStream_t stream;

    /* Of the sorted nonzeros: */
    const uint64_t *line; /* pairs.key[0], or NULL where pairs.payload[0] has positions in x    */
    uint8_t *flag;        /* (nnz): the first nonzero of a block; device, owned             */
    uint64_t *count;      /* (1) device, owned                                              */
};

/* pairs = room for lines and values: x's own arrays if options->last. */
static enum status take_pairs(struct build *w, uint64_t nnz, struct error *error)
{
    struct device_coo *x = w->x;
    struct device_pairs *p = &w->pairs;
    const enum precision precision = w->options->precision;
    *p = (struct device_pairs){.n = nnz, .payload_size = (int)precision_bytes(precision)};
    if (w->options->last) {
        p->key[0] = x->line;
        x->line = NULL;
    }
    if (w->options->last && precision == PRECISION_DOUBLE) {
        p->payload[0] = x->value;
        x->value = NULL;
    }
    return device_pairs_complete(p, w->pool, error);
}

/* pairs = the lines, sorted, and the values; sorted in pieces where there is no room to sort all at
 * once and x stays as it is. */
static enum status sort_lines(struct device_blco *b, struct build *w, struct error *error)
{
    const uint64_t *line = w->x->line;
    const double *value = w->x->value;
    struct device_pairs *p = &w->pairs;
    struct bit_moves moves;
    TRY(take_pairs(w, b->nnz, error));
    ordering_moves_create(&moves, &w->x->ordering, &b->ordering, ORDERING_LINE, 0);
    const bool same = p->key[0] == line && ordering_moves_identity(&moves, b->ordering.line_bits);
    if (!same)
        TRY(cuda_status(linearise_words(line, p->key[0], b->nnz, &moves, w->stream), doing, error));
    if (p->payload[0] != value)
        TRY(cuda_status(linearise_gather(value, sizeof *value, NULL, 0, p->payload[0],
                                         p->payload_size, b->nnz, w->stream),
                        doing, error));
    int sorted = device_coo_sorted_bits(w->x, &b->ordering), bits = b->ordering.line_bits;
    if (device_pairs_sort(p, sorted, bits, w->pool, error) != STATUS_MEMORY || w->options->last)
        return error->status;
    const struct line_pieces_nonzeros x = {line, value, b->nnz, moves, 0};
    *error = (struct error){0};
    return device_pairs_sort_pieces(p, &x, sorted, bits, w->pool, error);
}

/* b->index = the lines as indices, in place. */
static enum status store_lines(struct device_blco *b, struct build *w, struct error *error)
{
    struct bit_moves moves;
    uint64_t *line = w->pairs.key[0];
    ordering_moves_create(&moves, &b->ordering, &b->ordering, ORDERING_INDEX, 0);
    b->index[0] = line;
    b->value = w->pairs.payload[0];
    w->pairs.key[0] = NULL;
    w->pairs.payload[0] = NULL;
    if (ordering_moves_identity(&moves, b->ordering.line_bits))
        return STATUS_OK;
    return cuda_status(linearise_words(line, line, b->nnz, &moves, w->stream), doing, error);
}

/* pairs.payload = the positions of the nonzeros in line order. */
static enum status sort_positions(struct device_blco *b, struct build *w, struct error *error)
{
    TRY(device_pairs_take(&w->pairs, b->nnz, device_pairs_position_size(b->nnz), w->pool, error));
    return device_coo_sort_positions(&w->pairs, w->x, &b->ordering, error);
}

/* Gathers indices and values; the indices go into the room that the keys leave. */
static enum status gather_nonzeros(struct device_blco *b, struct build *w, struct error *error)
{
    const struct device_coo *x = w->x;
    struct linearise_coordinates coordinates = device_coo_coordinates(x);
    const void *position = w->pairs.payload[0];
    const int size = w->pairs.payload_size, bytes = (int)precision_bytes(w->options->precision);
    cudaError_t code;
    device_pairs_give_keys(&w->pairs, w->pool);
    for (int word = 0; word < b->ordering.words; word++) {
        struct bit_moves moves;
        b->index[word] = device_pool_take(w->pool, b->nnz, sizeof *b->index[word], error);
        if (!b->index[word])
            return error->status;
        ordering_moves_create(&moves, NULL, &b->ordering, ORDERING_INDEX, word);
        code = linearise_gather_words(&coordinates, position, size, b->index[word], b->nnz, &moves,
                                      w->stream);
        TRY(cuda_status(code, doing, error));
    }
    b->value = device_pool_take(w->pool, b->nnz, (size_t)bytes, error);
    if (!b->value)
        return error->status;
    code = linearise_gather(x->value, sizeof *x->value, position, size, b->value, bytes, b->nnz,
                            w->stream);
    return cuda_status(code, doing, error);
}

static int lowest_of(const struct device_blco_options *options)
{
    return options->lowest ? *options->lowest : -1;
}

static const char cutting[] = "cutting the tensor into blocks";

static bool is_cut(const struct ordering *o)
{
    return o->cut < o->line_bits;
}

/* *nblocks = how many blocks the ordering's cut makes; w->flag says where they begin. Waits for the
 * stream. STATUS_MEMORY. */
static enum status count_blocks(struct build *w, const struct ordering *o, uint64_t *nblocks,
                                struct error *error)
{
    const uint64_t nnz = w->x->nnz;
    cudaError_t code;
    *nblocks = nnz > 0;
    if (!is_cut(o))
        return STATUS_OK;
    if (!w->flag)
        w->flag = device_pool_take(w->pool, nnz, sizeof *w->flag, error);
    if (!w->count)
        w->count = device_pool_take(w->pool, 1, sizeof *w->count, error);
    if (!w->flag || !w->count)
        return error->status;

    if (w->line) {
        code = linearise_flag_lines(w->line, o->cut, w->flag, w->count, nnz, w->stream);
    } else {
        struct linearise_coordinates coordinates = device_coo_coordinates(w->x);
        uint32_t above[MAX_ORDER];
        for (int n = 0; n < o->order; n++)
            above[n] = (uint32_t)(((UINT64_C(1) << o->mode_bits[n]) - 1) & ~o->field[n].mask);
        code = linearise_flag_coordinates(&coordinates, above, w->pairs.payload[0],
                                          w->pairs.payload_size, w->flag, w->count, nnz, w->stream);
    }
    TRY(cuda_status(code, cutting, error));
    return device_fetch(nblocks, w->count, sizeof *nblocks, w->stream, cutting, error);
}

/* first (nblocks, device) = the first nonzero of each block. */
static enum status find_first(struct build *w, uint64_t *first, struct error *error)
{
    size_t bytes = 0;
    const uint64_t nnz = w->x->nnz;
    cudaError_t code =
        arrays_select(NULL, &bytes, w->flag, first, sizeof *first, w->count, nnz, w->stream);
    TRY(cuda_status(code, cutting, error));
    void *temporary = device_pool_take(w->pool, bytes, 1, error);
    if (!temporary)
        return error->status;
    code =
        arrays_select(temporary, &bytes, w->flag, first, sizeof *first, w->count, nnz, w->stream);
    device_pool_give(w->pool, temporary);
    return cuda_status(code, cutting, error);
}

/* host (words of a line x nblocks) = the lines of the nonzeros `first` (nblocks, device). line and
 * at (nblocks x 8 bytes, device): scratch. Asynchronous. */
static cudaError_t fetch_lines(struct build *w, const struct ordering *o, const uint64_t *first,
                               uint64_t nblocks, uint64_t *line, void *at, uint64_t *host)
{
    struct linearise_coordinates coordinates = device_coo_coordinates(w->x);
    int size = w->line ? (int)sizeof *w->line : w->pairs.payload_size;
    const void *from = w->line ? (const void *)w->line : w->pairs.payload[0];
    cudaError_t code = linearise_gather(from, size, first, sizeof *first, w->line ? line : at, size,
                                        nblocks, w->stream);
    for (int word = 0; code == cudaSuccess && 64 * word < o->line_bits; word++) {
        struct bit_moves moves;
        ordering_moves_create(&moves, NULL, o, ORDERING_LINE, word);
        if (!w->line)
            code = linearise_gather_words(&coordinates, at, size, line, nblocks, &moves, w->stream);
        if (code == cudaSuccess)
            code = cudaMemcpyAsync(host + (uint64_t)word * nblocks, line, nblocks * sizeof *line,
                                   cudaMemcpyDeviceToHost, w->stream);
    }
    return code;
}

/* block (nblocks), zeroed = the table of the blocks that count_blocks has found. Waits for the
 * stream. STATUS_MEMORY. */
static enum status fill_table(struct build *w, const struct ordering *o, uint64_t nblocks,
                              struct blco_block *block, struct error *error)
{
    const struct device_pool *pool = w->pool;
    const uint64_t nnz = w->x->nnz, words = (uint64_t)(o->line_bits + 63) / 64;
    uint64_t *first = device_pool_take(pool, nblocks, sizeof *first, error);
    uint64_t *line = device_pool_take(pool, nblocks, sizeof *line, error);
    void *at = device_pool_take(pool, nblocks, sizeof(uint64_t), error);
    uint64_t *host_first = memory_array(nblocks, sizeof *host_first, error);
    uint64_t *host_line = memory_array(nblocks, words * sizeof *host_line, error);
    TRY_OR(done, error->status);
    TRY_OR(done, find_first(w, first, error));
    cudaError_t code = cudaMemcpyAsync(host_first, first, nblocks * sizeof *first,
                                       cudaMemcpyDeviceToHost, w->stream);
    TRY_OR(done, cuda_status(code, cutting, error));
    TRY_OR(done,
           cuda_status(fetch_lines(w, o, first, nblocks, line, at, host_line), cutting, error));
    TRY_OR(done, cuda_status(cudaStreamSynchronize(w->stream), cutting, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nblocks; i++) {
        uint64_t own[MAX_LINE_WORDS];
        for (int word = 0; 64 * word < o->line_bits; word++)
            own[word] = host_line[(uint64_t)word * nblocks + i];
        block[i].first = host_first[i];
        block[i].count = (i + 1 < nblocks ? host_first[i + 1] : nnz) - host_first[i];
        ordering_base(o, own, block[i].base);
    }
done:
    device_pool_give(pool, first);
    device_pool_give(pool, line);
    device_pool_give(pool, at);
    memory_free(host_first);
    memory_free(host_line);
    return error->status;
}

/* Chooses between one and two index words and cuts the nonzeros into blocks. */
static enum status find_blocks(struct device_blco *b, struct build *w, struct error *error)
{
    struct ordering *o = &b->ordering;
    uint64_t nblocks;
    TRY(count_blocks(w, o, &nblocks, error));
    if (w->options->index_bits == 0 && !w->options->tile && nblocks > 1 &&
        b->nnz / nblocks < BLCO_FEW_NONZEROS) {
        ordering_create_lowest(o, o->kind, lowest_of(w->options), &b->shape, 128);
        TRY(count_blocks(w, o, &nblocks, error));
    }
    b->nblocks = nblocks;
    b->block = memory_zeros(nblocks, sizeof *b->block, error);
    if (!b->block)
        return error->status;
    if (is_cut(o))
        return fill_table(w, o, nblocks, b->block, error);
    if (nblocks > 0)
        b->block->count = w->x->nnz;
    return STATUS_OK;
}

static enum status lay_out(struct device_blco *b, const struct device_blco_options *options,
                           struct error *error)
{
    const int bits = options->index_bits ? options->index_bits : 64, lowest = lowest_of(options);
    if (!options->tile)
        ordering_create_lowest(&b->ordering, options->kind, lowest, &b->shape, bits);
    else if (!ordering_create_tiled(&b->ordering, options->kind, options->tile, lowest, &b->shape))
        return error_set(error, STATUS_INTERNAL, "%s: tiles of indices of two words", doing);
    return STATUS_OK;
}

enum status device_blco_build(struct device_blco *b, struct device_coo *x,
                              const struct device_blco_options *options, struct error *error)
{
    const bool lines = x->line != NULL;
    struct build w = {.x = x, .pool = x->pool, .options = options, .stream = x->pool->stream};
    *b = (struct device_blco){.shape = x->shape, .nnz = x->nnz};
    TRY(lay_out(b, options, error));
    if ((lines ? sort_lines : sort_positions)(b, &w, error) != STATUS_OK)
        goto done;
    w.line = lines ? w.pairs.key[0] : NULL;
    TRY_OR(done, find_blocks(b, &w, error));
    (lines ? store_lines : gather_nonzeros)(b, &w, error);
done:
    device_pool_give(w.pool, w.flag);
    device_pool_give(w.pool, w.count);
    device_pairs_give(&w.pairs, w.pool);
    if (error->status != STATUS_OK) {
        (void)cudaStreamSynchronize(w.stream);
        device_blco_free(b);
    }
    return error->status;
}

void device_blco_free(struct device_blco *b)
{
    device_free(b->index[0]);
    device_free(b->index[1]);
    device_free(b->value);
    memory_free(b->block);
    memset(b, 0, sizeof *b);
}
