#include "formats/tns/tns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/page_touch.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns_text.h"
#include "tensor/value_change.h"

#define LEAST_WINDOW ((size_t)64 << 10)
#define WINDOW_PART  32 /* a window takes at most this part of the memory */
#define WINDOWS      3  /* at most so many windows are in memory          */

/* Whole text lines of a window, which a thread parses straight into the piece. */
struct tns_section {
    const char *begin, *end;
    uint64_t lines;
    uint64_t first_line; /* lines of the window before it, and where its entries go at first */
    uint64_t entries;    /* that were parsed                                                  */
    const char *bad;     /* the first bad line, or end                                        */
    uint32_t largest[MAX_ORDER]; /* the largest index of each mode */
};

struct tns_reading {
    struct tns_options options;
    struct line_reader reader;
    struct tns_head head;
    size_t head_bytes;           /* before the first text line that may be an entry         */
    uint64_t lines;              /* text lines of the file, or the share, before the window */
    struct line_window window;   /* that is read, but not parsed, if `waits`                */
    uint64_t window_lines;       /* text lines of the window                                */
    struct tns_section *section; /* (room): those of the window; owned                      */
    size_t count, room;
    bool waits;
    bool shared;           /* the share is taken; not of a file without entries          */
    uint64_t refused;      /* values so far that the options do not allow                */
    uint64_t refused_line; /* the number of the first text line with one                 */
};

static bool tns_probe(const char *path, const char *bytes, size_t count)
{
    (void)path, (void)bytes, (void)count;
    return true;
}

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

/* The number of the window's first text line. */
static uint64_t first_line(const struct tns_reading *t)
{
    return line_reader_lines_before(&t->reader) + t->lines + 1;
}

/* Takes the text lines before the first entry from the window. */
static enum status read_head(struct tns_reading *t, struct error *error)
{
    struct line_window *w = &t->window;
    bool is_entry = false;
    while (w->begin < w->end && t->head.awaited != TNS_READY) {
        const char *line = w->begin, *stop = line_end(line, w->end);
        TRY(tns_head_line(&t->head, line, stop, t->lines + 1, &is_entry, error));
        if (is_entry)
            return STATUS_OK;
        t->head_bytes += (size_t)(stop + 1 - line) - (w->unterminated && stop + 1 == w->end);
        t->lines++;
        w->begin = stop + 1;
    }
    return STATUS_OK;
}

/* Gets the next window that has text lines after the header, or an empty one at the end, unless a
 * window waits. */
static enum status next_window(struct tns_reading *t, struct error *error)
{
    while (!t->waits) {
        TRY(line_reader_next(&t->reader, &t->window, error));
        if (t->window.overlong)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": line of more than %zu bytes, expected indices and a "
                             "value",
                             t->reader.name, first_line(t), t->reader.window_bytes);
        const bool over = t->window.begin == t->window.end;
        TRY(read_head(t, error));
        t->waits = over || t->window.begin < t->window.end;
    }
    return STATUS_OK;
}

static enum status tns_open(struct tensor_reader *r, struct error *error)
{
    struct tns_reading *t = r->state = memory_zeros(1, sizeof *t, error);
    TRY(error->status);
    t->options = *r->tns;
    /* text takes a small part of the memory: one window, or two that are read ahead and one more; a
     * window has no more entries than a piece: a text line has four bytes or more */
    struct tns_sizes *sizes = &t->options.sizes;
    if (sizes->window == 0) {
        const uint64_t part = least_of(r->memory / WINDOW_PART, LINE_WINDOW);
        sizes->window = part < LEAST_WINDOW ? LEAST_WINDOW : (size_t)part;
        r->memory = r->memory > WINDOWS * sizes->window ? r->memory - WINDOWS * sizes->window : 1;
    }
    sizes->section = sizes->section ? sizes->section : LINE_SECTION;
    TRY(line_reader_open(&t->reader, r->path, sizes->window, error));
    t->reader.is_tensor = true;
    t->head = (struct tns_head){.name = t->reader.name, .options = &t->options};
    r->gzip = t->reader.gzip;
    r->has_shares = !t->reader.ahead && strcmp(r->path, "-") != 0;
    if (!r->has_shares)
        return STATUS_OK;
    TRY(next_window(t, error)); /* after the header */
    r->identity[0] = t->reader.file_bytes;
    r->identity[1] = t->reader.mark_bytes + t->head_bytes;
    return STATUS_OK;
}

