#include "backend/cuda/tensor/device_blco.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_block_finder.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "backend/cuda/tensor/device_piecewise_sort.h"
#include "base/memory.h"
#include "kernels/tensor/linearise.h"
#include "tensor/ordering_moves.h"

static const char doing[] = "building the tensor on the GPU";

struct build {
    struct device_coo *x;
    const struct device_pool *pool; /* x's */
    struct device_pairs pairs;      /* lines and values, or keys and positions */
    struct device_block_finder blocks;
    const struct device_blco_options *options;
    cudaStream_t stream;
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
    return device_piecewise_sort(p, &x, sorted, bits, w->pool, error);
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

/* Chooses between one and two index words and cuts the nonzeros into blocks. */
static enum status find_blocks(struct device_blco *b, struct build *w, struct error *error)
{
    struct ordering *o = &b->ordering;
    uint64_t nblocks;
    TRY(device_block_finder_count(&w->blocks, o, &nblocks, error));
    if (w->options->index_bits == 0 && !w->options->tile && nblocks > 1 &&
        b->nnz / nblocks < BLCO_FEW_NONZEROS) {
        ordering_create_lowest(o, o->kind, lowest_of(w->options), &b->shape, 128);
        TRY(device_block_finder_count(&w->blocks, o, &nblocks, error));
    }
    b->nblocks = nblocks;
    return device_block_finder_table(&w->blocks, o, nblocks, &b->block, error);
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
    struct build w = {
        .x = x, .pool = x->pool, .blocks = {.x = x}, .options = options, .stream = x->pool->stream};
    *b = (struct device_blco){.shape = x->shape, .nnz = x->nnz};
    TRY(lay_out(b, options, error));
    if ((lines ? sort_lines : sort_positions)(b, &w, error) != STATUS_OK)
        goto done;
    w.blocks.line = lines ? w.pairs.key[0] : NULL;
    w.blocks.position = lines ? NULL : w.pairs.payload[0];
    TRY_OR(done, find_blocks(b, &w, error));
    (lines ? store_lines : gather_nonzeros)(b, &w, error);
done:
    device_block_finder_close(&w.blocks);
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
