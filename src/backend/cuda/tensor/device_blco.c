#include "backend/cuda/tensor/device_blco.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "base/memory.h"
#include "kernels/tensor/linearise.h"
#include "tensor/ordering.h"

static const char doing[] = "building the tensor on the GPU";

struct build {
    struct device_coo *x;
    const struct device_pool *pool; /* x's */
    struct array_pairs pairs;       /* lines and values, or keys and positions */
    const struct device_blco_options *options;
    int lowest; /* options->lowest, or -1 */
    cudaStream_t stream;

    /* Of the sorted nonzeros: */
    const uint64_t *line; /* pairs.key[0], or NULL where pairs.value[0] has positions in x    */
    uint8_t *flag;        /* (nnz): the first nonzero of a block; device, owned             */
    uint64_t *count;      /* (1) device, owned                                              */
};

/* pairs = the lines, sorted, and the values, in x's own arrays if options->last; sorted in pieces
 * where there is no room to sort all at once and x stays as it is. */
static enum status sort_lines(struct device_blco *b, struct build *w, struct error *error)
{
    struct device_coo *x = w->x;
    const uint64_t *line = x->line;
    const double *value = x->value;
    const enum precision precision = w->options->precision;
    struct array_pairs *p = &w->pairs;
    struct bit_moves moves;
    *p = (struct array_pairs){
        .count = b->nnz, .key_size = sizeof *line, .value_size = (int)precision_bytes(precision)};
    if (w->options->last) {
        p->key[0] = x->line;
        x->line = NULL;
    }
    if (w->options->last && precision == PRECISION_DOUBLE) {
        p->value[0] = x->value;
        x->value = NULL;
    }
    TRY(device_pairs_complete(p, 0, w->pool, error));
    ordering_moves_create(&moves, &x->ordering, &b->ordering, ORDERING_LINE, 0);
    const bool same = p->key[0] == line && ordering_moves_identity(&moves, b->ordering.line_bits);
    if (!same)
        TRY(cuda_status(linearise_words(line, p->key[0], b->nnz, &moves, w->stream), doing, error));
    if (p->value[0] != value)
        TRY(cuda_status(linearise_gather(value, sizeof *value, NULL, 0, p->value[0], p->value_size,
                                         b->nnz, w->stream),
                        doing, error));
    int sorted = device_coo_sorted_bits(x, &b->ordering), bits = b->ordering.line_bits;
    if (device_pairs_sort(p, sorted, bits, w->pool, error) != STATUS_MEMORY || w->options->last)
        return error->status;
    const struct line_pieces_nonzeros all = {line, value, b->nnz, moves, 0};
    *error = (struct error){0};
    return device_pairs_sort_pieces(p, &all, sorted, bits, w->pool, error);
}

/* b->index = the lines as indices, in place. */
static enum status store_lines(struct device_blco *b, struct build *w, struct error *error)
{
    struct bit_moves moves;
    uint64_t *line = w->pairs.key[0];
    ordering_moves_create(&moves, &b->ordering, &b->ordering, ORDERING_INDEX, 0);
    b->index[0] = line;
    b->value = w->pairs.value[0];
    w->pairs.key[0] = NULL;
    w->pairs.value[0] = NULL;
    if (ordering_moves_identity(&moves, b->ordering.line_bits))
        return STATUS_OK;
    return cuda_status(linearise_words(line, line, b->nnz, &moves, w->stream), doing, error);
}

/* Gathers indices and values; the indices go into the room that the keys leave. */
static enum status gather_nonzeros(struct device_blco *b, struct build *w, struct error *error)
{
    const struct device_coo *x = w->x;
    struct tuples_nonzeros coordinates = device_coo_tuples(x);
    const void *position = w->pairs.value[0];
    const int size = w->pairs.value_size, bytes = (int)precision_bytes(w->options->precision);
    cudaError_t code;
    device_pairs_give_keys(&w->pairs, w->pool);
    for (int word = 0; word < b->ordering.words; word++) {
        struct bit_moves moves;
        b->index[word] = device_pool_take(w->pool, b->nnz, sizeof *b->index[word], error);
        TRY(error->status);
        ordering_moves_create(&moves, NULL, &b->ordering, ORDERING_INDEX, word);
        code = linearise_gather_words(&coordinates, position, size, b->index[word], b->nnz, &moves,
                                      w->stream);
        TRY(cuda_status(code, doing, error));
    }
    b->value = device_pool_take(w->pool, b->nnz, (size_t)bytes, error);
    TRY(error->status);
    code = linearise_gather(x->value, sizeof *x->value, position, size, b->value, bytes, b->nnz,
                            w->stream);
    return cuda_status(code, doing, error);
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
    TRY(error->status);

    if (w->line) {
        code = linearise_flag_lines(w->line, o->cut, w->flag, w->count, nnz, w->stream);
    } else {
        struct tuples_nonzeros coordinates = device_coo_tuples(w->x);
        uint32_t above[MAX_ORDER] = {0};
        for (int n = 0; n < o->order; n++)
            above[n] = (uint32_t)(((UINT64_C(1) << o->mode_bits[n]) - 1) & ~o->field[n].mask);
        code = linearise_flag_coordinates(&coordinates, above, w->pairs.value[0],
                                          w->pairs.value_size, w->flag, w->count, nnz, w->stream);
    }
    TRY(cuda_status(code, cutting, error));
    return device_fetch(nblocks, w->count, sizeof *nblocks, w->stream, cutting, error);
}

