#include "formats/tns/line_writer.h"

#include <isa-l/igzip_lib.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile.h"

/* Higher levels do not make text of numbers smaller. */
#define LEVEL      2
#define LEVEL_ROOM ISAL_DEF_LVL2_DEFAULT

/* The memory in which a thread formats a section and, for gzip, compresses it to one member;
 * members one after the other make a gzip file. */
struct section_buffer {
    char *text; /* owned, as the others; the others are NULL where the file is no gzip */
    char *gzipped;
    struct isal_zstream *stream;
    uint8_t *level_buffer;
};

/* The most bytes that a member of `size` bytes of text takes. */
static size_t gzip_member_room(size_t size)
{
    return size + size / 8 + 4096; /* text that does not shrink is stored as it is, with headers */
}

/* Compresses text[0..size) of the buffer; *used is the size of the member. STATUS_INTERNAL if the
 * compressor fails. */
static enum status gzip_member_write(struct section_buffer *b, size_t size, size_t *used,
                                     struct error *error)
{
    size_t room = gzip_member_room(size);
    if (room > UINT32_MAX)
        return error_set(error, STATUS_INTERNAL, "%zu bytes are too many for a gzip member", size);
    struct isal_zstream *s = b->stream;
    isal_deflate_init(s);
    s->level = LEVEL;
    s->level_buf = b->level_buffer;
    s->level_buf_size = LEVEL_ROOM;
    s->gzip_flag = IGZIP_GZIP;
    s->end_of_stream = 1;
    s->next_in = (uint8_t *)b->text;
    s->avail_in = (uint32_t)size;
    s->next_out = (uint8_t *)b->gzipped;
    s->avail_out = (uint32_t)room;
    int answer = isal_deflate(s);
    if (answer != COMP_OK || s->internal_state.state != ZSTATE_END)
        return error_set(error, STATUS_INTERNAL, "the compressor failed (%d)", answer);
    *used = s->total_out;
    return STATUS_OK;
}

struct line_writer {
    struct line_sections sections;
    uint64_t written; /* text lines of the pieces so far */
    struct outfile file;
    bool gzip, to_stdout;
    size_t position; /* in the file, of the next section */
    uint64_t text_bytes;
    int threads;
    struct section_buffer *buffer; /* (threads); owned */
};

/* The position of a section in the file is known when the sections before it are formatted. Then
 * each thread writes its own; standard output, which has no positions, is written in turn. */
enum status line_writer_append(struct line_writer *w, const struct line_piece *piece,
                               struct error *error)
{
    const uint64_t lines = w->sections.lines;
    uint64_t sections = piece->lines ? (piece->lines + lines - 1) / lines : 1;
    bool failed = false;
#pragma omp parallel for ordered schedule(dynamic)
    for (uint64_t s = 0; s < sections; s++) {
        struct error own = {0};
        struct section_buffer *b = &w->buffer[omp_get_thread_num()];
        const char *bytes = w->gzip ? b->gzipped : b->text; /* as they go into the file */
        size_t size = 0, text_size = 0, position = 0;
        bool skip;
#pragma omp atomic read
        skip = failed;
        if (!skip) {
            const uint64_t begin = s * lines, end = least_of(begin + lines, piece->lines);
            size = text_size =
                (size_t)(piece->format(piece->context, begin, end, b->text) - b->text);
            if (w->gzip)
                gzip_member_write(b, text_size, &size, &own);
        }
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
            error_take(error, &own);
#pragma omp atomic write
            failed = true;
        }
        if (omp_get_thread_num() == 0)
            progress_update(w->sections.progress,
                            (double)(w->written + s * lines + 1) / (double)(w->sections.whole + 1),
                            "%s", NUMBER_SIZE(position));
    }
    w->written += piece->lines;
    return error->status;
}

void line_writer_free(struct line_writer *w)
{
    if (!w)
        return;
    for (int t = 0; w->buffer && t < w->threads; t++)
        memory_free(w->buffer[t].text, w->buffer[t].gzipped, w->buffer[t].stream,
                    w->buffer[t].level_buffer);
    memory_free(w->buffer);
    if (!w->to_stdout)
        outfile_discard(&w->file);
    memory_free(w);
}

enum status line_writer_open(struct line_writer **writer, const char *path,
                             const struct line_sections *sections, struct error *error)
{
    static char stdout_name[] = "standard output";
    const size_t length = strlen(path);
    struct line_writer *w = *writer = memory_array(1, sizeof *w, error);
    if (!w)
        return error->status;
    *w = (struct line_writer){.sections = *sections,
                              .file = {.fd = -1},
                              .gzip = length > 3 && strcmp(path + length - 3, ".gz") == 0,
                              .to_stdout = strcmp(path, "-") == 0,
                              .threads = omp_get_max_threads()};
    if (w->to_stdout)
        w->file = (struct outfile){.fd = STDOUT_FILENO, .path = stdout_name};
    progress_stage(sections->progress, "writing %s", w->to_stdout ? stdout_name : path);
    w->buffer = memory_zeros((size_t)w->threads, sizeof *w->buffer, error);
    TRY_OR(done, error->status);
    for (int t = 0; t < w->threads; t++) {
        struct section_buffer *b = &w->buffer[t];
        b->text = memory_array(sections->bytes, 1, error);
        if (w->gzip) {
            b->gzipped = memory_array(gzip_member_room(sections->bytes), 1, error);
            b->stream = memory_array(1, sizeof *b->stream, error);
            b->level_buffer = memory_array(LEVEL_ROOM, 1, error);
        }
        TRY_OR(done, error->status);
    }
    if (!w->to_stdout)
        outfile_open(&w->file, path, error);
done:
    if (error->status != STATUS_OK) {
        line_writer_free(w);
        *writer = NULL;
    }
    return error->status;
}

enum status line_writer_commit(struct line_writer *w, struct line_writer_report *report,
                               struct error *error)
{
    if (!w->to_stdout)
        TRY(outfile_commit(&w->file, error));
    if (report)
        *report = (struct line_writer_report){w->text_bytes, w->position};
    return STATUS_OK;
}
