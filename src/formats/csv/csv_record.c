#include "formats/csv/csv_record.h"

#include <string.h>

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
    *field = (struct csv_field){.begin = at, .end = end};
    const char *quote = memchr(at, '"', (size_t)(end - at));
    while (quote && quote + 1 < end && quote[1] == '"') {
        field->doubled = true;
        quote = memchr(quote + 2, '"', (size_t)(end - quote - 2));
    }
    *kind = CSV_UNCLOSED;
    if (!quote || quote + 1 == end)
        return NULL;
    field->end = quote++;
    if (*quote == '\r' && quote + 1 < end && quote[1] == '\n')
        quote++;
    *kind = CSV_AFTER;
    return *quote == separator || *quote == '\n' ? quote : NULL;
}

static inline const char *read_field(char separator, const char *at, const char *end,
                                     struct csv_field *field, enum csv_fault_kind *kind)
{
    if (*at == '"')
        return read_quoted(separator, at + 1, end, field, kind);
    const char *stop = find_special(separator, at, end);
    *field = (struct csv_field){.begin = at, .end = stop};
    if (*stop == '\n' && stop > at && stop[-1] == '\r')
        field->end--;
    *kind = CSV_STRAY;
    return *stop != '"' ? stop : NULL;
}

const char *csv_field_read(char separator, const char *at, const char *end, struct csv_field *field,
                           enum csv_fault_kind *kind)
{
    return read_field(separator, at, end, field, kind);
}

const char *csv_record_read(const struct csv_format *f, const char *at, const char *end,
                            struct csv_field *field, struct csv_fault *fault)
{
    const char *row = at;
    enum csv_fault_kind kind;
    for (int column = 0;; column++) {
        struct csv_field *to = &field[column < f->columns ? f->slot[column] : f->wanted];
        at = read_field(f->separator, at, end, to, &kind);
        if (!at) {
            *fault = (struct csv_fault){kind, row, column, *to};
            return NULL;
        }
        if (*at++ != '\n')
            continue;
        if (column + 1 == f->columns)
            return at;
        *fault = (struct csv_fault){CSV_COLUMNS, row, column + 1, *to};
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
    char *out = to;
    for (const char *p = field->begin; p < field->end; p++) {
        *out++ = *p;
        p += field->doubled && *p == '"';
    }
    return (size_t)(out - to);
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
