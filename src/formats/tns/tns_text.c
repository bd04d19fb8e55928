#include "formats/tns/tns_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "base/number.h"

/* --- text lines: entries are parsed fast, and errors are explained --- */

#define MAX_COLUMNS (MAX_ORDER + 1)

/* A column of a text line. */
struct token {
    const char *begin, *end;
};

#define QUOTED_BYTES 200

#define QUOTED_LENGTH 40 /* bytes of a token that a message shows */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Puts the columns of the text line [line, end), without its comment, into
 * token[0..MAX_COLUMNS). Returns the number of columns, also of those that do not fit. */
static uint64_t cut_columns(const char *line, const char *end, struct token *token)
{
    const char *comment = memchr(line, '#', (size_t)(end - line));
    if (comment)
        end = comment;
    else if (end > line && end[-1] == '\r')
        end--;
    uint64_t count = 0;
    for (const char *p = line;; count++) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            return count;
        const char *begin = p;
        while (p < end && !is_blank(*p))
            p++;
        if (count < MAX_COLUMNS)
            token[count] = (struct token){begin, p};
    }
}

/* Whether the token is one whole unsigned number, leading zeros allowed; *value is UINT64_MAX if
 * the number does not fit. */
static bool read_unsigned(struct token token, uint64_t *value)
{
    return number_parse_unsigned(token.begin, token.end, value) == token.end;
}

/* Writes the token in quotes to text[0..QUOTED_BYTES): long tokens are cut, bytes that do not
 * print are escaped. Returns text. */
static const char *quote(struct token token, char *text)
{
    char *end = text;
    *end++ = '\'';
    const char *p = token.begin;
    for (; p < token.end && p < token.begin + QUOTED_LENGTH; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < ' ' || c > '~')
            end += sprintf(end, "\\x%02x", c);
        else
            *end++ = *p;
    }
    strcpy(end, p < token.end ? "...'" : "'");
    return text;
}

static uint64_t columns_of(const struct tns_format *f)
{
    return (uint64_t)f->order + !f->valueless;
}

/* Parses a value: a finite number, or a word for an unknown one (COO_UNKNOWN). Returns its end, or
 * NULL. */
static const char *parse_value(const char *text, const char *end, double *value)
{
    const char *after = number_parse(text, end, value);
    if (after && isfinite(*value))
        return after;
    *value = COO_UNKNOWN;
    return number_parse_unknown(text, end);
}

enum line_kind { LINE_EMPTY, LINE_ENTRY, LINE_BAD };

/* Parses a text line that fast_line() has refused. */
static enum line_kind parse_line(const struct tns_format *f, const char *line, const char *end,
                                 const struct coo *place, uint64_t at)
{
    struct token token[MAX_COLUMNS];
    uint64_t columns = cut_columns(line, end, token);
    if (columns == 0)
        return LINE_EMPTY;
    if (columns != columns_of(f))
        return LINE_BAD;
    for (int n = 0; n < f->order; n++) {
        uint64_t index;
        if (!read_unsigned(token[n], &index) || index - f->index_base >= f->limit[n])
            return LINE_BAD;
        place->index[n][at] = (uint32_t)(index - f->index_base);
    }
    place->value[at] = COO_UNKNOWN;
    if (f->valueless)
        return LINE_ENTRY;
    struct token last = token[f->order];
    double value;
    if (parse_value(last.begin, last.end, &value) != last.end)
        return LINE_BAD;
    place->value[at] = value;
    return LINE_ENTRY;
}

/* Explains what is wrong with an index of mode n; STATUS_OK if nothing is. */
static enum status explain_index(const struct tns_format *f, uint64_t number, int n,
                                 struct token token, struct error *error)
{
    char quoted[QUOTED_BYTES], origin[64] = "";
    struct token digits = {token.begin + (*token.begin == '-'), token.end};
    uint64_t index;
    if (!read_unsigned(digits, &index))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": mode %d: index %s, expected a whole number", f->name,
                         number, n + 1, quote(token, quoted));
    int length =
        token.end - token.begin > QUOTED_LENGTH ? QUOTED_LENGTH : (int)(token.end - token.begin);
    if (digits.begin != token.begin || index < f->index_base)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": mode %d: index %.*s, expected %" PRIu32 " or more%s",
                         f->name, number, n + 1, length, token.begin, f->index_base,
                         f->index_base == 1 && index == 0 ? " (--index-base 0 for zero-based files)"
                                                          : "");
    if (index - f->index_base < f->limit[n])
        return STATUS_OK;
    if (f->limit_origin[n])
        snprintf(origin, sizeof origin, ", as %s says", f->limit_origin[n]);
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": mode %d: index %.*s, expected at most %" PRIu64 "%s", f->name,
                     number, n + 1, length, token.begin, f->limit[n] - 1 + f->index_base, origin);
}

