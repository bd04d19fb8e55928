#include "formats/tns/tns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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
    enum tns_header header;
    struct shape shape;          /* of the header                                           */
    uint64_t declared;           /* entries that an `sptensor` header declares              */
    struct tns_format format;    /* of the entries; its order is 0 until the header is read */
    size_t head_bytes;           /* before the first entry                                  */
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

/* Gets the next window, which is empty at the end, unless one waits. */
static enum status next_window(struct tns_reading *t, struct error *error)
{
    if (t->waits)
        return STATUS_OK;
    TRY(line_reader_next(&t->reader, &t->window, error));
    if (t->window.overlong)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": line of more than %zu bytes, expected indices and a "
                         "value",
                         t->reader.name, first_line(t), t->reader.window_bytes);
    t->waits = true;
    return STATUS_OK;
}

/* --- the header --- */

/* A text line that is not blank. */
struct head_line {
    struct tns_column column[TNS_COLUMNS];
    uint64_t columns; /* 0: the file ends */
};

/* Takes a text line from the window. */
static void take_line(struct tns_reading *t)
{
    struct line_window *w = &t->window;
    const char *next = line_end(w->begin, w->end) + 1;
    t->head_bytes += (size_t)(next - w->begin) - (w->unterminated && next == w->end);
    t->lines++;
    w->begin = next;
}

/* *l = the next text line that is not blank, which is not taken; those before it are. */
static enum status see_line(struct tns_reading *t, struct head_line *l, struct error *error)
{
    for (;; take_line(t)) {
        t->waits = t->waits && t->window.begin < t->window.end;
        TRY(next_window(t, error));
        l->columns = 0;
        if (t->window.begin < t->window.end)
            l->columns =
                tns_columns(t->window.begin, line_end(t->window.begin, t->window.end), l->column);
        if (l->columns > 0 || t->window.begin == t->window.end)
            return STATUS_OK;
    }
}

/* Takes the text line that was seen, and sees the next one of the header, which has `what`. */
static enum status next_line(struct tns_reading *t, struct head_line *l, const char *what,
                             struct error *error)
{
    take_line(t);
    TRY(see_line(t, l, error));
    if (l->columns > 0)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: ends within the header, expected its %s",
                     t->reader.name, what);
}

/* Sets the form of the entries: `order` indices, which is known from `origin`. */
static enum status set_format(struct tns_reading *t, int order, const char *origin,
                              struct error *error)
{
    const struct tns_options *o = &t->options;
    struct tns_format *f = &t->format;
    const bool header = t->header != TNS_HEADER_NONE;
    if (o->ndims && o->ndims != order)
        return error_set(error, STATUS_INPUT, "%s: %d mode%s, as %s says, but %s gives %d",
                         t->reader.name, order, order == 1 ? "" : "s", origin, tns_order_origin(o),
                         o->ndims);
    *f = (struct tns_format){
        .name = t->reader.name, .order = order, .index_base = (uint32_t)o->index_base};
    snprintf(f->order_origin, sizeof f->order_origin, "%s", origin);
    for (int n = 0; n < order; n++) {
        f->limit[n] = o->dims[n] ? o->dims[n] : header ? t->shape.dims[n] : MAX_LENGTH;
        f->limit_origin[n] = o->dims[n] ? tns_dims_origin(o, n) : header ? "the header" : NULL;
    }
    return STATUS_OK;
}

/* Reads a header from its text line *l on, which has the number of modes. */
static enum status read_header(struct tns_reading *t, struct head_line *l, struct error *error)
{
    const char *name = t->reader.name;
    char quoted[TNS_QUOTED];
    uint64_t order;
    if (l->columns != 1 || !tns_unsigned(l->column[0], &order) || order < 1 || order > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected the header's number of modes, 1 to %d", name,
                         first_line(t), tns_quote(l->column[0], quoted), MAX_ORDER);
    t->shape.order = (int)order;
    TRY(next_line(t, l, "lengths", error));
    if (l->columns != order)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " column%s, expected the header's %d length%s",
                         name, first_line(t), l->columns, l->columns == 1 ? "" : "s", (int)order,
                         order == 1 ? "" : "s");
    for (int n = 0; n < t->shape.order; n++)
        if (!tns_unsigned(l->column[n], &t->shape.dims[n]) || t->shape.dims[n] < 1 ||
            t->shape.dims[n] > MAX_LENGTH)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": mode %d: length %s, expected 1 to %" PRIu32, name,
                             first_line(t), n + 1, tns_quote(l->column[n], quoted), MAX_LENGTH);
    if (t->header == TNS_HEADER_SPTENSOR) {
        TRY(next_line(t, l, "number of entries", error));
        if (l->columns != 1 || !tns_unsigned(l->column[0], &t->declared) || t->declared > MAX_NNZ)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64
                             ": %s, expected the header's number of entries, 0 to %" PRIu64,
                             name, first_line(t), tns_quote(l->column[0], quoted), MAX_NNZ);
    }
    TRY(set_format(t, t->shape.order, "the header", error));
    take_line(t);
    return see_line(t, l, error);
}

