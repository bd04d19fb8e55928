#include "commands/model_entries.h"

#include <string.h>

#include "base/least.h"

#define MOST_MEMORY (UINT64_C(256) << 20) /* bytes of the entries that are in memory at a time */

enum status model_entries_format(const struct tensor_format **format, const char *path,
                                 struct error *error)
{
    struct tensor_reader r = {.path = path};
    TRY(tensor_file_find_format(&r, error));
    *format = r.format;
    if (r.format == &tensor_csv)
        return error_set(
            error, STATUS_INPUT,
            "%s: is CSV, expected indices: convert it with blco convert --columns, and "
            "--order with the .map files of the model's tensor",
            path);
    return STATUS_OK;
}

enum status model_entries_each(const struct model_entries *e, struct error *error)
{
    struct tns_options options = *e->tns;
    struct tensor_reader r = {.format = e->format,
                              .path = e->path,
                              .tns = &options,
                              .cut = TENSOR_PIECES,
                              .memory = least_of(e->memory / 2, MOST_MEMORY),
                              .overhead = e->overhead,
                              .progress = e->progress};
    options.ndims = e->shape->order;
    memcpy(options.dims, e->shape->dims, sizeof options.dims);
    options.order_origin = "the model";
    options.values_optional = e->values_optional;
    TRY_OR(done, tensor_reader_open(&r, error));
    if (r.format->is_clean) {
        const struct shape *model = e->shape;
        if (r.shape.order != model->order)
            TRY_OR(done,
                   error_set(error, STATUS_INPUT, "%s: %d mode%s, but the model has %d", e->path,
                             r.shape.order, r.shape.order == 1 ? "" : "s", model->order));
        for (int n = 0; n < model->order; n++)
            if (r.shape.dims[n] > model->dims[n])
                TRY_OR(done,
                       error_set(
                           error, STATUS_INPUT,
                           "%s: mode %d: length %ju, expected at most %ju, as the model has it",
                           e->path, n + 1, (uintmax_t)r.shape.dims[n], (uintmax_t)model->dims[n]));
    }
    tensor_reader_hand(&r, e->take, e->context, error);
done:
    tensor_reader_close(&r);
    return error->status;
}
