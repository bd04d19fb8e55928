#include "formats/tns/tns.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns_header.h"
#include "formats/tns/tns_line.h"

#define MOST_WINDOW   ((size_t)8 << 20) /* bytes of text read ahead at a time */
#define LEAST_WINDOW  ((size_t)64 << 10)
#define MAPPED_WINDOW ((size_t)32 << 20)  /* takes no memory, gives each thread many sections */
#define SECTION       ((size_t)128 << 10) /* bytes that a thread parses at a time             */
#define MARGIN        1.1 /* factor by which later lines may be shorter, on average */

/* Whole text lines of a window, parsed by one thread. */
struct section {
    const char *begin, *end;
    uint64_t lines;
    uint64_t first_line; /* lines of the window before it: the offset of its entries at first */
    uint64_t entries;    /* parsed                                                            */
    const char *bad;     /* the first bad line, or end                                        */
    uint32_t largest[MAX_ORDER]; /* index of each mode */
};

struct reader {
    struct coo *x; /* x->nnz is the room */
    uint64_t used; /* entries in x       */
    struct line_reader *text;
    const char *name;
    struct tns_sizes sizes;
    int threads; /* that parse */
    struct tns_head head;
    uint64_t lines;          /* text lines of the file before the window */
    struct section *section; /* (max_sections); owned                    */
    size_t nsections, max_sections;
    uint32_t largest[MAX_ORDER]; /* index of each mode so far */
    const struct tns_pieces *pieces;
    uint64_t handed_over; /* entries */
    struct progress *progress;
};

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

/* Counts the newlines in [p, end), in counters of a byte, which compilers update many at a time and
 * which are summed before one overflows. */
static uint64_t count_lines(const char *p, const char *end)
{
    enum { WIDTH = 64, ROUNDS = 255 };
    uint64_t count = 0;
    while (end - p >= WIDTH) {
        uint8_t own[WIDTH] = {0};
        for (int round = 0; round < ROUNDS && end - p >= WIDTH; round++, p += WIDTH)
            for (int i = 0; i < WIDTH; i++)
                own[i] = (uint8_t)(own[i] + (p[i] == '\n'));
        for (int i = 0; i < WIDTH; i++)
            count += own[i];
    }
    for (; p < end; p++)
        count += *p == '\n';
    return count;
}

/* Cuts [begin, end) into sections at the ends of text lines and counts their lines. */
static enum status cut(struct reader *r, const char *begin, const char *end, struct error *error)
{
    size_t most = (size_t)(end - begin) / r->sizes.section + 1;
    if (most > r->max_sections) {
        if (memory_resize(&r->section, most, sizeof *r->section, error) != STATUS_OK)
            return error->status;
        r->max_sections = most;
    }
    r->nsections = 0;
    while (begin < end) {
        const char *stop = end;
        if ((size_t)(end - begin) > r->sizes.section)
            stop = line_end(begin + r->sizes.section - 1, end) + 1;
        r->section[r->nsections++] = (struct section){.begin = begin, .end = stop};
        begin = stop;
    }
#pragma omp parallel for schedule(dynamic) num_threads(r->threads)
    for (size_t i = 0; i < r->nsections; i++)
        r->section[i].lines = count_lines(r->section[i].begin, r->section[i].end);
    uint64_t lines = 0;
    for (size_t i = 0; i < r->nsections; i++) {
        r->section[i].first_line = lines;
        lines += r->section[i].lines;
    }
    return STATUS_OK;
}

/* The most entries that x may have before they are handed over. */
static uint64_t piece_room(const struct reader *r)
{
    const struct tns_pieces *p = r->pieces;
    return p->memory / (4 * (uint64_t)r->head.format.order + 8 + p->overhead);
}

/* Hands over the entries so far if `more` entries beside them are too many. */
static enum status hand_over(struct reader *r, uint64_t more, struct error *error)
{
    if (r->used == 0 || r->used + more <= piece_room(r))
        return STATUS_OK;
    struct coo piece = *r->x;
    piece.nnz = r->used;
    for (int n = 0; n < piece.shape.order; n++)
        piece.shape.dims[n] = (uint64_t)r->largest[n] + 1;
    r->handed_over += r->used;
    r->used = 0;
    return r->pieces->take(r->pieces->context, &piece, error);
}

/* The number of entries of the file if it goes on as it began; 0 if that is not known, or takes
 * more memory than is available. */
static uint64_t expected_entries(const struct reader *r, uint64_t needed)
{
    double read = line_reader_fraction(r->text); /* with this window, or more of it */
    double entries = read > 0 ? (double)needed * MARGIN / read : 0;
    double bytes = entries * (4 * r->head.format.order + 8);
    return bytes < (double)machine_memory_available() ? (uint64_t)entries : 0;
}

/* Makes room for `more` entries and for the expected ones, so that none need be moved. Pages that
 * are not yet written take no memory. */
