#include "formats/csv/csv_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* --- searching eight bytes at a time --- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (unsigned char)(byte))

/* The top bit of the lowest byte that is 0, and perhaps of higher ones; 0 where no byte is 0. */
static inline uint64_t zero_bytes(uint64_t word)
{
    return (word - EACH(1)) & ~word & EACH(0x80);
}

/* The first separator, newline or quote in [at, end), of which there is one. */
static inline const char *find_special(char separator, const char *at, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t found = zero_bytes(word ^ EACH(separator)) | zero_bytes(word ^ EACH('\n')) |
                         zero_bytes(word ^ EACH('"'));
        if (found)
            return at + __builtin_ctzll(found) / 8;
        at += 8;
    }
#endif
    while (at < end && *at != separator && *at != '\n' && *at != '"')
        at++;
    return at;
}

/* --- fields --- */

/* The end of a quoted field whose text begins at `at`. */
static const char *read_quoted(char separator, const char *at, const char *end,
                               struct csv_field *field, enum csv_fault_kind *kind)
{
    *field = (struct csv_field){.name.text = at};
    const char *quote = memchr(at, '"', (size_t)(end - at));
    while (quote && quote + 1 < end && quote[1] == '"') {
        field->doubled = true;
        quote = memchr(quote + 2, '"', (size_t)(end - quote - 2));
    }
    *kind = CSV_UNCLOSED;
    if (!quote || quote + 1 == end)
        return NULL;
    field->name.length = (size_t)(quote++ - at);
    if (*quote == '\r' && quote + 1 < end && quote[1] == '\n')
        quote++;
    *kind = CSV_AFTER;
    return *quote == separator || *quote == '\n' ? quote : NULL;
}

const char *csv_field_read(char separator, const char *at, const char *end, struct csv_field *field,
                           enum csv_fault_kind *kind)
{
    if (*at == '"')
        return read_quoted(separator, at + 1, end, field, kind);
    const char *stop = find_special(separator, at, end);
    *field = (struct csv_field){.name = {at, (size_t)(stop - at)}};
    if (*stop == '\n' && stop > at && stop[-1] == '\r')
        field->name.length--;
    *kind = CSV_STRAY;
    return *stop != '"' ? stop : NULL;
}

const char *csv_record_read(const struct csv_format *f, const char *at, const char *end,
                            struct csv_field *field, struct csv_fault *fault)
{
    const char *row = at;
    enum csv_fault_kind kind;
    for (int column = 0;; column++) {
        struct csv_field *to = &field[column < f->columns ? f->slot[column] : f->wanted];
        at = csv_field_read(f->separator, at, end, to, &kind);
        if (!at) {
            *fault = (struct csv_fault){kind, row, column, to->name};
            return NULL;
        }
        if (*at++ != '\n')
            continue;
        if (column + 1 == f->columns)
            return at;
        *fault = (struct csv_fault){CSV_COLUMNS, row, column + 1, to->name};
        return NULL;
    }
}

const char *csv_record_skip_blank(const char *at, const char *end)
{
    while (at < end) {
        if (*at == '\n')
            at++;
        else if (*at == '\r' && at + 1 < end && at[1] == '\n')
            at += 2;
        else
            break;
    }
    return at;
}

size_t csv_field_copy(const struct csv_field *field, char *to)
{
    const char *end = field->name.text + field->name.length;
    char *copy = to;
    for (const char *p = field->name.text; p < end; p++) {
        *copy++ = *p;
        p += field->doubled && *p == '"';
    }
    return (size_t)(copy - to);
}

char *csv_field_write(const char *text, size_t length, char *to)
{
    const char *end = text + length;
    bool plain = length == 0 || (text[0] != ' ' && end[-1] != ' ');
    for (const char *c = text; c < end; c++)
        plain = plain && *c != ',' && *c != '"' && *c != '\r' && *c != '\n';
    if (plain)
        return mempcpy(to, text, length);
    *to++ = '"';
    for (const char *c = text; c < end; c++) {
        if (*c == '"')
            *to++ = '"';
        *to++ = *c;
    }
    *to++ = '"';
    return to;
}

enum status csv_text_open(struct csv_text *t, const char *path, const struct tns_sizes *sizes,
                          struct error *error)
{
    *t = (struct csv_text){.section_bytes = sizes->section ? sizes->section : LINE_SECTION};
    TRY(line_reader_open(&t->reader, path, sizes->window ? sizes->window : LINE_WINDOW, error));
    t->reader.is_tensor = true;
    return STATUS_OK;
}

