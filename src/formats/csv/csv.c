#include "formats/csv/csv.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/pace.h"
#include "formats/csv/csv_columns.h"
#include "formats/csv/csv_order.h"
#include "formats/csv/csv_rows.h"
#include "formats/csv/csv_text.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/tns_header.h"

#define LEAST_WINDOW ((size_t)64 << 10)
#define WINDOW_PART                                                                                \
    64               /* a window takes at most this part of the memory; its new names take more    \
                      */
#define NAMES_PART 2 /* names, too */

struct reader {
    struct coo *x; /* x->nnz is the room */
    uint64_t used; /* entries in x       */
    struct csv_text text;
    struct csv_columns columns;
    struct csv_rows rows;
    const struct csv_source *source;
    const struct tns_pieces *pieces;
    uint64_t handed_over; /* entries */
    bool names_only;      /* too many entries while names are to be sorted: it is read again */
    double start;
};

static struct shape shape_so_far(const struct reader *r)
{
    struct shape shape = {.order = r->columns.modes};
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] = r->columns.mode[n].names.count;
    return shape;
}

/* The most entries that x may have before they are handed over. */
static uint64_t piece_room(const struct reader *r)
{
    const struct tns_pieces *p = r->pieces;
    const uint64_t names = csv_columns_bytes(&r->columns);
    return (p->memory - names) / (4 * (uint64_t)r->columns.modes + 8 + p->overhead);
}

static enum status check_names(const struct reader *r, struct error *error)
{
    if (csv_columns_bytes(&r->columns) <= r->pieces->memory / NAMES_PART)
        return STATUS_OK;
    return error_set(
        error, STATUS_MEMORY,
        "%s: the names take more than %s, the part of the memory that is theirs: allow "
        "more with --host-memory",
        r->text.name, NUMBER_SIZE(r->pieces->memory / NAMES_PART));
}