static enum status make_room(struct reader *r, uint64_t more, struct error *error)
{
    uint64_t needed = r->used + more;
    if (r->handed_over + needed > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", r->name,
                         MAX_NNZ);
    if (needed <= r->x->nnz)
        return STATUS_OK;
    uint64_t room = needed + needed / 2, most = piece_room(r),
             expected = expected_entries(r, needed);
    if (room < expected)
        room = expected;
    if (room > most)
        room = needed > most ? needed : most;
    if (r->x->shape.order == 0) {
        const struct tns_format *f = &r->head.format;
        return coo_create(r->x, SHAPE(f->order, f->limit), room, error);
    }
    return coo_resize(r->x, room, error);
}

static struct tns_place place_at(const struct coo *x, uint64_t at)
{
    struct tns_place place = {.value = x->value + at};
    for (int n = 0; n < x->shape.order; n++)
        place.index[n] = x->index[n] + at;
    return place;
}

static void parse_section(const struct reader *r, struct section *c, const char *readable)
{
    struct tns_place place = place_at(r->x, r->used + c->first_line);
    c->bad = tns_lines_parse(&r->head.format, c->begin, c->end, readable, &place, &c->entries);
    for (int n = 0; n < r->x->shape.order; n++) {
        uint32_t largest = 0;
        for (uint64_t i = 0; i < c->entries; i++)
            largest = place.index[n][i] > largest ? place.index[n][i] : largest;
        c->largest[n] = largest;
    }
}

/* Closes the gaps that text lines without an entry left, and joins the results of the sections. */
static void gather(struct reader *r)
{
    uint64_t used = r->used;
    for (size_t i = 0; i < r->nsections; i++) {
        const struct section *c = &r->section[i];
        struct tns_place from = place_at(r->x, r->used + c->first_line);
        struct tns_place to = place_at(r->x, used);
        for (int n = 0; n < r->x->shape.order; n++) {
            if (to.value != from.value)
                memmove(to.index[n], from.index[n], c->entries * sizeof *to.index[n]);
            if (c->largest[n] > r->largest[n])
                r->largest[n] = c->largest[n];
        }
        if (to.value != from.value)
            memmove(to.value, from.value, c->entries * sizeof *to.value);
        used += c->entries;
    }
    r->used = used;
}

/* Explains the first bad text line of the window, if there is one. Sections before that line were
 * parsed to their ends. */
static enum status check(const struct reader *r, bool unterminated, struct error *error)
{
    const char *end = r->nsections ? r->section[r->nsections - 1].end : NULL;
    for (size_t i = 0; i < r->nsections; i++) {
        const struct section *c = &r->section[i];
        if (c->bad == c->end)
            continue;
        uint64_t number = r->lines + c->first_line + count_lines(c->begin, c->bad) + 1;
        const char *stop = line_end(c->bad, c->end);
        return tns_line_explain(&r->head.format, c->bad, stop, number,
                                unterminated && stop + 1 == end, error);
    }
    return STATUS_OK;
}

/* Parses the entries from `begin` to the end of the window in parallel, straight into x. */
static enum status read_entries(struct reader *r, const char *begin,
                                const struct line_window *window, struct error *error)
{
    enum status status = cut(r, begin, window->end, error);
    if (status != STATUS_OK || r->nsections == 0)
        return status;
    const struct section *last = &r->section[r->nsections - 1];
    uint64_t lines = last->first_line + last->lines;
    status = hand_over(r, lines, error);
    if (status == STATUS_OK)
        status = make_room(r, lines, error);
    if (status != STATUS_OK)
        return status;
#pragma omp parallel for schedule(dynamic) num_threads(r->threads)
    for (size_t i = 0; i < r->nsections; i++)
        parse_section(r, &r->section[i], window->end);
    status = check(r, window->unterminated, error);
    if (status != STATUS_OK)
        return status;
    gather(r);
    r->lines += lines;
    return STATUS_OK;
}

/* Reads the text lines of the window before the first entry and moves *begin behind them. */
static enum status read_head(struct reader *r, const char **begin, const char *end,
                             struct error *error)
{
    bool is_entry = false;
    while (*begin < end) {
        const char *stop = line_end(*begin, end);
        enum status status = tns_head_line(&r->head, *begin, stop, r->lines + 1, &is_entry, error);
        if (status != STATUS_OK || is_entry)
            return status;
        *begin = stop + 1;
        r->lines++;
        if (r->head.awaited == TNS_READY)
            return STATUS_OK;
    }
    return STATUS_OK;
}

/* A thread that inflates the text counts as one that parses: more threads than asked for would only
 * wait for each other. */
static int parsing_threads(const struct line_reader *text)
{
    int threads = omp_get_max_threads() - line_reader_threaded(text);
    return threads > 1 ? threads : 1;
}