enum status tns_line_explain(const struct tns_format *f, const char *line, const char *end,
                             uint64_t number, bool cut_off, struct error *error)
{
    struct token token[MAX_COLUMNS];
    uint64_t columns = cut_columns(line, end, token);
    if (end - line > 1 && memchr(line, '\r', (size_t)(end - line) - 1))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a carriage return within the line, expected lines that "
                         "end in LF or CR LF",
                         f->name, number);
    if (columns != columns_of(f)) {
        cut_off = cut_off && columns < columns_of(f);
        return error_set(
            error, STATUS_INPUT,
            "%s:%" PRIu64 ": %s%" PRIu64 " column%s, expected %" PRIu64 ": %d ind%s %s "
            "value, as %s says",
            f->name, number, cut_off ? "the last line is cut off: " : "", columns,
            columns == 1 ? "" : "s", columns_of(f), f->order, f->order == 1 ? "ex" : "ices",
            f->valueless ? "without a" : "and a", f->order_origin);
    }
    for (int n = 0; n < f->order; n++)
        TRY(explain_index(f, number, n, token[n], error));

    struct token last = token[f->order];
    char quoted[QUOTED_BYTES];
    double value;
    bool is_number = number_parse(last.begin, last.end, &value) == last.end;
    bool has_comma = memchr(last.begin, ',', (size_t)(last.end - last.begin));
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": value %s, expected a %snumber%s, or nan for an unknown entry",
                     f->name, number, quote(last, quoted), is_number ? "finite " : "",
                     has_comma ? " with a decimal point" : "");
}

/* --- the usual text line, fast --- */

/* Parses an unsigned number of up to 15 digits at p, where 16 bytes must be readable. Returns its
 * end, or NULL if there is no such number. A newline ends it at the latest. */
static inline const char *fast_unsigned(const char *p, const char *readable, uint64_t *value)
{
    if (readable - p < 16)
        return NULL;
    int count = digits_upto_eight(p, value);
    if (count == 0)
        return NULL;
    p += count;
    if (count == 8 && is_digit(*p)) {
        uint64_t low = 0;
        count = digits_upto_eight(p, &low);
        if (count > 7)
            return NULL;
        static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
        *value = *value * power[count] + low;
        p += count;
    }
    return p;
}

/* Parses a value at p: a whole number fast, others by parse_value(). Returns its end or NULL. */
static inline const char *fast_value(const char *p, const char *readable, double *value)
{
    uint64_t whole;
    bool negative = *p == '-';
    const char *end = fast_unsigned(p + negative, readable, &whole);
    if (end && (unsigned char)*end <= ' ') {
        *value = negative ? -(double)whole : (double)whole;
        return end;
    }
    return parse_value(p, readable, value);
}

static inline const char *skip_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

/* Parses the entry of the text line at p into place [at]. Returns the beginning of the next line,
 * or NULL if the line is not a plain entry. The newline that ends every line ends each loop. */
static inline const char *fast_line(const struct tns_format *f, const char *p, const char *readable,
                                    const struct coo *place, uint64_t at)
{
    const int columns = (int)columns_of(f);
    p = skip_blanks(p);
    for (int n = 0; n < f->order; n++) {
        uint64_t index;
        p = fast_unsigned(p, readable, &index);
        if (!p || (!is_blank(*p) && n + 1 < columns))
            return NULL;
        index -= f->index_base;
        if (index >= f->limit[n])
            return NULL;
        place->index[n][at] = (uint32_t)index;
        p = skip_blanks(p);
    }
    if (f->valueless)
        place->value[at] = COO_UNKNOWN;
    else
        p = fast_value(p, readable, &place->value[at]);
    if (!p)
        return NULL;
    p = skip_blanks(p);
    if (*p == '\r')
        p++;
    return *p == '\n' ? p + 1 : NULL;
}

const char *tns_lines_parse(const struct tns_format *f, const char *begin, const char *end,
                            const char *readable, const struct coo *place, uint64_t *entries)
{
    uint64_t at = 0;
    const char *line = begin;
    while (line < end) {
        const char *next = fast_line(f, line, readable, place, at);
        if (next) {
            at++;
            line = next;
            continue;
        }
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        enum line_kind kind = parse_line(f, line, line_end, place, at);
        if (kind == LINE_BAD)
            break;
        at += kind == LINE_ENTRY;
        line = line_end + 1;
    }
    *entries = at;
    return line;
}

