#include "commands/model_entries.h"

#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "formats/blco/blco_pieces.h"

#define MOST_MEMORY (UINT64_C(256) << 20) /* bytes of the entries that are in memory at a time */

enum status model_entries_format(enum tensor_format *format, const char *path, struct error *error)
{
    TRY(tensor_format(path, NULL, NULL, format, error));
    if (*format == TENSOR_CSV)
        return error_set(
            error, STATUS_INPUT,
            "%s: is CSV, expected indices: convert it with blco convert --columns, and "
            "--order with the .map files of the model's tensor",
            path);
    return STATUS_OK;
}

static uint64_t piece_memory(const struct model_entries *e)
{
    return least_of(e->memory / 2, MOST_MEMORY);
}

static enum status text_each(const struct model_entries *e, struct error *error)
{
    struct coo last = {0};
    struct tns_report report;
    struct tns_options options = *e->tns;
    const struct tns_pieces pieces = {.memory = piece_memory(e),
                                      .overhead = e->overhead,
                                      .take = e->take,
                                      .context = e->context,
                                      .progress = e->progress};
    options.ndims = e->shape->order;
    memcpy(options.dims, e->shape->dims, sizeof options.dims);
    options.order_origin = "the model";
    options.values_optional = e->values_optional;
    TRY(tensor_read_pieces(&last, e->path, &options, &pieces, &report, error));
    e->take(e->context, &last, error);
    coo_free(&last);
    return error->status;
}

/* Progress through a file whose number of entries is known. */
struct reading {
    const struct model_entries *entries;
    uint64_t all, taken;
};

static enum status take_piece(void *context, struct coo *piece, struct error *error)
{
    struct reading *r = context;
    const struct model_entries *e = r->entries;
    TRY(e->take(e->context, piece, error));
    r->taken += piece->nnz;
    if (r->all > 0)
        progress_update(e->progress, (double)r->taken / (double)r->all, "%ju entries",
                        (uintmax_t)r->taken);
    return STATUS_OK;
}

static enum status blco_each(const struct model_entries *e, struct error *error)
{
    const struct shape *model = e->shape;
    struct blco_file f;
    double start = clock_now();
    TRY(blco_file_open(&f, e->path, error));
    const struct blco_pieces pieces = blco_pieces_of(&f, piece_memory(e));
    struct reading reading = {.entries = e, .all = f.header->nnz};
    if (f.shape.order != model->order)
        TRY_OR(done, error_set(error, STATUS_INPUT, "%s: %d mode%s, but the model has %d", e->path,
                               f.shape.order, f.shape.order == 1 ? "" : "s", model->order));
    for (int n = 0; n < model->order; n++)
        if (f.shape.dims[n] > model->dims[n])
            TRY_OR(done,
                   error_set(error, STATUS_INPUT,
                             "%s: mode %d: length %ju, expected at most %ju, as the model has it",
                             e->path, n + 1, (uintmax_t)f.shape.dims[n],
                             (uintmax_t)model->dims[n]));
    progress_stage(e->progress, "reading %s", e->path);
    TRY_OR(done, blco_pieces_each(&pieces, take_piece, &reading, error));
    blco_file_note_read(&f, clock_now() - start, e->progress);
done:
    blco_file_close(&f);
    return error->status;
}

enum status model_entries_each(const struct model_entries *e, struct error *error)
{
    return (e->format == TENSOR_BLCO ? blco_each : text_each)(e, error);
}
