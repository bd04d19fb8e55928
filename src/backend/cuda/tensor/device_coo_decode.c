#include "backend/cuda/tensor/device_coo.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_decoder.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/packed_tensor.h"

/* Decodes all segments, some at a time: to lines, or to words, which become coordinates. */
static enum status decode(const struct device_coo *d, const struct device_decoder *w,
                          uint64_t *const *word, struct error *error)
{
    uint64_t first = 0;
    for (uint64_t s = 0; s < w->segments; s += w->at_once) {
        uint64_t end = w->segments - s < w->at_once ? w->segments : s + w->at_once;
        uint64_t nnz = device_decoder_nnz(w, s, end);
        uint64_t *line[PACKED_WORDS] = {d->line ? d->line + first : word[0], word[1]};
        struct unpack_coordinates_args split = {
            .layout = w->layout, .index = {word[0], word[1]}, .nnz = nnz};
        TRY(device_decoder_unpack(w, s, end, line, d->value + first, error));
        for (int n = 0; n < d->shape.order && !d->line; n++)
            split.coordinate[n] = d->index[n] + first;
        if (!d->line)
            TRY(cuda_status(unpack_coordinates_launch(&split, d->pool->stream),
                            "decoding the tensor on the GPU", error));
        first += nnz;
    }
    return STATUS_OK;
}

/* Takes the arrays of nonzeros, and sets the layout to which the file is decoded. */
static enum status prepare(struct device_coo *d, struct packed_layout *layout, struct error *error)
{
    d->value = device_pool_take(d->pool, d->nnz, sizeof *d->value, error);
    if (!d->value)
        return error->status;
    if (d->ordering.line_bits <= 64) {
        decoded_layout_of_line(layout, &d->ordering, &d->shape);
        d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
        return error->status;
    }
    (void)decoded_layout_create(layout, &d->shape);
    return device_coo_take_indices(d, error);
}

static enum status take_words(const struct device_coo *d, const struct device_decoder *w,
                              uint64_t **word, struct error *error)
{
    uint64_t most = device_decoder_nnz(w, 0, w->at_once < w->segments ? w->at_once : w->segments);
    for (int i = 0; i < PACKED_WORDS && !d->line; i++) {
        word[i] = device_pool_take(d->pool, most, sizeof *word[i], error);
        if (!word[i])
            return error->status;
    }
    return STATUS_OK;
}

/* Opens a decoder of all segments. */
static enum status open_decoder(struct device_decoder *w, const struct device_coo *d,
                                const struct blco_file *f, const struct packed_layout *layout,
                                struct error *error)
{
    uint64_t segments = f->header->nsegments;
    uint64_t room = d->nnz * sizeof *d->line; /* the same size as the sort takes afterwards */
    *w = (struct device_decoder){.file = f,
                                 .pool = d->pool,
                                 .layout = *layout,
                                 .number = memory_array(segments, sizeof *w->number, error),
                                 .segments = segments};
    if (!w->number)
        return error->status;
    for (uint64_t s = 0; s < segments; s++)
        w->number[s] = s;
    return device_decoder_open(w, room, error);
}

enum status device_coo_decode(struct device_coo *d, const struct blco_file *f,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    struct device_decoder w = {0};
    struct packed_layout layout;
    uint64_t *word[PACKED_WORDS] = {NULL};
    device_coo_init(d, &f->shape, f->header->nnz, pool);
    TRY_OR(done, prepare(d, &layout, error));
    TRY_OR(done, open_decoder(&w, d, f, &layout, error));
    TRY_OR(done, take_words(d, &w, word, error));
    TRY_OR(done, device_decoder_send(&w, staging, error));
    TRY_OR(done, decode(d, &w, word, error));
    if (packed_tensor_file_norm_sq(f, &d->norm_sq, error) !=
        STATUS_OK) /* while the device decodes */
        goto done;
    device_decoder_finish(&w, error);
done:
    if (error->status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    for (int i = 0; i < PACKED_WORDS; i++)
        device_pool_give(pool, word[i]);
    device_decoder_close(&w);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