static enum status read_windows(struct reader *r, struct error *error)
{
    double start = clock_now();
    for (;;) {
        struct line_window window;
        enum status status = line_reader_next(r->text, &window, error);
        if (status != STATUS_OK)
            return status;
        if (window.overlong)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": line of more than %zu bytes, expected indices and a "
                             "value",
                             r->name, r->lines + 1, line_reader_window_bytes(r->text));
        if (window.begin == window.end)
            return STATUS_OK;
        const char *begin = window.begin;
        if (r->head.awaited != TNS_READY)
            status = read_head(r, &begin, window.end, error);
        if (status == STATUS_OK && r->head.awaited == TNS_READY)
            status = read_entries(r, begin, &window, error);
        if (status != STATUS_OK)
            return status;
        double bytes = (double)line_reader_bytes(r->text);
        progress_update(r->progress, line_reader_fraction(r->text), "%.0f MB, %.0f MB/s",
                        bytes / 1e6, bytes / 1e6 / (clock_now() - start));
    }
}

/* Checks at the end of the file that everything is there that the file promised. */
static enum status finish(struct reader *r, struct error *error)
{
    if (line_reader_bytes(r->text) == 0)
        return error_set(error, STATUS_INPUT, "%s: is empty", r->name);
    if (tns_head_end(&r->head, error) != STATUS_OK)
        return error->status;
    uint64_t entries = r->handed_over + r->used;
    if (r->head.dialect == TNS_HEADER_SPTENSOR && entries != r->head.count)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " entries, expected %" PRIu64 ", as the header says",
                         r->name, entries, r->head.count);
    if (entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries behind the header", r->name);
    const struct tns_format *f = &r->head.format;
    for (int n = 0; n < f->order; n++)
        r->x->shape.dims[n] = f->limit_origin ? f->limit[n] : (uint64_t)r->largest[n] + 1;
    return coo_resize(r->x, r->used, error);
}

static void fill_report(const struct reader *r, struct tns_report *report)
{
    *report = (struct tns_report){.header = r->head.dialect,
                                  .gzip = line_reader_gzip(r->text),
                                  .text_bytes = line_reader_bytes(r->text),
                                  .entries = r->handed_over + r->used};
}

static enum status read_file(struct coo *x, const char *path, const struct tns_options *options,
                             const struct tns_sizes *sizes, size_t mapped,
                             const struct tns_pieces *pieces, struct progress *progress,
                             struct tns_report *report, struct error *error)
{
    struct reader r = {.x = x, .sizes = *sizes, .pieces = pieces, .progress = progress};
    *x = (struct coo){0};
    double start = clock_now();
    enum status status = line_reader_open(&r.text, path, sizes->window, mapped, error);
    if (status != STATUS_OK)
        return status;
    r.name = line_reader_name(r.text);
    r.threads = parsing_threads(r.text);
    progress_stage(progress, "reading %s", r.name);
    tns_head_begin(&r.head, r.name, options);
    status = read_windows(&r, error);
    if (status == STATUS_OK)
        status = finish(&r, error);
    if (status == STATUS_OK) {
        fill_report(&r, report);
        double seconds = clock_now() - start, megabytes = (double)report->text_bytes / 1e6;
        progress_done(progress, "%" PRIu64 " entries, %.1f MB of text in %.2f s, %.0f MB/s",
                      report->entries, megabytes, seconds, megabytes / seconds);
    } else {
        progress_clear(progress);
        coo_free(x);
    }
    memory_free(r.section);
    line_reader_close(r.text);
    return status;
}

/* Called if memory holds the entries so far, and there are more. */
static enum status refuse(void *context, struct coo *piece, struct error *error)
{
    const char *const *path = context;
    return error_set(error, STATUS_MEMORY,
                     "%s: more than %" PRIu64 " entries, for which there is not enough memory: "
                     "convert it to .blco, which takes less",
                     strcmp(*path, "-") == 0 ? "standard input" : *path, piece->nnz);
}

static enum status read_whole(struct coo *x, const char *path, const struct tns_options *options,
                              const struct tns_sizes *sizes, size_t mapped,
                              struct progress *progress, struct tns_report *report,
                              struct error *error)
{
    const struct tns_pieces limit = {.memory = machine_memory_budget(options->memory),
                                     .overhead = TNS_CLEAN_BYTES,
                                     .take = refuse,
                                     .context = &path};
    return read_file(x, path, options, sizes, mapped, &limit, progress, report, error);
}

enum status tns_read_sized(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_sizes *sizes, struct progress *progress,
                           struct tns_report *report, struct error *error)
{
    return read_whole(x, path, options, sizes, sizes->window, progress, report, error);
}

enum status tns_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error)
{
    const struct tns_sizes sizes = {.window = MOST_WINDOW, .section = SECTION};
    return read_whole(x, path, options, &sizes, MAPPED_WINDOW, progress, report, error);
}

/* A window has no more entries than a piece: a text line has four bytes or more. */
enum status tns_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct progress *progress,
                            struct tns_report *report, struct error *error)
{
    uint64_t least = pieces->memory / (4 * MAX_ORDER + 8 + pieces->overhead), window = 4 * least;
    const struct tns_sizes sizes = {.window = window < LEAST_WINDOW  ? LEAST_WINDOW
                                              : window > MOST_WINDOW ? MOST_WINDOW
                                                                     : (size_t)window,
                                    .section = SECTION};
    return read_file(x, path, options, &sizes, sizes.window, pieces, progress, report, error);
}
