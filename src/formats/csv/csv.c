#include "formats/csv/csv.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/csv/csv_columns.h"
#include "formats/csv/csv_text.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/tns_text.h"
#include "tensor/coo.h"

/* --- rows ---
 * Rows of CSV become entries, by several threads: names become numbers in the order of appearance.
 * Each thread numbers the names of a section that the tables lack; then one thread for each mode
 * adds these names to the table, section after section. So the numbers do not depend on the number
 * of threads. */

#define BATCH        32               /* rows whose names are looked up together               */
#define FRESH        NAME_TABLE_LIMIT /* set in the number of a name that the section is first to have */
#define LEAST_COPIES ((size_t)4 << 10) /* bytes of copied names */

/* What a thread finds in a section. */
struct section_names {
    uint64_t rows;
    struct csv_fault fault;             /* of the first row at fault                  */
    struct error error;                 /* STATUS_MEMORY                              */
    struct name_table fresh[MAX_ORDER]; /* names that the modes' tables lack          */
    uint32_t *number[MAX_ORDER];        /* (number_room) of these in the tables; owned */
    uint64_t number_room[MAX_ORDER];
    unsigned kinds[MAX_ORDER]; /* of the names so far, where the mode's order is CSV_BY_VALUE  */
    bool binned[MAX_ORDER];    /* a field other than those of csv_bin_is_compact, so far */
    char *copies; /* (copies_room) names of a batch that are not in the text as they are; owned */
    size_t copies_room;
};

/* --- one section --- */

/* Some rows of a section, and the names in them. */
struct batch {
    const struct csv_columns *columns;
    struct section_names *own;
    const struct coo *x;
    uint64_t first; /* the entry of the first row */
    int rows;
    size_t copied; /* bytes of own->copies */
    const char *row[BATCH];
    struct name name[BATCH][MAX_ORDER];
    uint32_t hash[BATCH][MAX_ORDER];
};

static bool set_fault(struct batch *b, enum csv_fault_kind kind, const char *row, int n,
                      struct name name)
{
    const int column = n < b->columns->modes ? b->columns->mode[n].column : b->columns->value;
    b->own->fault = (struct csv_fault){kind, row, column, name};
    return false;
}

/* Numbers a name that the mode's table lacks. */
static bool take_fresh(struct batch *b, int i, int n, uint32_t *number)
{
    const struct csv_mode *mode = &b->columns->mode[n];
    const struct name name = b->name[i][n];
    struct csv_value value;
    if (mode->order == CSV_LISTED)
        return set_fault(b, CSV_UNLISTED, b->row[i], n, name);
    if (name.length > NAME_LONGEST)
        return set_fault(b, CSV_LONG, b->row[i], n, name);
    if (memchr(name.text, 0, name.length))
        return set_fault(b, CSV_ZERO_BYTE, b->row[i], n, name);
    if (mode->order == CSV_BY_NUMBER && !csv_value_number(&value, name.text, name.length))
        return set_fault(b, CSV_NUMBER, b->row[i], n, name);
    if (mode->order == CSV_BY_VALUE)
        b->own->kinds[n] = csv_columns_kinds(b->own->kinds[n], name);
    if (name_table_add(&b->own->fresh[n], name, b->hash[i][n], number, &b->own->error) != STATUS_OK)
        return false;
    *number |= FRESH;
    return true;
}

/* Looks up the names of the rows so far. Returns whether all is well. */
static bool end_batch(struct batch *b)
{
    const int rows = b->rows;
    b->rows = 0;
    b->copied = 0;
    for (int i = 0; i < rows; i++)
        for (int n = 0; n < b->columns->modes; n++)
            name_table_prefetch_text(&b->columns->mode[n].names, b->hash[i][n]);
    for (int i = 0; i < rows; i++) {
        for (int n = 0; n < b->columns->modes; n++) {
            uint32_t *number = &b->x->index[n][b->first + (uint64_t)i];
            if (name_table_find(&b->columns->mode[n].names, b->name[i][n], b->hash[i][n], number))
                continue;
            if (!take_fresh(b, i, n, number))
                return false;
        }
    }
    b->first += (uint64_t)rows;
    b->own->rows += (uint64_t)rows;
    return true;
}

