#include "commands/model_entries.h"

#include <string.h>

#include "base/least.h"

#define MOST_MEMORY (UINT64_C(256) << 20) /* bytes of the entries that are in memory at a time */

enum status model_entries_find_format(struct tensor_reader *r, struct error *error)
{
    TRY(tensor_file_find_format(r, error));
    if (r->format == &tensor_csv)
        return error_set(
            error, STATUS_INPUT,
            "%s: is CSV, expected indices: convert it with blco convert --columns, and "
            "--order with the .map files of the model's tensor",
            r->path);
    return STATUS_OK;
}

enum status model_entries_each(const struct tensor_reader *reader, const struct shape *model,
                               bool values_optional, coo_taker take, void *context,
                               struct error *error)
{
    struct tns_options options = *reader->tns;
    struct tensor_reader r = *reader;
    r.tns = &options;
    r.cut = TENSOR_PIECES;
    r.memory = least_of(r.memory / 2, MOST_MEMORY);
    options.ndims = model->order;
    memcpy(options.dims, model->dims, sizeof options.dims);
    options.order_origin = "the model";
    options.values_optional = values_optional;
    TRY_OR(done, tensor_reader_open(&r, error));
    if (r.format->is_clean && r.shape.order != model->order)
        TRY_OR(done,
               error_set(error, STATUS_INPUT, "%s: %d mode%s, but the model has %d", reader->path,
                         r.shape.order, r.shape.order == 1 ? "" : "s", model->order));
    for (int n = 0; r.format->is_clean && n < model->order; n++)
        if (r.shape.dims[n] > model->dims[n])
            TRY_OR(done,
                   error_set(error, STATUS_INPUT,
                             "%s: mode %d: length %ju, expected at most %ju, as the model has it",
                             reader->path, n + 1, (uintmax_t)r.shape.dims[n],
                             (uintmax_t)model->dims[n]));
    tensor_reader_hand(&r, take, context, error);
done:
    tensor_reader_close(&r);
    return error->status;
}