/* Finds out from the first entry whether entries have values, where the order is known before. */
static enum status check_first(struct tns_reading *t, uint64_t columns, struct error *error)
{
    const struct tns_options *o = &t->options;
    const int order = t->format.order;
    char either[24] = "";
    t->format.valueless = o->values_optional && columns == (uint64_t)order;
    if (t->format.valueless || columns == (uint64_t)order + 1)
        return STATUS_OK;
    if (o->values_optional)
        snprintf(either, sizeof either, "%d or ", order);
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": %" PRIu64
                     " column%s, expected %s%d: %d ind%s %s value, as %s "
                     "says",
                     t->reader.name, first_line(t), columns, columns == 1 ? "" : "s", either,
                     order + 1, order, order == 1 ? "ex" : "ices",
                     o->values_optional ? "with or without a" : "and a", o->order_origin);
}

/* Reads the text lines before the first entry. One of one column cannot be an entry, so it begins a
 * header, unless it can be an index without a value. */
static enum status read_head(struct tns_reading *t, struct error *error)
{
    const struct tns_options *o = &t->options;
    const char *name = t->reader.name;
    struct head_line l;
    char text[TNS_QUOTED];
    uint64_t order;
    TRY(see_line(t, &l, error));
    if (l.columns == 0)
        return error_set(error, STATUS_INPUT, "%s: %s", name,
                         t->reader.text_bytes == 0
                             ? "is empty"
                             : "no entries: nothing but comments and blank lines");
    const bool alone = l.columns == 1 && !(o->values_optional && o->ndims == 1);
    if (tns_is_sptensor(t->window.begin, line_end(t->window.begin, t->window.end))) {
        t->header = TNS_HEADER_SPTENSOR;
        TRY(next_line(t, &l, "number of modes", error));
    } else if (alone && tns_unsigned(l.column[0], &order)) {
        t->header = TNS_HEADER_DIMS;
    } else if (alone) {
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected indices and a value with blanks between "
                         "them, or a header",
                         name, first_line(t), tns_quote(l.column[0], text));
    } else if (l.columns > TNS_COLUMNS) {
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " columns, expected at most %d: %d indices and "
                         "a value",
                         name, first_line(t), l.columns, TNS_COLUMNS, MAX_ORDER);
    }
    if (t->header != TNS_HEADER_NONE) {
        TRY(read_header(t, &l, error));
    } else {
        snprintf(text, sizeof text, "line %" PRIu64, first_line(t));
        TRY(set_format(t, o->order_origin ? o->ndims : (int)l.columns - 1, text, error));
    }
    return o->order_origin && l.columns > 0 ? check_first(t, l.columns, error) : STATUS_OK;
}

/* --- entries --- */

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
    r->gzip = t->reader.gzip;
    r->has_shares = !t->reader.ahead && strcmp(r->path, "-") != 0;
    if (!r->has_shares)
        return STATUS_OK;
    TRY(read_head(t, error));
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
                t->refused_line = first_line(t) + c->first_line + lines_before(c, &t->format, e);
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
        parse_section(&t->section[i], &t->format, t->window.end, x, from);
    for (size_t i = 0; i < t->count; i++) {
        const struct tns_section *c = &t->section[i];
        if (c->bad == c->end)
            continue;
        const uint64_t number = first_line(t) + c->first_line + line_count(c->begin, c->bad);
        const char *stop = line_end(c->bad, c->end);
        const bool cut_off = t->window.unterminated && stop + 1 == t->window.end;
        return tns_line_explain(&t->format, c->bad, stop, number, cut_off, error);
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
    if (t->format.order == 0)
        TRY(read_head(t, error));
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
        const int order = t->format.order;
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

/* Checks that there are entries, as many as the header gives if it gives any. A process that reads
 * alone refuses values that the options do not allow. */
static enum status tns_end(struct tensor_reader *r, struct error *error)
{
    const struct tns_reading *t = r->state;
    const struct tns_format *f = &t->format;
    const char *name = t->reader.name, *entries = r->entries == 1 ? "y" : "ies";
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    if (t->header == TNS_HEADER_SPTENSOR && r->entries != t->declared)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " entr%s, expected %" PRIu64 ", as the header says", name,
                         r->entries, entries, t->declared);
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
    r->header = (int)t->header;
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
