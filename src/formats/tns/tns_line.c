#include "formats/tns/tns_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/number.h"
#include "tensor/coo.h"

#define QUOTED_LENGTH 40 /* bytes of a token that a message shows */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* --- any text line, with care --- */

uint64_t tns_tokens(const char *line, const char *end, struct tns_token *token)
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
        if (count < TNS_MAX_COLUMNS)
            token[count] = (struct tns_token){begin, p};
    }
}

bool tns_token_unsigned(struct tns_token token, uint64_t *value)
{
    return number_parse_unsigned(token.begin, token.end, value) == token.end;
}

const char *tns_quote(struct tns_token token, char *text)
{
    char *out = text;
    *out++ = '\'';
    const char *p = token.begin;
    for (; p < token.end && p < token.begin + QUOTED_LENGTH; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < ' ' || c > '~')
            out += sprintf(out, "\\x%02x", c);
        else
            *out++ = *p;
    }
    strcpy(out, p < token.end ? "...'" : "'");
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
                                 const struct tns_place *place, uint64_t at)
{
    struct tns_token token[TNS_MAX_COLUMNS];
    uint64_t columns = tns_tokens(line, end, token);
    if (columns == 0)
        return LINE_EMPTY;
    if (columns != columns_of(f))
        return LINE_BAD;
    for (int n = 0; n < f->order; n++) {
        uint64_t index;
        if (!tns_token_unsigned(token[n], &index) || index - f->index_base >= f->limit[n])
            return LINE_BAD;
        place->index[n][at] = (uint32_t)(index - f->index_base);
    }
    place->value[at] = COO_UNKNOWN;
    if (f->valueless)
        return LINE_ENTRY;
    struct tns_token last = token[f->order];
    double value;
    if (parse_value(last.begin, last.end, &value) != last.end)
        return LINE_BAD;
    place->value[at] = value;
    return LINE_ENTRY;
}

static enum status explain_columns(const struct tns_format *f, uint64_t number, uint64_t columns,
                                   bool cut_off, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": %s%" PRIu64 " column%s, expected %" PRIu64 ": %d ind%s %s "
                     "value, as %s says",
                     f->name, number, cut_off ? "the last line is cut off: " : "", columns,
                     columns == 1 ? "" : "s", columns_of(f), f->order,
                     f->order == 1 ? "ex" : "ices", f->valueless ? "without a" : "and a",
                     f->order_origin);
}

/* Explains what is wrong with an index of mode n; STATUS_OK if nothing is. */
static enum status explain_index(const struct tns_format *f, uint64_t number, int n,
                                 struct tns_token token, struct error *error)
{
    char quoted[TNS_QUOTED_BYTES], origin[64] = "";
    struct tns_token digits = {token.begin + (*token.begin == '-'), token.end};
    uint64_t index;
    if (!tns_token_unsigned(digits, &index))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": mode %d: index %s, expected a whole number", f->name,
                         number, n + 1, tns_quote(token, quoted));
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
    struct tns_token token[TNS_MAX_COLUMNS];
    uint64_t columns = tns_tokens(line, end, token);
    if (end - line > 1 && memchr(line, '\r', (size_t)(end - line) - 1))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a carriage return within the line, expected lines that "
                         "end in LF or CR LF",
                         f->name, number);
    if (columns != columns_of(f))
        return explain_columns(f, number, columns, cut_off && columns < columns_of(f), error);
    for (int n = 0; n < f->order; n++)
        TRY(explain_index(f, number, n, token[n], error));

    struct tns_token last = token[f->order];
    char quoted[TNS_QUOTED_BYTES];
    double value;
    bool is_number = number_parse(last.begin, last.end, &value) == last.end;
    bool has_comma = memchr(last.begin, ',', (size_t)(last.end - last.begin));
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": value %s, expected a %snumber%s, or nan for an unknown entry",
                     f->name, number, tns_quote(last, quoted), is_number ? "finite " : "",
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
                                    const struct tns_place *place, uint64_t at)
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
                            const char *readable, const struct tns_place *place, uint64_t *entries)
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
