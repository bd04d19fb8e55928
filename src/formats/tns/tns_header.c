#include "formats/tns/tns_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

void tns_head_begin(struct tns_head *h, const char *name, const struct tns_options *options)
{
    *h = (struct tns_head){.name = name, .options = options};
}

static bool is_word(struct tns_token token, const char *word)
{
    return (size_t)(token.end - token.begin) == strlen(word) &&
           strncasecmp(token.begin, word, strlen(word)) == 0;
}

bool tns_is_sptensor(const char *line, const char *end)
{
    struct tns_token token[TNS_MAX_COLUMNS];
    return tns_tokens(line, end, token) == 1 && is_word(token[0], SPTENSOR);
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

static enum status header_order(struct tns_head *h, struct tns_token token, uint64_t columns,
                                uint64_t number, struct error *error)
{
    char quoted[TNS_QUOTED_BYTES];
    uint64_t order;
    if (columns != 1 || !tns_token_unsigned(token, &order) || order < 1 || order > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected the header's number of modes, 1 to %d",
                         h->name, number, tns_quote(token, quoted), MAX_ORDER);
    h->shape.order = (int)order;
    h->awaited = TNS_AWAIT_LENGTHS;
    return STATUS_OK;
}

static enum status header_lengths(struct tns_head *h, const struct tns_token *token,
                                  uint64_t columns, uint64_t number, struct error *error)
{
    char quoted[TNS_QUOTED_BYTES];
    if (columns != (uint64_t)h->shape.order)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " column%s, expected the header's %d length%s",
                         h->name, number, columns, columns == 1 ? "" : "s", h->shape.order,
                         h->shape.order == 1 ? "" : "s");
    for (int n = 0; n < h->shape.order; n++)
        if (!tns_token_unsigned(token[n], &h->shape.dims[n]) || h->shape.dims[n] < 1 ||
            h->shape.dims[n] > MAX_LENGTH)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": mode %d: length %s, expected 1 to %" PRIu32, h->name,
                             number, n + 1, tns_quote(token[n], quoted), MAX_LENGTH);
    if (h->dialect == TNS_HEADER_DIMS)
        return ready(h, h->shape.order, "the header", error);
    h->awaited = TNS_AWAIT_COUNT;
    return STATUS_OK;
}

static enum status header_count(struct tns_head *h, struct tns_token token, uint64_t columns,
                                uint64_t number, struct error *error)
{
    char quoted[TNS_QUOTED_BYTES];
    if (columns != 1 || !tns_token_unsigned(token, &h->count) || h->count > MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64
                         ": %s, expected the header's number of entries, 0 to %" PRIu64,
                         h->name, number, tns_quote(token, quoted), MAX_NNZ);
    return ready(h, h->shape.order, "the header", error);
}

/* A text line of one column cannot be an entry, so it begins a header, unless it can be an index
 * without a value; any other is the first entry. */
static enum status first_line(struct tns_head *h, const struct tns_token *token, uint64_t columns,
                              uint64_t number, bool *is_entry, struct error *error)
{
    char quoted[TNS_QUOTED_BYTES], origin[32];
    uint64_t order;
    const struct tns_options *o = h->options;
    const bool header = columns == 1 && !(o->values_optional && o->ndims == 1);
    if (columns == 1 && is_word(token[0], SPTENSOR)) {
        h->dialect = TNS_HEADER_SPTENSOR;
        h->awaited = TNS_AWAIT_ORDER;
        return STATUS_OK;
    }
    if (header && tns_token_unsigned(token[0], &order)) {
        h->dialect = TNS_HEADER_DIMS;
        return header_order(h, token[0], columns, number, error);
    }
    if (header)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %s, expected indices and a value with blanks between "
                         "them, or a header",
                         h->name, number, tns_quote(token[0], quoted));
    if (columns > TNS_MAX_COLUMNS)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " columns, expected at most %d: %d indices and "
                         "a value",
                         h->name, number, columns, TNS_MAX_COLUMNS, MAX_ORDER);
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
    struct tns_token token[TNS_MAX_COLUMNS];
    uint64_t columns = tns_tokens(line, end, token);
    *is_entry = false;
    if (columns == 0)
        return STATUS_OK;
    switch (h->awaited) {
    case TNS_AWAIT_FIRST:
        return first_line(h, token, columns, number, is_entry, error);
    case TNS_AWAIT_ORDER:
        return header_order(h, token[0], columns, number, error);
    case TNS_AWAIT_LENGTHS:
        return header_lengths(h, token, columns, number, error);
    case TNS_AWAIT_COUNT:
        return header_count(h, token[0], columns, number, error);
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