void csv_text_close(struct csv_text *t)
{
    line_reader_close(&t->reader);
    memory_free(t->section, t->joined);
    *t = (struct csv_text){0};
}

/* --- where rows begin --- */

/* The first place after [at, end) or in it where a row begins; `inside`: a quoted field goes on at
 * `at`. */
static const char *next_row(const char *at, const char *end, bool inside)
{
    for (; at < end; at++) {
        inside ^= *at == '"';
        if (*at == '\n' && !inside)
            return at + 1;
    }
    return end;
}

/* Cuts the text into sections, and counts the quotes before each. *inside = whether the text ends
 * inside a quoted field. */
static enum status count_quotes(struct csv_text *t, bool *inside, struct error *error)
{
    const size_t bytes = (size_t)(t->rest_end - t->begin), most = bytes / t->section_bytes + 1;
    if (most > t->section_room) {
        TRY(memory_resize(&t->section, most, sizeof *t->section, error));
        t->section_room = most;
    }
    t->sections = (bytes + t->section_bytes - 1) / t->section_bytes;
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
    for (size_t i = 0; i < t->sections; i++) {
        const char *at = t->begin + i * t->section_bytes;
        const char *stop = i + 1 < t->sections ? at + t->section_bytes : t->rest_end;
        t->section[i] = (struct csv_section){.at = at, .quotes = byte_count(at, stop, '"')};
    }
    *inside = false;
    for (size_t i = 0; i < t->sections; i++) {
        t->section[i].inside = *inside;
        *inside ^= t->section[i].quotes & 1;
    }
    return STATUS_OK;
}

/* Where the last row of the text begins, which ends inside a quoted field. */
static const char *last_row(const struct csv_text *t)
{
    for (size_t i = t->sections; i-- > 0;) {
        const struct csv_section *s = &t->section[i];
        const char *stop = i + 1 < t->sections ? s[1].at : t->rest_end, *last = NULL;
        bool inside = s->inside;
        for (const char *p = s->at; p < stop; p++) {
            inside ^= *p == '"';
            if (*p == '\n' && !inside)
                last = p + 1;
        }
        if (last)
            return last;
    }
    return t->begin;
}

const char *csv_text_take_row(struct csv_text *t, const char *row)
{
    const char *at = next_row(row, t->end, false);
    for (size_t i = 0; i < t->sections && t->section[i].begin < at; i++)
        t->section[i].begin = at < t->section[i].end ? at : t->section[i].end;
    return at;
}

/* --- windows --- */

static enum status refuse_long(const struct csv_text *t, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": a row of more than %zu bytes, expected a shorter one: does a "
                     "quoted field lack its closing quote?",
                     t->reader.name, t->lines + 1, t->reader.window_bytes);
}

/* The rest begins a row that has an open quote at its end. STATUS_INPUT where that row is at fault
 * already, or where nothing follows it (`over`). */
static enum status check_rest(const struct csv_text *t, bool over, struct error *error)
{
    struct csv_fault fault = {.row = t->rest};
    struct csv_field field = {0};
    const char separator = t->format ? t->format->separator : ',', *at = t->rest;
    if (!t->format && !over)
        return STATUS_OK;
    for (; at && at < t->rest_end; at++) {
        at = csv_field_read(separator, at, t->rest_end, &field, &fault.kind);
        if (!at)
            break;
        fault.column++;
    }
    fault.name = field.name;
    if (!over && (at || fault.kind == CSV_UNCLOSED))
        return STATUS_OK;
    return csv_text_explain(t, &fault, error);
}

