#include "formats/tns/tns_writer.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/outfile.h"
#include "formats/tns/gzip_member.h"

#define SECTION     TNS_WRITE_PIECE /* nonzeros formatted, compressed and written at a time */
#define INDEX_TEXT  11              /* ten digits and a blank                               */
#define HEADER_TEXT (64 + MAX_ORDER * INDEX_TEXT)

/* The memory in which a thread formats and compresses a section. */
struct section_buffer {
    char *text, *gzipped; /* owned; gzipped for gzip only */
    struct gzip_member gzip;
};

struct tns_writer {
    struct coo whole;    /* shape and number of nonzeros of the tensor, without arrays */
    const struct coo *x; /* the piece that is being written; not owned */
    uint64_t written;    /* nonzeros of the pieces before it           */
    bool begun;          /* the header is written                      */
    struct tns_write_options options;
    struct outfile file;
    bool gzip, to_stdout;
    size_t position; /* in the file, of the next section */
    uint64_t text_bytes;
    int threads;
    struct section_buffer *buffer; /* (threads); owned */
};

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static size_t section_room(const struct coo *x)
{
    size_t lines = x->nnz < SECTION ? (size_t)x->nnz : SECTION;
    return HEADER_TEXT + lines * ((size_t)x->shape.order * INDEX_TEXT + NUMBER_MAX_TEXT + 1);
}

static enum status prepare(struct tns_writer *w, const char *path, struct error *error)
{
    size_t room = section_room(&w->whole);
    w->buffer = memory_zeros((size_t)w->threads, sizeof *w->buffer, error);
    if (!w->buffer)
        return error->status;
    for (int t = 0; t < w->threads; t++) {
        w->buffer[t].text = memory_array(room, 1, error);
        if (w->gzip)
            w->buffer[t].gzipped = memory_array(gzip_member_room(room), 1, error);
        if (w->gzip)
            gzip_member_create(&w->buffer[t].gzip, error);
        if (error->status != STATUS_OK)
            return error->status;
    }
    return w->to_stdout ? STATUS_OK : outfile_open(&w->file, path, error);
}

static char *format_header(const struct tns_writer *w, char *text)
{
    if (w->options.header == TNS_HEADER_NONE)
        return text;
    if (w->options.header == TNS_HEADER_SPTENSOR)
        text = stpcpy(text, "sptensor\n");
    text = number_format_unsigned((uint64_t)w->whole.shape.order, text);
    for (int n = 0; n < w->whole.shape.order; n++) {
        *text++ = n == 0 ? '\n' : ' ';
        text = number_format_unsigned(w->whole.shape.dims[n], text);
    }
    *text++ = '\n';
    if (w->options.header == TNS_HEADER_SPTENSOR) {
        text = number_format_unsigned(w->whole.nnz, text);
        *text++ = '\n';
    }
    return text;
}

static char *format_section(const struct tns_writer *w, uint64_t section, char *text)
{
    const struct coo *x = w->x;
    uint64_t base = (uint64_t)w->options.index_base;
    uint64_t begin = section * SECTION, end = begin + SECTION < x->nnz ? begin + SECTION : x->nnz;
    if (section == 0 && !w->begun)
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

/* A section as it goes into the file. */
struct section {
    const char *bytes;      /* (size), in a buffer */
    size_t size, text_size; /* text_size: before compression */
};

/* Formats a section into the thread's buffer. */
static void make_section(const struct tns_writer *w, uint64_t number, struct section_buffer *b,
                         struct section *s, struct error *error)
{
    s->bytes = b->text;
    s->size = s->text_size = (size_t)(format_section(w, number, b->text) - b->text);
    if (!w->gzip)
        return;
    s->bytes = b->gzipped;
    gzip_member_write(&b->gzip, b->text, s->text_size, b->gzipped, &s->size, error);
}

/* The position of a section in the file is known when the sections before it are formatted. Then
 * each thread writes its own; standard output, which has no positions, is written in turn. */
static void write_sections(struct tns_writer *w, struct error *error)
{
    uint64_t sections = w->x->nnz ? (w->x->nnz + SECTION - 1) / SECTION : 1;
    bool failed = false;
#pragma omp parallel for ordered schedule(dynamic)
    for (uint64_t s = 0; s < sections; s++) {
        struct error own = {0};
        struct section made = {0};
        size_t position = 0;
        bool skip;
#pragma omp atomic read
        skip = failed;
        if (!skip)
            make_section(w, s, &w->buffer[omp_get_thread_num()], &made, &own);
#pragma omp ordered
        {
            position = w->position;
            w->position += made.size;
            w->text_bytes += made.text_size;
            if (w->to_stdout && !skip && own.status == STATUS_OK)
                outfile_write(&w->file, made.bytes, made.size, &own);
        }
        if (!w->to_stdout && !skip && own.status == STATUS_OK)
            outfile_write_at(&w->file, made.bytes, made.size, position, &own);
        if (own.status != STATUS_OK) {
#pragma omp critical(tns_write_error)
            error_set(error, own.status, "%s", own.message);
#pragma omp atomic write
            failed = true;
        }
        if (omp_get_thread_num() == 0)
            progress_update(w->options.progress,
                            (double)(w->written + s * SECTION + 1) / (double)(w->whole.nnz + 1),
                            "%s", NUMBER_SIZE(position));
    }
}

void tns_writer_free(struct tns_writer *w)
{
    if (!w)
        return;
    for (int t = 0; w->buffer && t < w->threads; t++) {
        memory_free(w->buffer[t].text);
        memory_free(w->buffer[t].gzipped);
        gzip_member_free(&w->buffer[t].gzip);
    }
    memory_free(w->buffer);
    if (!w->to_stdout)
        outfile_discard(&w->file);
    memory_free(w);
}

enum status tns_writer_open(struct tns_writer **writer, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct error *error)
{
    static char stdout_name[] = "standard output";
    struct tns_writer *w = *writer = memory_array(1, sizeof *w, error);
    if (!w)
        return error->status;
    *w = (struct tns_writer){.whole = {.shape = *shape, .nnz = nnz},
                             .options = *options,
                             .file = {.fd = -1},
                             .gzip = ends_in_gz(path),
                             .to_stdout = strcmp(path, "-") == 0,
                             .threads = omp_get_max_threads()};
    if (w->to_stdout)
        w->file = (struct outfile){.fd = STDOUT_FILENO, .path = stdout_name};
    progress_stage(options->progress, "writing %s", w->to_stdout ? stdout_name : path);
    if (prepare(w, path, error) != STATUS_OK) {
        tns_writer_free(w);
        *writer = NULL;
    }
    return error->status;
}

enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error)
{
    w->x = x;
    write_sections(w, error);
    w->begun = true;
    w->written += x->nnz;
    return error->status;
}

enum status tns_writer_commit(struct tns_writer *w, struct tns_write_report *report,
                              struct error *error)
{
    if (!w->to_stdout && outfile_commit(&w->file, error) != STATUS_OK)
        return error->status;
    if (report)
        *report = (struct tns_write_report){w->text_bytes, w->position};
    return STATUS_OK;
}

enum status tns_write(const struct coo *x, const char *path,
                      const struct tns_write_options *options, struct tns_write_report *report,
                      struct error *error)
{
    struct tns_writer *w;
    if (tns_writer_open(&w, path, &x->shape, x->nnz, options, error) != STATUS_OK)
        return error->status;
    if (tns_writer_append(w, x, error) != STATUS_OK)
        goto done;
    tns_writer_commit(w, report, error);
done:
    tns_writer_free(w);
    return error->status;
}
