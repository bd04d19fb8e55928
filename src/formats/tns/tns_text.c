#include "formats/tns/tns_text.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/tns/foreign_file.h"

/* The reader's thread counts among the threads that the user allows: with more, some would wait. */
static int parsing_threads(const struct line_reader *reader)
{
    int threads = omp_get_max_threads() - line_reader_threaded(reader);
    return threads > 1 ? threads : 1;
}

enum status tns_text_open(struct tns_text *t, const char *path, const struct tns_options *options,
                          struct error *error)
{
    const struct tns_sizes *sizes = &options->sizes;
    *t = (struct tns_text){.nonneg = options->nonneg, .start = clock_now()};
    t->sections.bytes = sizes->section ? sizes->section : TNS_SECTION;
    TRY(line_reader_open(&t->reader, path, sizes->window ? sizes->window : TNS_MOST_WINDOW, error));
    t->name = line_reader_name(t->reader);
    t->sections.threads = parsing_threads(t->reader);
    tns_head_begin(&t->head, t->name, options);
    return STATUS_OK;
}

bool tns_text_has_shares(const struct tns_text *t)
{
    return !line_reader_threaded(t->reader);
}

enum status tns_text_take_share(struct tns_text *t, int share, int shares, struct error *error)
{
    t->lines = 0;
    return line_reader_take_share(t->reader, t->head_bytes, share, shares, error);
}

/* The number of the window's first text line. */
static uint64_t first_line(const struct tns_text *t)
{
    return line_reader_lines_before(t->reader) + t->lines + 1;
}

/* Reads the text lines of the window before the first entry, and takes them from the window. */
static enum status read_head(struct tns_text *t, struct line_window *window, struct error *error)
{
    bool is_entry = false;
    while (window->begin < window->end && t->head.awaited != TNS_READY) {
        const char *line = window->begin, *end = window->end;
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        TRY(tns_head_line(&t->head, line, stop, t->lines + 1, &is_entry, error));
        if (is_entry)
            return STATUS_OK;
        t->head_bytes += (size_t)(stop + 1 - line) - (window->unterminated && stop + 1 == end);
        t->lines++;
        window->begin = stop + 1;
    }
    return STATUS_OK;
}

/* Checks the first bytes of the file: another kind of file is refused, a mark of UTF-8 skipped. */
static enum status begin_text(struct tns_text *t, struct line_window *window, struct error *error)
{
    t->begun = true;
    size_t count = window->overlong ? line_reader_window_bytes(t->reader)
                                    : (size_t)(window->end - window->begin);
    const bool gzip = line_reader_gzip(t->reader);
    TRY(foreign_file_refuse(t->name, window->begin, count, gzip, error));
    if (count >= UTF8_MARK_BYTES && !window->overlong &&
        memcmp(window->begin, UTF8_MARK, UTF8_MARK_BYTES) == 0) {
        window->begin += UTF8_MARK_BYTES;
        t->head_bytes = UTF8_MARK_BYTES;
    }
    return STATUS_OK;
}

enum status tns_text_next(struct tns_text *t, struct line_window *window, struct error *error)
{
    for (;;) {
        TRY(line_reader_next(t->reader, window, error));
        if (!t->begun)
            TRY(begin_text(t, window, error));
        if (window->overlong)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": line of more than %zu bytes, expected indices and a "
                             "value",
                             t->name, first_line(t), line_reader_window_bytes(t->reader));
        if (window->begin == window->end)
            return STATUS_OK;
        if (t->head.awaited != TNS_READY)
            TRY(read_head(t, window, error));
        if (window->begin < window->end)
            return STATUS_OK;
    }
}

enum status tns_text_cut(struct tns_text *t, const struct line_window *window, uint64_t *lines,
                         struct error *error)
{
    *lines = 0;
    TRY(tns_sections_cut(&t->sections, window, error));
    *lines = t->sections.lines;
    return STATUS_OK;
}

enum status tns_text_parse(struct tns_text *t, const struct line_window *window, struct coo *x,
                           uint64_t *used, struct error *error)
{
    const struct tns_format *f = &t->head.format;
    const uint64_t from = *used;
    if (!tns_sections_parse(&t->sections, f, window, x, used, t->largest))
        return tns_sections_explain(&t->sections, f, window, first_line(t), error);
    if (t->nonneg)
        tns_sections_negative(&t->sections, f, x, from, first_line(t), &t->negative);
    t->lines += t->sections.lines;
    return STATUS_OK;
}

enum status tns_text_end(const struct tns_text *t, uint64_t entries, struct error *error)
{
    if (t->head.awaited != TNS_READY && line_reader_bytes(t->reader) == 0)
        return error_set(error, STATUS_INPUT, "%s: is empty", t->name);
    TRY(tns_head_end(&t->head, error));
    if (t->head.dialect == TNS_HEADER_SPTENSOR && entries != t->head.count)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " entr%s, expected %" PRIu64 ", as the header says",
                         t->name, entries, entries == 1 ? "y" : "ies", t->head.count);
    if (entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries after the header", t->name);
    return STATUS_OK;
}

struct shape tns_text_shape(const struct tns_text *t, const uint32_t *largest)
{
    const struct tns_format *f = &t->head.format;
    struct shape shape = shape_of(f->order, f->limit);
    for (int n = 0; n < f->order; n++)
        if (!f->limit_origin[n])
            shape.dims[n] = (uint64_t)largest[n] + 1;
    return shape;
}

void tns_text_progress(const struct tns_text *t, struct progress *progress)
{
    const uint64_t bytes = line_reader_bytes(t->reader);
    const double rate = (double)bytes / (clock_now() - t->start);
    progress_update(progress, line_reader_fraction(t->reader), "%s, %s/s", NUMBER_SIZE(bytes),
                    NUMBER_SIZE(number_whole(rate)));
}

void tns_text_done(const struct tns_text *t, struct progress *progress, uint64_t entries,
                   uint64_t bytes)
{
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    progress_done(progress, "%" PRIu64 " entr%s, %s of text%s", entries, entries == 1 ? "y" : "ies",
                  number_size(bytes, size),
                  pace_bytes(bytes, "", clock_now() - t->start, how_fast));
}

void tns_text_close(struct tns_text *t)
{
    memory_free(t->sections.section);
    line_reader_close(t->reader);
    *t = (struct tns_text){0};
}
