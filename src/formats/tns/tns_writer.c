#include "formats/tns/tns_writer.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/outfile.h"
#include "formats/tns/gzip_member.h"

#define SLICE       TNS_WRITE_PIECE /* nonzeros formatted, compressed and written at a time */
#define INDEX_TEXT  11              /* ten digits and a blank                               */
#define HEADER_TEXT (64 + MAX_ORDER * INDEX_TEXT)

/* What one thread formats and compresses into. */
struct slice_buffer {
    char *text, *packed; /* owned; packed only for gzip */
    struct gzip_member gzip;
};

struct tns_writer {
    struct coo shape;    /* order, lengths and nonzeros of the whole tensor, without arrays */
    const struct coo *x; /* the piece that is being written                                 */
    uint64_t written;    /* nonzeros of the pieces before it                                */
    bool begun;          /* the header is written                                           */
    struct tns_write_options options;
    struct progress *progress;
    struct outfile file;
    bool gzip, to_stdout;
    size_t position; /* in the file, of the next slice      */
    uint64_t text_bytes;
    int threads;
    struct slice_buffer *buffer; /* (threads); owned */
};

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static size_t slice_room(const struct coo *x)
{
    size_t lines = x->nnz < SLICE ? (size_t)x->nnz : SLICE;
    return HEADER_TEXT + lines * ((size_t)x->shape.order * INDEX_TEXT + NUMBER_MAX_TEXT + 1);
}

static enum status prepare(struct tns_writer *w, const char *path, struct error *error)
{
    size_t room = slice_room(&w->shape);
    w->buffer = memory_zeros((size_t)w->threads, sizeof *w->buffer, error);
    for (int t = 0; w->buffer && t < w->threads; t++) {
        w->buffer[t].text = memory_array(room, 1, error);
        if (w->gzip)
            w->buffer[t].packed = memory_array(gzip_member_room(room), 1, error);
        if (w->gzip)
            gzip_member_create(&w->buffer[t].gzip, error);
        if (error->status != STATUS_OK)
            return error->status;
    }
    if (error->status == STATUS_OK && !w->to_stdout)
        outfile_open(&w->file, path, error);
    return error->status;
}

static char *format_header(const struct tns_writer *w, char *text)
{
    if (w->options.header == TNS_HEADER_NONE)
        return text;
    if (w->options.header == TNS_HEADER_SPTENSOR)
        text = stpcpy(text, "sptensor\n");
    text = number_format_unsigned((uint64_t)w->shape.shape.order, text);
    for (int n = 0; n < w->shape.shape.order; n++) {
        *text++ = n == 0 ? '\n' : ' ';
        text = number_format_unsigned(w->shape.shape.dims[n], text);
    }
    *text++ = '\n';
    if (w->options.header == TNS_HEADER_SPTENSOR) {
        text = number_format_unsigned(w->shape.nnz, text);
        *text++ = '\n';
    }
    return text;
}

static char *format_slice(const struct tns_writer *w, uint64_t slice, char *text)
{
    const struct coo *x = w->x;
    uint64_t base = (uint64_t)w->options.index_base;
    uint64_t begin = slice * SLICE, end = begin + SLICE < x->nnz ? begin + SLICE : x->nnz;
    if (slice == 0 && !w->begun)
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

/* Formats a slice into the thread's buffer; *bytes, *size is what goes into the file. */
static void make_slice(const struct tns_writer *w, uint64_t slice, struct slice_buffer *b,
                       size_t *text_size, const char **bytes, size_t *size, struct error *error)
{
    *bytes = b->text;
    *size = *text_size = (size_t)(format_slice(w, slice, b->text) - b->text);
    if (!w->gzip)
        return;
    *bytes = b->packed;
    gzip_member_write(&b->gzip, b->text, *text_size, b->packed, size, error);
}

/* A slice's place in the file is known when those before it are formatted; its bytes are then
 * written by each thread on its own, or in turn where the output cannot be written at a place. */
static void write_slices(struct tns_writer *w, struct error *error)
{
    uint64_t slices = w->x->nnz ? (w->x->nnz + SLICE - 1) / SLICE : 1;
    bool failed = false;
#pragma omp parallel for ordered schedule(dynamic)
    for (uint64_t s = 0; s < slices; s++) {
        struct error own = {0};
        const char *bytes = NULL;
        size_t text_size = 0, size = 0, position = 0;
        bool skip;
#pragma omp atomic read
        skip = failed;
        if (!skip)
            make_slice(w, s, &w->buffer[omp_get_thread_num()], &text_size, &bytes, &size, &own);
#pragma omp ordered
        {
            position = w->position;
            w->position += size;
            w->text_bytes += text_size;
            if (w->to_stdout && !skip && own.status == STATUS_OK)
                outfile_write(&w->file, bytes, size, &own);
        }
        if (!w->to_stdout && !skip && own.status == STATUS_OK)
            outfile_write_at(&w->file, bytes, size, position, &own);
        if (own.status != STATUS_OK) {
#pragma omp critical(tns_write_error)
            error_set(error, own.status, "%s", own.message);
#pragma omp atomic write
            failed = true;
        }
        if (omp_get_thread_num() == 0)
            progress_update(w->progress,
                            (double)(w->written + s * SLICE + 1) / (double)(w->shape.nnz + 1),
                            "%.0f MB", (double)position / 1e6);
    }
}

void tns_writer_free(struct tns_writer *w)
{
    if (!w)
        return;
    for (int t = 0; w->buffer && t < w->threads; t++) {
        memory_free(w->buffer[t].text);
        memory_free(w->buffer[t].packed);
        gzip_member_free(&w->buffer[t].gzip);
    }
    memory_free(w->buffer);
    if (!w->to_stdout)
        outfile_discard(&w->file);
    memory_free(w);
}

enum status tns_writer_open(struct tns_writer **writer, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct progress *progress, struct error *error)
{
    static char stdout_name[] = "standard output";
    struct tns_writer *w = *writer = memory_array(1, sizeof *w, error);
    if (!w)
        return error->status;
    *w = (struct tns_writer){.shape = {.shape = *shape, .nnz = nnz},
                             .options = *options,
                             .progress = progress,
                             .file = {.fd = -1},
                             .gzip = ends_in_gz(path),
                             .to_stdout = strcmp(path, "-") == 0,
                             .threads = omp_get_max_threads()};
    if (w->to_stdout)
        w->file = (struct outfile){.fd = STDOUT_FILENO, .path = stdout_name};
    progress_stage(progress, "writing %s", w->to_stdout ? stdout_name : path);
    if (prepare(w, path, error) != STATUS_OK) {
        tns_writer_free(w);
        *writer = NULL;
    }
    return error->status;
}

enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error)
{
    w->x = x;
    write_slices(w, error);
    w->begun = true;
    w->written += x->nnz;
    return error->status;
}

enum status tns_writer_commit(struct tns_writer *w, struct tns_write_report *report,
                              struct error *error)
{
    if (!w->to_stdout)
        outfile_commit(&w->file, 1, error);
    if (report)
        *report = (struct tns_write_report){w->text_bytes, w->position};
    return error->status;
}

enum status tns_write(const struct coo *x, const char *path,
                      const struct tns_write_options *options, struct progress *progress,
                      struct tns_write_report *report, struct error *error)
{
    struct tns_writer *w;
    if (tns_writer_open(&w, path, &x->shape, x->nnz, options, progress, error) == STATUS_OK &&
        tns_writer_append(w, x, error) == STATUS_OK)
        tns_writer_commit(w, report, error);
    tns_writer_free(w);
    return error->status;
}