enum status csv_text_next(struct csv_text *t, struct error *error)
{
    t->lines += t->window_lines;
    t->window_lines = 0;
    do {
        struct line_window window;
        bool inside = false;
        const size_t rest = (size_t)(t->rest_end - t->rest), most = t->reader.window_bytes;
        if (rest > most)
            return refuse_long(t, error);
        if (rest > 0 && !t->joined)
            t->joined = memory_array(2, most, error);
        TRY(error->status);
        if (rest > 0) /* the next window may overwrite it */
            memmove(t->joined, t->rest, rest);
        TRY(line_reader_next(&t->reader, &window, error));
        if (window.overlong)
            return refuse_long(t, error);
        const bool over = window.begin == window.end;
        if (rest > 0) {
            const size_t more = (size_t)(window.end - window.begin);
            if (more > 0)
                memcpy(t->joined + rest, window.begin, more);
            window.begin = t->joined;
            window.end = t->joined + rest + more;
        }
        t->begin = window.begin;
        t->rest_end = window.end;
        TRY(count_quotes(t, &inside, error));
        t->rest = t->end = inside ? last_row(t) : t->rest_end;
        /* each section gets the rows that begin in it */
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
        for (size_t i = 0; i < t->sections; i++) {
            struct csv_section *s = &t->section[i];
            const bool begins = i == 0 || (!s->inside && s->at[-1] == '\n');
            s->begin = begins           ? s->at
                       : s->at < t->end ? next_row(s->at, t->end, s->inside)
                                        : t->end;
        }
#pragma omp parallel for schedule(dynamic) num_threads(t->reader.threads)
        for (size_t i = 0; i < t->sections; i++) {
            struct csv_section *s = &t->section[i];
            s->end = i + 1 < t->sections ? s[1].begin : t->end;
            s->lines = line_count(s->begin, s->end);
        }
        t->window_lines = 0;
        for (size_t i = 0; i < t->sections; i++) {
            t->section[i].first_line = t->window_lines;
            t->window_lines += t->section[i].lines;
        }
        if (over && t->rest == t->rest_end)
            return STATUS_OK;
        if (t->begin == t->end)
            TRY(check_rest(t, over, error));
    } while (t->begin == t->end);
    return STATUS_OK;
}

/* --- messages --- */

#define SHOWN      40 /* bytes of a field         */
#define SHOWN_NAME 80 /* bytes of a column's name */

enum status csv_text_explain(const struct csv_text *t, const struct csv_fault *fault,
                             struct error *error)
{
    static const char *const wrong[] = {
        [CSV_UNCLOSED] = "a quoted field that does not end, expected a quote after it",
        [CSV_STRAY] = "a quote in a field without quotes, expected the field in quotes and each "
                      "quote inside it twice",
        [CSV_AFTER] = "something after the closing quote of a field, expected a separator, or each "
                      "quote inside the field twice",
        [CSV_EMPTY] = "is empty, expected a name",
        [CSV_ZERO_BYTE] = "a byte of value 0, expected a name: text, plain or gzip",
        [CSV_VALUE] = "expected a number, or nothing for an unknown entry",
        [CSV_NUMBER] = "expected a number, by which --order can order it",
        [CSV_UNBINNED] = "expected a number, for a bin of --bin",
        [CSV_TIME] = "expected a date as 2026-11-23T14:05, or seconds since 1970",
        [CSV_UNLISTED] = "expected a name that the file of --order, or the model, has"};
    const struct csv_format *f = t->format;
    const struct name name = fault->name; /* in the text, unless it is a copy */
    const bool in_row = fault->kind == CSV_COLUMNS;
    const bool in_text = !in_row && name.text >= fault->row && name.text < t->rest_end;
    const uint64_t number = t->lines + 1 + line_count(t->begin, in_text ? name.text : fault->row);
    char column[128] = "", shown[4 * SHOWN + 8] = "";
    if (in_row)
        return error_set(
            error, STATUS_INPUT, "%s:%" PRIu64 ": %d column%s, expected %d, as in the header",
            t->reader.name, number, fault->column, fault->column == 1 ? "" : "s", f->columns);
    if (f && fault->column < f->columns)
        snprintf(column, sizeof column, "column %d (%.*s): ", fault->column + 1,
                 name_shown(f->name[fault->column], SHOWN_NAME), f->name[fault->column].text);
    else if (f) /* which the header lacks */
        snprintf(column, sizeof column, "column %d: ", fault->column + 1);
    if (fault->kind == CSV_LONG)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %sa name of %zu bytes, expected %zu at most",
                         t->reader.name, number, column, name.length, NAME_LONGEST);
    if (fault->kind >= CSV_VALUE)
        snprintf(shown, sizeof shown, "'%.*s%s', ", name_shown(name, SHOWN), name.text,
                 name.length < SHOWN ? "" : "...");
    return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": %s%s%s", t->reader.name, number, column,
                     shown, wrong[fault->kind]);
}