/* --- Reads the header of FROSTT text (see enum tns_header), one text line at a time, until the
 * form of the entries is known. --- */

#define SPTENSOR "sptensor"

const struct word tns_header_words[] = {{"none", TNS_HEADER_NONE},
                                        {"dims", TNS_HEADER_DIMS},
                                        {SPTENSOR, TNS_HEADER_SPTENSOR},
                                        {NULL, 0}};

static const char *order_origin(const struct tns_options *options)
{
    return options->order_origin ? options->order_origin : "--dims";
}

const char *tns_dims_origin(const struct tns_options *options, int n)
{
    return options->dims_origin[n] ? options->dims_origin[n] : order_origin(options);
}

enum status tns_check_lengths(const char *path, const struct shape *shape,
                              const struct tns_options *options, struct error *error)
{
    if (options->ndims && options->ndims != shape->order)
        return error_set(error, STATUS_INPUT, "%s: %d modes, but --dims gives %d", path,
                         shape->order, options->ndims);
    for (int n = 0; n < shape->order; n++)
        if (options->dims[n] && options->dims[n] != shape->dims[n])
            return error_set(error, STATUS_INPUT,
                             "%s: mode %d: length %ju, but %s gives %ju, which changes the "
                             "lengths of text only",
                             path, n + 1, (uintmax_t)shape->dims[n], tns_dims_origin(options, n),
                             (uintmax_t)options->dims[n]);
    return STATUS_OK;
}

static bool is_word(struct token token, const char *word)
{
    return (size_t)(token.end - token.begin) == strlen(word) &&
           strncasecmp(token.begin, word, strlen(word)) == 0;
}

bool tns_is_sptensor(const char *line, const char *end)
{
    struct token token[MAX_COLUMNS];
    return cut_columns(line, end, token) == 1 && is_word(token[0], SPTENSOR);
}

/* Sets the form of the entries: `order` indices, which is known from `origin`. */
static enum status ready(struct tns_head *h, int order, const char *origin, struct error *error)
{
    const struct tns_options *o = h->options;
    if (o->ndims && o->ndims != order)
        return error_set(error, STATUS_INPUT, "%s: %d mode%s, as %s says, but %s gives %d", h->name,
                         order, order == 1 ? "" : "s", origin, order_origin(o), o->ndims);
    struct tns_format *f = &h->format;
    *f =
        (struct tns_format){.name = h->name, .order = order, .index_base = (uint32_t)o->index_base};
    snprintf(f->order_origin, sizeof f->order_origin, "%s", origin);
    bool header = h->dialect != TNS_HEADER_NONE;
    for (int n = 0; n < order; n++) {
        f->limit[n] = o->dims[n] ? o->dims[n] : header ? h->shape.dims[n] : MAX_LENGTH;
        f->limit_origin[n] = o->dims[n] ? tns_dims_origin(o, n) : header ? "the header" : NULL;
    }
    h->awaited = o->order_origin ? TNS_AWAIT_ENTRY : TNS_READY;
    return STATUS_OK;
}

/* Takes the first entry, a text line of so many columns, where the order is known before. */
static enum status first_entry(struct tns_head *h, uint64_t columns, uint64_t number,
                               struct error *error)
{
    struct tns_format *f = &h->format;
    const uint64_t indices = (uint64_t)f->order;
    const bool optional = h->options->values_optional;
    char expected[48];
    f->valueless = optional && columns == indices;
    h->awaited = TNS_READY;
    if (f->valueless || columns == indices + 1)
        return STATUS_OK;
    if (optional)
        snprintf(expected, sizeof expected, "%d or %d", f->order, f->order + 1);
    else
        snprintf(expected, sizeof expected, "%d", f->order + 1);
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": %" PRIu64 " column%s, expected %s: %d ind%s %s value, as %s "
                     "says",
                     h->name, number, columns, columns == 1 ? "" : "s", expected, f->order,
                     f->order == 1 ? "ex" : "ices", optional ? "with or without a" : "and a",
                     h->options->order_origin);
}

static enum status header_order(struct tns_head *h, struct token token, uint64_t columns,
                                uint64_t number, struct error *error)
{
    char quoted[QUOTED_BYTES];
    uint64_t order;
    if (columns != 1 || !read_unsigned(token, &order) || order < 1 || order > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected the header's number of modes, 1 to %d",
                         h->name, number, quote(token, quoted), MAX_ORDER);
    h->shape.order = (int)order;
    h->awaited = TNS_AWAIT_LENGTHS;
    return STATUS_OK;
}

