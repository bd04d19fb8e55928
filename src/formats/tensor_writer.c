#include "formats/tensor_writer.h"

_Static_assert(BLCO_SEGMENT_NNZ % TNS_WRITE_PIECE == 0, "pieces suit both kinds of file");

enum status tensor_writer_open(struct tensor_writer *w, const char *path, const struct shape *shape,
                               uint64_t nnz, const struct tensor_write_options *options,
                               struct error *error)
{
    *w = (struct tensor_writer){.format = tensor_format_named(path), .blco = {.file = {.fd = -1}}};
    if (w->format == &tensor_blco)
        return blco_writer_open(&w->blco, path, shape, options->memory, error);
    return tns_writer_open(&w->text, path, shape, nnz, &options->text, error);
}

enum status tensor_writer_append(struct tensor_writer *w, const struct coo *x, struct error *error)
{
    if (w->format == &tensor_blco)
        return blco_writer_append(&w->blco, x, NULL, x->nnz, error);
    return tns_writer_append(w->text, x, error);
}

enum status tensor_writer_commit(struct tensor_writer *w, struct line_writer_report *report,
                                 struct error *error)
{
    *report = (struct line_writer_report){0};
    if (w->format == &tensor_blco)
        return blco_writer_commit(&w->blco, &report->file_bytes, error);
    return tns_writer_commit(w->text, report, error);
}

void tensor_writer_free(struct tensor_writer *w)
{
    blco_writer_discard(&w->blco);
    tns_writer_free(w->text);
    w->text = NULL;
}