/* The name that the field of mode n stands for. */
static bool name_of(struct batch *b, const struct csv_field *field, const char *row, int n,
                    struct name *name)
{
    const struct csv_bin *bin = &b->columns->mode[n].bin;
    *name = field->name;
    if (name->length == 0)
        return set_fault(b, CSV_EMPTY, row, n, *name);
    if (field->doubled) {
        char *copy = b->own->copies + b->copied;
        *name = (struct name){copy, csv_field_copy(field, copy)};
        b->copied += name->length;
    }
    if (bin->kind == CSV_BIN_NONE)
        return true;
    char *binned = b->own->copies + b->copied;
    const size_t length = csv_bin_name(bin, name->text, name->length, binned);
    if (length == 0)
        return set_fault(b, bin->kind == CSV_BIN_NUMBER ? CSV_UNBINNED : CSV_TIME, row, n,
                         field->name);
    b->own->binned[n] = b->own->binned[n] || !csv_bin_is_compact(name->text, name->length);
    *name = (struct name){binned, length};
    b->copied += length;
    return true;
}

/* A number, or an unknown entry: an empty field, as pandas writes it, or a word for it. */
static bool value_of(struct batch *b, struct name field, const char *row, double *value)
{
    const char *end = field.text + field.length;
    if (number_parse(field.text, end, value) == end && isfinite(*value))
        return true;
    *value = COO_UNKNOWN;
    if (field.length == 0 || number_parse_unknown(field.text, end) == end)
        return true;
    return set_fault(b, CSV_VALUE, row, b->columns->modes, field);
}

/* Adds a row to the batch. */
static bool take_row(struct batch *b, const struct csv_field *field, const char *row)
{
    const struct csv_columns *c = b->columns;
    struct section_names *own = b->own;
    size_t copies = 0; /* bytes of copies that the row may take */
    for (int n = 0; n < c->modes; n++) {
        copies += field[n].doubled ? field[n].name.length : 0;
        copies += c->mode[n].bin.kind != CSV_BIN_NONE ? CSV_BIN_ROOM : 0;
    }
    if ((b->rows == BATCH || own->copies_room - b->copied < copies) && !end_batch(b))
        return false;
    if (own->copies_room - b->copied < copies) { /* and the batch is empty */
        const size_t room = 2 * copies + LEAST_COPIES;
        if (memory_resize(&own->copies, room, 1, &own->error) != STATUS_OK)
            return false;
        own->copies_room = room;
    }
    const int i = b->rows;
    double *value = &b->x->value[b->first + (uint64_t)i];
    *value = 1;
    b->row[i] = row;
    for (int n = 0; n < c->modes; n++) {
        struct name *name = &b->name[i][n];
        if (!name_of(b, &field[n], row, n, name))
            return false;
        b->hash[i][n] = name_hash(name->text, name->length);
        name_table_prefetch(&c->mode[n].names, b->hash[i][n]);
    }
    if (c->value >= 0 && !value_of(b, field[c->modes].name, row, value))
        return false;
    b->rows++;
    return true;
}

static void read_section(const struct csv_columns *c, const struct csv_section *s,
                         struct section_names *own, const struct coo *x, uint64_t first)
{
    struct csv_field field[MAX_ORDER + 2];
    struct batch b = {.columns = c, .own = own, .x = x, .first = first};
    own->rows = 0;
    own->fault.kind = CSV_SOUND;
    for (int n = 0; n < c->modes; n++) {
        name_table_clear(&own->fresh[n]);
        own->kinds[n] = c->mode[n].kinds;
    }
    for (const char *at = csv_record_skip_blank(s->begin, s->end); at && at < s->end;) {
        const char *next = csv_record_read(&c->format, at, s->end, field, &own->fault);
        if (!next || !take_row(&b, field, at))
            break;
        at = csv_record_skip_blank(next, s->end);
    }
    /* rows before a row at fault may be at fault, too, in what is found out only now */
    const struct csv_fault later = own->fault;
    own->fault.kind = CSV_SOUND;
    if (own->error.status == STATUS_OK && end_batch(&b))
        own->fault = later;
}

/* --- all sections --- */

struct csv_reading {
    struct tensor_reader *reader; /* whose piece gets the entries; borrowed */
    uint64_t used;                /* entries in the piece                   */
    struct csv_text text;
    struct csv_columns columns;
    struct section_names *own; /* (room) of the sections of a window; owned */
    size_t room;
    bool names_only; /* too many entries while names are to be sorted: it is read again */
};