/* Cuts the window into sections at the ends of text lines, and counts these. */
static enum status cut_window(struct tns_reading *t, struct error *error)
{
    const size_t length = t->options.sizes.section;
    const size_t most = (size_t)(t->window.end - t->window.begin) / length + 1;
    if (most > t->room) {
        TRY(memory_resize(&t->section, most, sizeof *t->section, error));
        t->room = most;
    }
    t->count = 0;
    for (const char *begin = t->window.begin, *end = t->window.end; begin < end;) {
        const char *stop = end;
        if ((size_t)(end - begin) > length)
            stop = line_end(begin + length - 1, end) + 1;
        t->section[t->count++] = (struct tns_section){.begin = begin, .end = stop};
        begin = stop;
    }
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (size_t i = 0; i < t->count; i++)
        t->section[i].lines = line_count(t->section[i].begin, t->section[i].end);
    t->window_lines = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->section[i].first_line = t->window_lines;
        t->window_lines += t->section[i].lines;
    }
    return STATUS_OK;
}

static void parse_section(struct tns_section *c, const struct tns_format *f, const char *readable,
                          const struct coo *x, uint64_t used)
{
    const struct coo place = coo_slice(x, used + c->first_line, c->lines);
    c->bad = tns_lines_parse(f, c->begin, c->end, readable, &place, &c->entries);
    for (int n = 0; n < f->order; n++) {
        uint32_t largest = 0;
        for (uint64_t i = 0; i < c->entries; i++)
            largest = place.index[n][i] > largest ? place.index[n][i] : largest;
        c->largest[n] = largest;
    }
}

/* The number of text lines of a section before its entry `entry`. */
static uint64_t lines_before(const struct tns_section *c, const struct tns_format *f,
                             uint64_t entry)
{
    uint32_t index[MAX_ORDER];
    double value;
    struct coo one = {.value = &value};
    uint64_t lines = 0, entries = 0, found;
    for (int n = 0; n < f->order; n++)
        one.index[n] = &index[n];
    for (const char *line = c->begin; line < c->end; lines++) {
        const char *next = line_end(line, c->end) + 1;
        tns_lines_parse(f, line, next, next, &one, &found);
        entries += found;
        if (entries > entry)
            break;
        line = next;
    }
    return lines;
}

/* Counts the values of the window that are not allowed; its entries begin at x's entry `from`. */
static void count_refused(struct tns_reading *t, const struct coo *x, uint64_t from)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tns_section *c = &t->section[i];
        for (uint64_t e = 0; e < c->entries; e++) {
            const double value = x->value[from + e];
            if (isnan(value) || t->options.check->takes(value))
                continue;
            if (t->refused++ == 0)
                t->refused_line =
                    first_line(t) + c->first_line + lines_before(c, &t->head.format, e);
        }
        from += c->entries;
    }
}

/* Parses the window's entries into the piece from entry *used on, where it has room for an entry a
 * text line, and adds their number to *used. STATUS_INPUT where a text line is bad: a message about
 * the first one. */
static enum status parse_window(struct tensor_reader *r, uint64_t *used, struct error *error)
{
    struct tns_reading *t = r->state;
    struct coo *x = &r->piece;
    const uint64_t from = *used;
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (size_t i = 0; i < t->count; i++)
        parse_section(&t->section[i], &t->head.format, t->window.end, x, from);
    for (size_t i = 0; i < t->count; i++) {
        const struct tns_section *c = &t->section[i];
        if (c->bad == c->end)
            continue;
        const uint64_t number = first_line(t) + c->first_line + line_count(c->begin, c->bad);
        const char *stop = line_end(c->bad, c->end);
        const bool cut_off = t->window.unterminated && stop + 1 == t->window.end;
        return tns_line_explain(&t->head.format, c->bad, stop, number, cut_off, error);
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct tns_section *c = &t->section[i];
        coo_move(x, *used, x, from + c->first_line, c->entries); /* closes gaps between entries */
        for (int n = 0; n < x->shape.order; n++)
            if (c->largest[n] > r->largest[n])
                r->largest[n] = c->largest[n];
        *used += c->entries;
    }
    if (t->options.check)
        count_refused(t, x, from);
    t->lines += t->window_lines;
    t->waits = false;
    return STATUS_OK;
}

