#include "formats/tns/tns_writer.h"

#include <string.h>

#include "base/least.h"
#include "base/number.h"

#define INDEX_TEXT  11 /* ten digits and a blank */
#define HEADER_TEXT (64 + MAX_ORDER * INDEX_TEXT)

static char *format_header(const struct tns_writer *w, char *text)
{
    if (w->options.header == TNS_HEADER_NONE)
        return text;
    if (w->options.header == TNS_HEADER_SPTENSOR)
        text = stpcpy(text, "sptensor\n");
    text = number_format_unsigned((uint64_t)w->shape.order, text);
    for (int n = 0; n < w->shape.order; n++) {
        *text++ = n == 0 ? '\n' : ' ';
        text = number_format_unsigned(w->shape.dims[n], text);
    }
    *text++ = '\n';
    if (w->options.header == TNS_HEADER_SPTENSOR) {
        text = number_format_unsigned(w->nnz, text);
        *text++ = '\n';
    }
    return text;
}

static char *format_nonzeros(const void *writer, uint64_t begin, uint64_t end, char *text)
{
    const struct tns_writer *w = writer;
    const struct coo *x = w->x;
    uint64_t base = (uint64_t)w->options.index_base;
    if (begin == 0 && !w->begun)
        text = format_header(w, text);
    for (uint64_t i = begin; i < end; i++) {
        for (int n = 0; n < x->shape.order; n++) {
            text = number_format_unsigned(x->index[n][i] + base, text);
            *text++ = ' ';
        }
        text = number_format(x->value[i], text);
        *text++ = '\n';
    }
    return text;
}

enum status tns_writer_open(struct tns_writer *w, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct error *error)
{
    const size_t line = (size_t)shape->order * INDEX_TEXT + NUMBER_MAX_TEXT + 1;
    const struct line_sections sections = {.lines = TNS_WRITE_PIECE,
                                           .bytes =
                                               HEADER_TEXT + least_of(nnz, TNS_WRITE_PIECE) * line,
                                           .whole = nnz,
                                           .progress = options->progress};
    *w = (struct tns_writer){.shape = *shape, .nnz = nnz, .options = *options};
    return line_writer_open(&w->lines, path, &sections, error);
}

enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error)
{
    const struct line_piece piece = {.lines = x->nnz, .context = w, .format = format_nonzeros};
    w->x = x;
    TRY(line_writer_append(w->lines, &piece, error));
    w->begun = true;
    return STATUS_OK;
}