/* Whether the file can be read from its beginning again. */
static bool reads_again(const struct reader *r)
{
    struct stat about;
    const char *path = r->source->path;
    return strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Hands over the entries so far if they and `more` entries are too many. While names wait to be
 * sorted, that cannot be: then only names are taken, and the file is read again. */
static enum status hand_over(struct reader *r, uint64_t more, struct error *error)
{
    if (r->used == 0 || r->used + more <= piece_room(r))
        return STATUS_OK;
    r->names_only = r->names_only || csv_order_waits(&r->columns);
    if (r->names_only && !reads_again(r))
        return error_set(error, STATUS_MEMORY,
                         "%s: more than %" PRIu64 " entries, for which there is not enough memory "
                         "while names wait to be sorted: give a file, which can be read twice, or "
                         "allow more with --host-memory",
                         r->text.name, r->used);
    struct coo piece = *r->x;
    piece.nnz = r->used;
    piece.shape = shape_so_far(r);
    r->used = 0;
    if (r->names_only)
        return STATUS_OK;
    r->handed_over += piece.nnz;
    return r->pieces->take(r->pieces->context, &piece, error);
}

static enum status make_room(struct reader *r, uint64_t more, struct error *error)
{
    const uint64_t needed = r->used + more, most = piece_room(r);
    if (r->handed_over + needed > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", r->text.name,
                         MAX_NNZ);
    if (needed <= r->x->nnz)
        return STATUS_OK;
    uint64_t room = needed + needed / 2;
    if (room > most)
        room = needed > most ? needed : most;
    if (r->x->shape.order == 0) {
        struct shape shape = {.order = r->columns.modes};
        for (int n = 0; n < shape.order; n++)
            shape.dims[n] = NAME_TABLE_LIMIT;
        return coo_create(r->x, &shape, room, error);
    }
    return coo_resize(r->x, room, error);
}

static enum status read_window(struct reader *r, struct error *error)
{
    const struct csv_section *last = &r->text.section[r->text.sections - 1];
    const uint64_t lines = last->first_line + last->lines;
    TRY(hand_over(r, lines, error));
    TRY(make_room(r, lines, error));
    TRY(csv_rows_read(&r->rows, &r->text, r->x, &r->used, error));
    return check_names(r, error);
}

static enum status open_text(struct reader *r, struct error *error)
{
    struct tns_sizes sizes = r->source->text->sizes;
    const uint64_t part = r->pieces->memory / WINDOW_PART;
    if (sizes.window == 0)
        sizes.window = part < LEAST_WINDOW      ? LEAST_WINDOW
                       : part < TNS_MOST_WINDOW ? (size_t)part
                                                : TNS_MOST_WINDOW;
    return csv_text_open(&r->text, r->source->path, &sizes, error);
}

/* Gets the first window that has more than blank lines; its header is [*begin, *end). */
static enum status find_header(struct reader *r, const char **begin, const char **end,
                               struct error *error)
{
    do {
        TRY(csv_text_next(&r->text, error));
        if (r->text.begin == r->text.end)
            return error_set(error, STATUS_INPUT, "%s: is empty, expected a header of names",
                             r->text.name);
        *begin = csv_record_skip_blank(r->text.begin, r->text.end);
    } while (*begin == r->text.end);
    *end = csv_text_row_end(*begin, r->text.end);
    csv_text_skip(&r->text, *end);
    return STATUS_OK;
}

/* From now on messages name the columns. */
static void name_columns(struct reader *r)
{
    r->text.separator = r->columns.format.separator;
    r->text.column = r->columns.name;
    r->text.columns = r->columns.count;
}

static enum status read_header(struct reader *r, struct error *error)
{
    const char *begin = NULL, *end = NULL;
    TRY(find_header(r, &begin, &end, error));
    TRY(csv_columns_read(&r->columns, r->text.name, begin, end, error));
    TRY(csv_columns_choose(&r->columns, r->source->options, error));
    name_columns(r);
    r->rows.columns = &r->columns;
    return check_names(r, error);
}

static void show_progress(const struct reader *r)
{
    const uint64_t bytes = line_reader_bytes(r->text.reader);
    const double rate = (double)bytes / (clock_now() - r->start);
    progress_update(r->pieces->progress, line_reader_fraction(r->text.reader), "%s, %s/s",
                    NUMBER_SIZE(bytes), NUMBER_SIZE(number_whole(rate)));
}

static enum status read_rows(struct reader *r, struct error *error)
{
    while (r->text.begin < r->text.end) {
        TRY(read_window(r, error));
        show_progress(r);
        TRY(csv_text_next(&r->text, error));
    }
    if (r->handed_over + r->used == 0)
        return error_set(error, STATUS_INPUT, "%s: no rows after the header", r->text.name);
    return csv_rows_check_times(&r->rows, error);
}

/* Reads the rows now that all names have their numbers. */
static enum status read_again(struct reader *r, struct error *error)
{
    struct coo none = {0};
    const char *begin = NULL, *end = NULL;
    TRY(csv_order_names(&r->columns, &none, error));
    csv_text_close(&r->text);
    r->names_only = false;
    r->used = 0;
    TRY(open_text(r, error));
    progress_stage(r->pieces->progress, "reading %s again", r->text.name);
    TRY(find_header(r, &begin, &end, error));
    name_columns(r);
    return read_rows(r, error);
}

static enum status finish(struct reader *r, struct error *error)
{
    TRY(coo_resize(r->x, r->used, error));
    r->x->shape = shape_so_far(r);
    return csv_order_names(&r->columns, r->x, error);
}

static void give_names(struct reader *r, struct tensor_names *names)
{
    names->order = r->columns.modes;
    names->modes = r->columns.mode_names;
    for (int n = 0; n < names->order; n++) {
        struct csv_mode *mode = &r->columns.mode[n];
        names->index[n] = mode->names;
        mode->names = (struct name_table){0};
    }
}

static void give_report(const struct reader *r, struct tns_report *report)
{
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    *report = (struct tns_report){.gzip = line_reader_gzip(r->text.reader),
                                  .text_bytes = line_reader_bytes(r->text.reader),
                                  .entries = r->handed_over + r->used};
    progress_done(r->pieces->progress, "%" PRIu64 " row%s, %s of CSV%s", report->entries,
                  report->entries == 1 ? "" : "s", number_size(report->text_bytes, size),
                  pace_bytes(report->text_bytes, "", clock_now() - r->start, how_fast));
}

enum status csv_read_pieces(struct coo *x, struct tensor_names *names,
                            const struct csv_source *source, const struct tns_pieces *pieces,
                            struct tns_report *report, struct error *error)
{
    struct reader r = {.x = x, .source = source, .pieces = pieces, .start = clock_now()};
    *x = (struct coo){0};
    *names = (struct tensor_names){0};
    TRY(open_text(&r, error));
    progress_stage(pieces->progress, "reading %s", r.text.name);
    TRY_OR(done, read_header(&r, error));
    TRY_OR(done, read_rows(&r, error));
    if (r.names_only)
        TRY_OR(done, read_again(&r, error));
    TRY_OR(done, finish(&r, error));
    give_names(&r, names);
    give_report(&r, report);
done:
    if (error->status != STATUS_OK) {
        progress_clear(pieces->progress);
        coo_free(x);
    }
    csv_rows_free(&r.rows);
    csv_columns_free(&r.columns);
    csv_text_close(&r.text);
    return error->status;
}

enum status csv_read(struct coo *x, struct tensor_names *names, const struct csv_source *source,
                     struct progress *progress, struct tns_report *report, struct error *error)
{
    const char *path = source->path;
    const struct tns_pieces whole = tns_whole(source->text->memory, &path, progress);
    return csv_read_pieces(x, names, source, &whole, report, error);
}

bool csv_header_is_sure(const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count;
    bool has_separator = false;
    if (count >= UTF8_MARK_BYTES && memcmp(at, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        at += UTF8_MARK_BYTES;
    at = csv_record_skip_blank(at, end);
    if (at == end || !(*at == '"' || *at == '_' || isalpha((unsigned char)*at) || *at & 0x80))
        return false;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (tns_is_sptensor(at, stop ? stop : end))
        return false;
    for (; at < end && *at != '\n'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < ' ' && c != '\t' && c != '\r')
            return false;
        has_separator |= c == ',' || c == ';' || c == '\t';
    }
    return has_separator;
}