/* Adds the fresh names of all sections to the table of mode n. The first name that is neither a
 * number nor a date ends the wait for an order by value. */
static enum status add_names(struct csv_reading *r, int n, struct error *error)
{
    struct csv_mode *mode = &r->columns.mode[n];
    struct name_table *names = &mode->names;
    for (size_t i = 0; i < r->text.sections; i++) {
        struct section_names *own = &r->own[i];
        const struct name_table *fresh = &own->fresh[n];
        if (fresh->count > own->number_room[n]) {
            TRY(memory_resize(&own->number[n], fresh->count, sizeof *own->number[n], error));
            own->number_room[n] = fresh->count;
        }
        if ((uint64_t)names->count + fresh->count > NAME_TABLE_LIMIT)
            return error_set(error, STATUS_INPUT,
                             "%s: more than %" PRIu32 " names in a column, expected fewer",
                             r->columns.path, NAME_TABLE_LIMIT);
        for (uint32_t k = 0; k < fresh->count; k++) {
            const struct name name = name_table_get(fresh, k);
            const uint32_t hash = name_hash(name.text, name.length);
            TRY(name_table_add(names, name, hash, &own->number[n][k], error));
        }
        mode->kinds &= own->kinds[n];
    }
    if (mode->order == CSV_BY_VALUE && !mode->kinds)
        mode->order = CSV_APPEARANCE;
    return STATUS_OK;
}

/* Parses the window into the piece, which has room for an entry a text line. STATUS_INPUT where a
 * row is at fault: a message about the first one. STATUS_MEMORY. */
static enum status parse_window(struct csv_reading *r, struct error *error)
{
    const struct csv_text *t = &r->text;
    struct error failure[MAX_ORDER] = {{0}};
    const int modes = r->columns.modes;
    if (t->sections > r->room) {
        TRY(memory_resize(&r->own, t->sections, sizeof *r->own, error));
        memset(r->own + r->room, 0, (t->sections - r->room) * sizeof *r->own);
        r->room = t->sections;
    }
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (size_t i = 0; i < t->sections; i++)
        read_section(&r->columns, &t->section[i], &r->own[i], &r->reader->piece,
                     r->used + t->section[i].first_line);
    for (size_t i = 0; i < t->sections; i++) {
        const struct section_names *own = &r->own[i];
        *error = own->error;
        TRY(error->status);
        if (own->fault.kind != CSV_SOUND)
            return csv_text_explain(t, &own->fault, error);
    }
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (int n = 0; n < modes; n++)
        add_names(r, n, &failure[n]);
    for (int n = 0; n < modes; n++) {
        *error = failure[n];
        TRY(error->status);
    }
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (size_t i = 0; i < t->sections; i++) {
        const struct section_names *own = &r->own[i];
        for (int n = 0; n < modes; n++) {
            uint32_t *index = r->reader->piece.index[n] + r->used + t->section[i].first_line;
            for (uint64_t k = 0; k < own->rows && own->fresh[n].count > 0; k++)
                if (index[k] & FRESH) /* the number that the name has in the table */
                    index[k] = own->number[n][index[k] & ~FRESH];
        }
    }
    /* closes the gaps that text lines without an entry left */
    struct coo *x = &r->reader->piece;
    uint64_t at = r->used;
    for (size_t i = 0; i < t->sections; i++) {
        coo_move(x, at, x, r->used + t->section[i].first_line, r->own[i].rows);
        at += r->own[i].rows;
    }
    r->used = at;
    return STATUS_OK;
}

/* Once all rows are read: STATUS_INPUT where all fields of a bin of time are numbers
 * that read as dates, and would be seconds of 1970. */
static enum status check_times(const struct csv_reading *r, struct error *error)
{
    const struct csv_columns *c = &r->columns;
    for (int n = 0; n < c->modes; n++) {
        const struct name name = c->format.name[c->mode[n].column];
        const enum csv_bin_kind kind = c->mode[n].bin.kind;
        bool binned = kind != CSV_BIN_TIME && kind != CSV_BIN_HOUR_OF_WEEK;
        for (size_t i = 0; i < r->room; i++)
            binned = binned || r->own[i].binned[n];
        if (!binned)
            return error_set(error, STATUS_INPUT,
                             "%s: column %d (%.*s): all fields read as dates without hyphens, "
                             "expected 2026-11-23 for 20261123; numbers that are no dates have "
                             "bins of a width without a unit, as --bin COLUMN=3600",
                             c->path, c->mode[n].column + 1, (int)name.length, name.text);
    }
    return STATUS_OK;
}

