/* The nonzeros of a part of the tensor. They are decoded twice, some at a time: to be counted, so
 * that the arrays have no more room than they need, and to be selected. */
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_coo.h"
#include "backend/cuda/tensor/device_decoder.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "kernels/tensor/part.h"
#include "formats/blco/segment_rows.h"
#include "tensor/ordering_moves.h"

static const char doing[] = "decoding a part of the tensor on the GPU";

/* What selecting takes beside the result. */
struct selection {
    const struct device_pool *pool;
    struct device_decoder decoder;
    struct part_nonzeros decoded; /* the nonzeros that are decoded at present                */
    uint64_t *word[PACKED_WORDS]; /* (nonzeros decoded at a time) each; device, owned        */
    double *value;                /* likewise                                                */
    uint64_t tiles;               /* of SELECT_TILE nonzeros at most                           */
    uint64_t *count;              /* (tiles + 1): of the part's nonzeros; device, owned      */
};

static uint64_t tiles_of(uint64_t nnz)
{
    return (nnz + SELECT_TILE - 1) / SELECT_TILE;
}

static uint64_t end_of(const struct device_decoder *w, uint64_t begin)
{
    return w->segments - begin < w->at_once ? w->segments : begin + w->at_once;
}

static enum status open_decoder(struct selection *s, const struct blco_file *f,
                                const struct part *part, struct error *error)
{
    struct device_decoder *d = &s->decoder;
    *d = (struct device_decoder){.file = f, .pool = s->pool};
    if (!decoded_layout_create(&d->layout, &f->shape))
        return error_set(error, STATUS_INTERNAL, "coordinates that do not fit into two words");
    TRY(segment_rows_of_part(&d->number, &d->segments, f, part, error));
    s->decoded.layout = d->layout;
    for (int n = 0; n < d->layout.order; n++) {
        s->decoded.first[n] = (uint32_t)part->first[n];
        s->decoded.rows[n] = (uint32_t)part->here.dims[n];
    }
    return device_decoder_open(d, 0, error);
}

static enum status take(struct selection *s, struct error *error)
{
    const struct device_decoder *w = &s->decoder;
    uint64_t most = device_decoder_nnz(w, 0, end_of(w, 0));
    for (uint64_t b = 0; b < w->segments; b += w->at_once)
        s->tiles += tiles_of(device_decoder_nnz(w, b, end_of(w, b)));
    s->value = device_pool_take(s->pool, most, sizeof *s->value, error);
    if (!s->value)
        return error->status;
    s->count = device_pool_take(s->pool, s->tiles + 1, sizeof *s->count, error);
    if (!s->count)
        return error->status;
    for (int i = 0; i < s->decoded.layout.words; i++) {
        s->word[i] = device_pool_take(s->pool, most, sizeof *s->word[i], error);
        if (!s->word[i])
            return error->status;
    }
    return STATUS_OK;
}

static void give(struct selection *s)
{
    for (int i = 0; i < PACKED_WORDS; i++)
        device_pool_give(s->pool, s->word[i]);
    device_pool_give(s->pool, s->value);
    device_pool_give(s->pool, s->count);
    device_decoder_close(&s->decoder);
}

/* Decodes segments [begin, end); s->decoded are their nonzeros. */
static enum status decode(struct selection *s, uint64_t begin, uint64_t end, struct error *error)
{
    s->decoded.nnz = device_decoder_nnz(&s->decoder, begin, end);
    s->decoded.index[0] = s->word[0];
    s->decoded.index[1] = s->word[1];
    s->decoded.value = s->value;
    return device_decoder_unpack(&s->decoder, begin, end, s->word, s->value, error);
}