/* block (nblocks), zeroed = the table of the blocks that count_blocks has found. Waits for the
 * stream. STATUS_MEMORY. */
static enum status fill_table(struct build *w, const struct ordering *o, uint64_t nblocks,
                              struct blco_block *block, struct error *error)
{
    const struct device_pool *pool = w->pool;
    const struct tuples_nonzeros coordinates = device_coo_tuples(w->x);
    const uint64_t nnz = w->x->nnz, words = (uint64_t)(o->line_bits + 63) / 64;
    const int size = w->line ? (int)sizeof *w->line : w->pairs.value_size;
    const void *from = w->line ? (const void *)w->line : w->pairs.value[0];
    uint64_t *first = device_pool_take(pool, nblocks, sizeof *first, error);
    uint64_t *line = device_pool_take(pool, nblocks, sizeof *line, error);
    void *at = device_pool_take(pool, nblocks, sizeof(uint64_t), error);
    uint64_t *host_first = memory_array(nblocks, sizeof *host_first, error);
    uint64_t *host_line = memory_array(nblocks, words * sizeof *host_line, error);
    TRY_OR(done, error->status);
    TRY_OR(done, device_pairs_select(w->flag, nnz, first, sizeof *first, &nblocks, pool, error));
    TRY_OR(done,
           device_copy(host_first, first, nblocks * sizeof *first, w->stream, cutting, error));
    /* the lines of the first nonzeros, or their positions and then their lines, word by word */
    cudaError_t code = linearise_gather(from, size, first, sizeof *first, w->line ? line : at, size,
                                        nblocks, w->stream);
    TRY_OR(done, cuda_status(code, cutting, error));
    for (uint64_t word = 0; word < words; word++) {
        struct bit_moves moves;
        ordering_moves_create(&moves, NULL, o, ORDERING_LINE, (int)word);
        if (!w->line)
            code = linearise_gather_words(&coordinates, at, size, line, nblocks, &moves, w->stream);
        TRY_OR(done, cuda_status(code, cutting, error));
        TRY_OR(done, device_copy(host_line + word * nblocks, line, nblocks * sizeof *line,
                                 w->stream, cutting, error));
    }
    TRY_OR(done, cuda_status(cudaStreamSynchronize(w->stream), cutting, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nblocks; i++) {
        uint64_t own[MAX_LINE_WORDS];
        for (uint64_t word = 0; word < words; word++)
            own[word] = host_line[word * nblocks + i];
        block[i].first = host_first[i];
        block[i].count = (i + 1 < nblocks ? host_first[i + 1] : nnz) - host_first[i];
        ordering_base(o, own, block[i].base);
    }
done:
    device_pool_give(pool, first, line, at);
    memory_free(host_first, host_line);
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
        ordering_create_lowest(o, o->kind, w->lowest, &b->shape, 128);
        TRY(count_blocks(w, o, &nblocks, error));
    }
    b->nblocks = nblocks;
    b->block = memory_zeros(nblocks, sizeof *b->block, error);
    TRY(error->status);
    if (is_cut(o))
        return fill_table(w, o, nblocks, b->block, error);
    if (nblocks > 0)
        b->block->count = w->x->nnz;
    return STATUS_OK;
}

enum status device_blco_build(struct device_blco *b, struct device_coo *x,
                              const struct device_blco_options *options, struct error *error)
{
    const bool lines = x->line != NULL;
    const int bits = options->index_bits ? options->index_bits : 64;
    const int lowest = options->lowest ? *options->lowest : -1;
    struct build w = {
        .x = x, .pool = x->pool, .options = options, .lowest = lowest, .stream = x->pool->stream};
    *b = (struct device_blco){.shape = x->shape, .nnz = x->nnz};
    if (!options->tile)
        ordering_create_lowest(&b->ordering, options->kind, lowest, &b->shape, bits);
    else if (!ordering_create_tiled(&b->ordering, options->kind, options->tile, lowest, &b->shape))
        return error_set(error, STATUS_INTERNAL, "%s: tiles of indices of two words", doing);
    if (lines) {
        TRY_OR(done, sort_lines(b, &w, error));
        w.line = w.pairs.key[0];
    } else {
        const int size = device_pairs_position_size(b->nnz);
        TRY_OR(done, device_pairs_take(&w.pairs, b->nnz, size, w.pool, error));
        TRY_OR(done, device_coo_sort_positions(&w.pairs, x, &b->ordering, error));
    }
    TRY_OR(done, find_blocks(b, &w, error));
    (lines ? store_lines : gather_nonzeros)(b, &w, error);
done:
    device_pool_give(w.pool, w.flag, w.count);
    device_pairs_give(&w.pairs, w.pool);
    if (error->status != STATUS_OK) {
        (void)cudaStreamSynchronize(w.stream);
        device_blco_free(b);
    }
    return error->status;
}

void device_blco_free(struct device_blco *b)
{
    device_free(b->index[0], b->index[1], b->value);
    memory_free(b->block);
    memset(b, 0, sizeof *b);
}