#define LEAST_WINDOW ((size_t)64 << 10)
#define WINDOW_PART                                                                                \
    64               /* a window takes at most this part of the memory; its new names take more    \
                      */
#define NAMES_PART 2 /* names, too */

static enum status check_names(const struct csv_reading *r, struct error *error)
{
    const uint64_t most = r->reader->memory / NAMES_PART;
    if (csv_columns_bytes(&r->columns) <= most)
        return STATUS_OK;
    return error_set(
        error, STATUS_MEMORY,
        "%s: the names take more than %s, the part of the memory that is theirs: allow "
        "more with --host-memory",
        r->text.reader.name, NUMBER_SIZE(most));
}

/* The piece is full, but while names wait to be sorted, it cannot be handed over: then only names
 * are taken, and the file is read again. So the order does not depend on the memory. */
static enum status take_names_only(struct csv_reading *r, struct error *error)
{
    struct stat about;
    const char *path = r->reader->path;
    const bool reads_again =
        strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
    if (!reads_again)
        return error_set(error, STATUS_MEMORY,
                         "%s: more than %" PRIu64 " entries, for which there is not enough memory "
                         "while names wait to be sorted: give a file, which can be read twice, "
                         "allow more with --host-memory, or leave names as they appear with "
                         "--order COLUMN=appearance",
                         r->text.reader.name, r->used);
    r->names_only = true;
    r->used = 0;
    return STATUS_OK;
}

/* Opens the text and finds the header in the first window that has more than blank lines. It is
 * [*begin, *end). */
static enum status open_text(struct csv_reading *r, const char **begin, const char **end,
                             struct error *error)
{
    struct tns_sizes sizes = r->reader->tns->sizes;
    const uint64_t part = r->reader->memory / WINDOW_PART;
    if (sizes.window == 0)
        sizes.window = part < LEAST_WINDOW  ? LEAST_WINDOW
                       : part < LINE_WINDOW ? (size_t)part
                                            : LINE_WINDOW;
    TRY(csv_text_open(&r->text, r->reader->path, &sizes, error));
    do {
        TRY(csv_text_next(&r->text, error));
        if (r->text.begin == r->text.end)
            return error_set(error, STATUS_INPUT, "%s: is empty, expected a header of names",
                             r->text.reader.name);
        *begin = csv_record_skip_blank(r->text.begin, r->text.end);
    } while (*begin == r->text.end);
    *end = csv_text_take_row(&r->text, *begin);
    return STATUS_OK;
}

/* --- the format --- */

/* Whether bytes[0..count), the first of a file, begin with a header for sure: a text line of
 * several fields that begins with a letter or a quote, as no line of a tensor does. */
static bool header_is_sure(const char *bytes, size_t count)
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

static bool csv_probe(const char *path, const char *bytes, size_t count)
{
    static const char *const endings[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strcasecmp(path + length - end, endings[i]) == 0)
            return true;
    }
    return header_is_sure(bytes, count);
}

static enum status csv_open(struct tensor_reader *t, struct error *error)
{
    struct csv_reading *r = t->state = memory_zeros(1, sizeof *r, error);
    const char *begin = NULL, *end = NULL;
    TRY(error->status);
    r->reader = t;
    TRY(open_text(r, &begin, &end, error));
    TRY(csv_columns_read(&r->columns, r->text.reader.name, begin, end, error));
    TRY(csv_columns_choose(&r->columns, t->csv, error));
    TRY(csv_columns_find_unused(&r->columns, end, r->text.end, error));
    r->text.format = &r->columns.format; /* from now on messages name the columns */
    return check_names(r, error);
}