/* Parses the entries of windows in parallel, straight into the piece. */
static enum status tns_next(struct tensor_reader *r, struct error *error)
{
    struct tns_reading *t = r->state;
    struct line_reader *reader = &t->reader;
    uint64_t used = 0;
    bool over = false;
    if (r->shares > 1 && !t->shared && t->window.begin < t->window.end) {
        TRY(line_reader_take_share(reader, reader->mark_bytes + t->head_bytes, r->share, r->shares,
                                   error));
        t->lines = 0;
        t->shared = true;
        t->waits = false;
    }
    for (;;) {
        struct page_touch pages;
        TRY(next_window(t, error));
        over = t->window.begin == t->window.end;
        if (over || (r->cut == TENSOR_STEPS && used > 0))
            break;
        const int order = t->head.format.order;
        const uint64_t most = tensor_reader_most(r, order, 0);
        TRY(cut_window(t, error));
        const uint64_t lines = t->window_lines;
        if (used > 0 && used + lines > most)
            break;
        TRY(tensor_reader_make_room(r, order, used, lines, r->cut == TENSOR_STEPS ? lines : most,
                                    line_reader_fraction(reader), error));
        /* the threads that parse write neighbouring parts of each array */
        page_touch_begin(&pages);
        for (int k = 0; k < COO_COLUMNS; k++)
            if (r->piece.column[k])
                page_touch_add(&pages, coo_at(&r->piece, k, used), lines * coo_column_bytes(k));
        page_touch_now(&pages);
        TRY(parse_window(r, &used, error));
        const double rate = (double)reader->text_bytes / (clock_now() - r->start);
        progress_update(r->progress, line_reader_fraction(reader), "%s, %s/s",
                        NUMBER_SIZE(reader->text_bytes), NUMBER_SIZE(number_whole(rate)));
    }
    for (int n = 0; n < r->piece.shape.order; n++)
        r->piece.shape.dims[n] = (uint64_t)r->largest[n] + 1;
    r->bytes = reader->text_bytes;
    tensor_reader_set_piece(r, used, over);
    return STATUS_OK;
}

/* Checks that the header was complete, that it gave this number of entries if it gave any, and that
 * there are entries. A process that reads alone refuses values that the options do not allow. */
static enum status tns_end(struct tensor_reader *r, struct error *error)
{
    const struct tns_reading *t = r->state;
    const struct tns_head *h = &t->head;
    const struct tns_format *f = &h->format;
    const char *name = t->reader.name, *entries = r->entries == 1 ? "y" : "ies";
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    if (h->awaited != TNS_READY && t->reader.text_bytes == 0)
        return error_set(error, STATUS_INPUT, "%s: is empty", name);
    TRY(tns_head_end(h, error));
    if (h->dialect == TNS_HEADER_SPTENSOR && r->entries != h->count)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " entr%s, expected %" PRIu64 ", as the header says", name,
                         r->entries, entries, h->count);
    if (r->entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries after the header", name);
    if (t->refused > 0 && r->shares <= 1)
        return error_set(error, STATUS_INPUT, "%" PRIu64 " value%s %s; %s (first: %s:%" PRIu64 ")",
                         t->refused, t->refused == 1 ? " is" : "s are", t->options.check->refused,
                         t->options.check->reason, name, t->refused_line);
    r->shape = shape_of(f->order, f->limit);
    for (int n = 0; n < f->order; n++)
        if (!f->limit_origin[n])
            r->shape.dims[n] = (uint64_t)r->largest[n] + 1;
    r->header = (int)h->dialect;
    progress_done(r->progress, "%" PRIu64 " entr%s, %s of text%s", r->entries, entries,
                  number_size(r->bytes, size),
                  pace_bytes(r->bytes, "", clock_now() - r->start, how_fast));
    return STATUS_OK;
}

static void tns_close(struct tensor_reader *r)
{
    struct tns_reading *t = r->state;
    memory_free(t->section);
    line_reader_close(&t->reader);
}

const struct tensor_format tensor_text = {.name = "text",
                                          .what = "text",
                                          .has_indices = true,
                                          .probe = tns_probe,
                                          .open = tns_open,
                                          .next = tns_next,
                                          .end = tns_end,
                                          .close = tns_close};