/* The counts become the places where the tiles' nonzeros begin; *nnz = the part's nonzeros. */
static enum status add_up(struct selection *s, uint64_t *nnz, struct error *error)
{
    size_t bytes = 0;
    cudaStream_t stream = s->pool->stream;
    cudaError_t code = select_scan(NULL, &bytes, s->count, s->tiles + 1, stream);
    TRY(cuda_status(code, doing, error));
    void *temporary = device_pool_take(s->pool, bytes, 1, error);
    if (!temporary)
        return error->status;
    code = select_scan(temporary, &bytes, s->count, s->tiles + 1, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    device_fetch(nnz, s->count + s->tiles, sizeof *nnz, stream, doing, error);
done:
    device_pool_give(s->pool, temporary);
    return error->status;
}

static enum status count(struct selection *s, uint64_t *nnz, struct error *error)
{
    const struct device_decoder *w = &s->decoder;
    uint64_t tile = 0;
    cudaError_t code = cudaMemsetAsync(s->count + s->tiles, 0, sizeof *s->count, s->pool->stream);
    TRY(cuda_status(code, doing, error));
    for (uint64_t b = 0; b < w->segments; b += w->at_once) {
        TRY(decode(s, b, end_of(w, b), error));
        code = part_count(&s->decoded, s->count + tile, s->pool->stream);
        TRY(cuda_status(code, doing, error));
        tile += tiles_of(s->decoded.nnz);
    }
    return add_up(s, nnz, error);
}

static enum status select_all(struct selection *s, struct device_coo *d, struct error *error)
{
    const struct device_decoder *w = &s->decoder;
    uint64_t tile = 0;
    d->value = device_pool_take(d->pool, d->nnz, sizeof *d->value, error);
    if (!d->value)
        return error->status;
    TRY(device_coo_take_indices(d, error));
    for (uint64_t b = 0; b < w->segments; b += w->at_once) {
        TRY(decode(s, b, end_of(w, b), error));
        cudaError_t code =
            part_select(&s->decoded, s->count + tile, d->index, d->value, s->pool->stream);
        TRY(cuda_status(code, doing, error));
        tile += tiles_of(s->decoded.nnz);
    }
    return STATUS_OK;
}

/* d->norm_sq is set when the stream gets there. */
static enum status sum_squares(struct device_coo *d, struct error *error)
{
    size_t bytes = 0;
    cudaStream_t stream = d->pool->stream;
    void *temporary = NULL;
    double *sum = device_pool_take(d->pool, 1, sizeof *sum, error);
    if (!sum)
        return error->status;
    cudaError_t code = part_norm_sq(NULL, &bytes, d->value, d->nnz, sum, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    temporary = device_pool_take(d->pool, bytes, 1, error);
    if (!temporary)
        goto done;
    code = part_norm_sq(temporary, &bytes, d->value, d->nnz, sum, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    code = cudaMemcpyAsync(&d->norm_sq, sum, sizeof *sum, cudaMemcpyDeviceToHost, stream);
    cuda_status(code, doing, error);
done:
    device_pool_give(d->pool, temporary);
    device_pool_give(d->pool, sum);
    return error->status;
}

static enum status decode_selected(struct device_coo *d, struct selection *s,
                                   struct device_staging *staging, struct error *error)
{
    TRY(take(s, error));
    TRY(device_decoder_send(&s->decoder, staging, error));
    TRY(count(s, &d->nnz, error));
    if (d->nnz > 0)
        TRY(select_all(s, d, error));
    if (d->nnz > 0)
        TRY(sum_squares(d, error));
    return device_decoder_finish(&s->decoder, error);
}

enum status device_coo_decode_part(struct device_coo *d, const struct blco_file *f,
                                   const struct part *part, struct device_staging *staging,
                                   const struct device_pool *pool, struct error *error)
{
    struct selection s = {.pool = pool};
    const struct shape shape = part_shape(part);
    device_coo_init(d, &shape, 0, pool);
    TRY_OR(done, open_decoder(&s, f, part, error));
    if (s.decoder.segments > 0)
        decode_selected(d, &s, staging, error);
done:
    if (error->status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    give(&s);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}

enum status device_coo_touched(const struct device_coo *d, int n, unsigned char *touched,
                               uint64_t rows, struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    uint8_t *marks = device_pool_take(d->pool, rows, sizeof *marks, error);
    if (!marks)
        return error->status;
    TRY_OR(done, cuda_status(cudaMemsetAsync(marks, 0, rows, stream), doing, error));
    TRY_OR(done, cuda_status(part_touch(d->index[n], d->nnz, marks, stream), doing, error));
    device_fetch(touched, marks, rows, stream, doing, error);
done:
    device_pool_give(d->pool, marks);
    return error->status;
}

enum status device_coo_renumber(struct device_coo *d, int n, const uint32_t *place, uint64_t rows,
                                struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    uint32_t *to = device_pool_take(d->pool, rows, sizeof *to, error);
    if (!to)
        return error->status;
    cudaError_t code =
        cudaMemcpyAsync(to, place, rows * sizeof *to, cudaMemcpyHostToDevice, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    TRY_OR(done, cuda_status(part_renumber(d->index[n], d->nnz, to, stream), doing, error));
    cuda_status(cudaStreamSynchronize(stream), doing, error);
done:
    device_pool_give(d->pool, to);
    return error->status;
}

enum status device_coo_linearise(struct device_coo *d, const struct shape *shape,
                                 struct error *error)
{
    struct bit_moves moves;
    d->shape = *shape;
    ordering_common(&d->ordering, shape);
    if (d->ordering.line_bits > 64 || d->nnz == 0)
        return STATUS_OK;
    d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
    if (!d->line)
        return error->status;
    const struct linearise_coordinates coordinates = device_coo_coordinates(d);
    ordering_moves_create(&moves, NULL, &d->ordering, ORDERING_LINE, 0);
    cudaError_t code =
        linearise_gather_words(&coordinates, NULL, 0, d->line, d->nnz, &moves, d->pool->stream);
    for (int n = 0; n < d->shape.order; n++) {
        device_pool_give(d->pool, d->index[n]);
        d->index[n] = NULL;
    }
    return cuda_status(code, doing, error);
}