/* Parses windows into the piece until it is full, which leaves a window, or the file ends. */
static enum status read_rows(struct csv_reading *r, struct error *error)
{
    struct tensor_reader *t = r->reader;
    while (r->text.begin < r->text.end) {
        const struct csv_section *last = &r->text.section[r->text.sections - 1];
        const uint64_t lines = last->first_line + last->lines;
        const uint64_t names = csv_columns_bytes(&r->columns) + csv_columns_sort_bytes(&r->columns);
        const uint64_t most = tensor_reader_most(t, r->columns.modes, names);
        const double read = r->names_only ? 0 : line_reader_fraction(&r->text.reader);
        if (r->used > 0 && r->used + lines > most) {
            if (!r->names_only && !csv_columns_wait(&r->columns))
                return STATUS_OK;
            TRY(take_names_only(r, error));
        }
        TRY(tensor_reader_make_room(t, r->columns.modes, r->used, lines, most, read, error));
        TRY(parse_window(r, error));
        TRY(check_names(r, error));
        const uint64_t bytes = r->text.reader.text_bytes;
        const double rate = (double)bytes / (clock_now() - t->start);
        progress_update(t->progress, line_reader_fraction(&r->text.reader), "%s, %s/s",
                        NUMBER_SIZE(bytes), NUMBER_SIZE(number_whole(rate)));
        TRY(csv_text_next(&r->text, error));
    }
    if (t->entries + r->used == 0)
        return error_set(error, STATUS_INPUT, "%s: no rows after the header", r->text.reader.name);
    return check_times(r, error);
}

static enum status csv_next(struct tensor_reader *t, struct error *error)
{
    struct csv_reading *r = t->state;
    r->used = 0;
    TRY(read_rows(r, error));
    if (r->names_only) { /* begin the file again now that all names have their numbers */
        struct coo none = {0};
        const char *begin = NULL, *end = NULL;
        TRY(csv_columns_number(&r->columns, &none, error));
        csv_text_close(&r->text);
        r->names_only = false;
        r->used = 0;
        TRY(open_text(r, &begin, &end, error));
        progress_stage(r->reader->progress, "reading %s again", r->text.reader.name);
        r->text.format = &r->columns.format;
        TRY(read_rows(r, error));
    }
    const bool over = r->text.begin == r->text.end;
    t->piece.nnz = r->used;
    if (over)
        TRY(csv_columns_number(&r->columns, &t->piece, error));
    for (int n = 0; n < r->columns.modes; n++)
        t->piece.shape.dims[n] = r->columns.mode[n].names.count;
    t->bytes = r->text.reader.text_bytes;
    tensor_reader_set_piece(t, r->used, over);
    return STATUS_OK;
}

static enum status csv_end(struct tensor_reader *t, struct error *error)
{
    struct csv_reading *r = t->state;
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    t->shape = (struct shape){.order = r->columns.modes};
    for (int n = 0; n < r->columns.modes; n++)
        t->shape.dims[n] = r->columns.mode[n].names.count;
    t->gzip = r->text.reader.gzip;
    progress_done(t->progress, "%" PRIu64 " row%s, %s of CSV%s", t->entries,
                  t->entries == 1 ? "" : "s", number_size(t->bytes, size),
                  pace_bytes(t->bytes, "", clock_now() - t->start, how_fast));
    return tns_check_lengths(t->path, &t->shape, t->tns, error);
}

static void csv_names(struct tensor_reader *t, struct tensor_names *names)
{
    struct csv_reading *r = t->state;
    *names = (struct tensor_names){.order = r->columns.modes, .modes = r->columns.mode_names};
    names->unused = r->columns.unused;
    r->columns.unused = NULL;
    for (int n = 0; n < names->order; n++) {
        names->index[n] = r->columns.mode[n].names;
        r->columns.mode[n].names = (struct name_table){0};
    }
}

static void csv_close(struct tensor_reader *t)
{
    struct csv_reading *r = t->state;
    for (size_t i = 0; i < r->room; i++) {
        for (int n = 0; n < MAX_ORDER; n++) {
            name_table_free(&r->own[i].fresh[n]);
            memory_free(r->own[i].number[n]);
        }
        memory_free(r->own[i].copies);
    }
    memory_free(r->own);
    csv_columns_free(&r->columns);
    csv_text_close(&r->text);
}

const struct tensor_format tensor_csv = {.name = "csv",
                                         .what = "CSV",
                                         .probe = csv_probe,
                                         .open = csv_open,
                                         .next = csv_next,
                                         .end = csv_end,
                                         .names = csv_names,
                                         .close = csv_close};