/* A text line of one column cannot be an entry, so it begins a header, unless it can be an index
 * without a value; any other is the first entry. */
static enum status head_begins(struct tns_head *h, const struct token *token, uint64_t columns,
                               uint64_t number, bool *is_entry, struct error *error)
{
    char quoted[QUOTED_BYTES], origin[32];
    uint64_t order;
    const struct tns_options *o = h->options;
    const bool header = columns == 1 && !(o->values_optional && o->ndims == 1);
    if (columns == 1 && is_word(token[0], SPTENSOR)) {
        h->dialect = TNS_HEADER_SPTENSOR;
        h->awaited = TNS_AWAIT_ORDER;
        return STATUS_OK;
    }
    if (header && read_unsigned(token[0], &order)) {
        h->dialect = TNS_HEADER_DIMS;
        return header_order(h, token[0], columns, number, error);
    }
    if (header)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected indices and a value with blanks between "
                         "them, or a header",
                         h->name, number, quote(token[0], quoted));
    if (columns > MAX_COLUMNS)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " columns, expected at most %d: %d indices and "
                         "a value",
                         h->name, number, columns, MAX_COLUMNS, MAX_ORDER);
    *is_entry = true;
    snprintf(origin, sizeof origin, "line %" PRIu64, number);
    if (!o->order_origin)
        return ready(h, (int)columns - 1, origin, error);
    TRY(ready(h, o->ndims, origin, error));
    return first_entry(h, columns, number, error);
}

enum status tns_head_line(struct tns_head *h, const char *line, const char *end, uint64_t number,
                          bool *is_entry, struct error *error)
{
    struct token token[MAX_COLUMNS];
    char quoted[QUOTED_BYTES];
    uint64_t columns = cut_columns(line, end, token);
    *is_entry = false;
    if (columns == 0)
        return STATUS_OK;
    switch (h->awaited) {
    case TNS_AWAIT_FIRST:
        return head_begins(h, token, columns, number, is_entry, error);
    case TNS_AWAIT_ORDER:
        return header_order(h, token[0], columns, number, error);
    case TNS_AWAIT_LENGTHS:
        if (columns != (uint64_t)h->shape.order)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": %" PRIu64 " column%s, expected the header's %d "
                             "length%s",
                             h->name, number, columns, columns == 1 ? "" : "s", h->shape.order,
                             h->shape.order == 1 ? "" : "s");
        for (int n = 0; n < h->shape.order; n++)
            if (!read_unsigned(token[n], &h->shape.dims[n]) || h->shape.dims[n] < 1 ||
                h->shape.dims[n] > MAX_LENGTH)
                return error_set(error, STATUS_INPUT,
                                 "%s:%" PRIu64 ": mode %d: length %s, expected 1 to %" PRIu32,
                                 h->name, number, n + 1, quote(token[n], quoted), MAX_LENGTH);
        if (h->dialect == TNS_HEADER_DIMS)
            return ready(h, h->shape.order, "the header", error);
        h->awaited = TNS_AWAIT_COUNT;
        return STATUS_OK;
    case TNS_AWAIT_COUNT:
        if (columns != 1 || !read_unsigned(token[0], &h->count) || h->count > MAX_NNZ)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64
                             ": %s, expected the header's number of entries, 0 to %" PRIu64,
                             h->name, number, quote(token[0], quoted), MAX_NNZ);
        return ready(h, h->shape.order, "the header", error);
    case TNS_AWAIT_ENTRY:
        *is_entry = true;
        return first_entry(h, columns, number, error);
    case TNS_READY:
        break;
    }
    *is_entry = true;
    return STATUS_OK;
}

enum status tns_head_end(const struct tns_head *h, struct error *error)
{
    static const char *const missing[] = {[TNS_AWAIT_ORDER] = "number of modes",
                                          [TNS_AWAIT_LENGTHS] = "lengths",
                                          [TNS_AWAIT_COUNT] = "number of entries"};
    if (h->awaited == TNS_READY || h->awaited == TNS_AWAIT_ENTRY)
        return STATUS_OK;
    if (h->awaited == TNS_AWAIT_FIRST)
        return error_set(error, STATUS_INPUT,
                         "%s: no entries: nothing but comments and blank lines", h->name);
    return error_set(error, STATUS_INPUT, "%s: ends within the header, expected its %s", h->name,
                     missing[h->awaited]);
}
