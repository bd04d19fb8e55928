/* The text lines of a FROSTT file: entries are parsed fast, and errors are explained. */
#ifndef BLCO_TNS_LINE_H
#define BLCO_TNS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/shape.h"

#define TNS_MAX_COLUMNS (MAX_ORDER + 1)

/* The form that every entry of a file must have. */
struct tns_format {
    const char *name;          /* of the file, for messages; not owned                     */
    int order;                 /* an entry has `order` indices and a value                 */
    bool valueless;            /* or no value: it is read as NaN                           */
    uint32_t index_base;       /* 0 or 1                                                   */
    uint64_t limit[MAX_ORDER]; /* zero-based indices are below it; at most MAX_LENGTH      */
    const char *limit_origin[MAX_ORDER]; /* what sets the limit ("--dims"), or NULL: MAX_LENGTH */
    char order_origin[48]; /* what sets the number of columns ("line 1")                */
};

/* Arrays to which entries are parsed: the first entry at [0]. */
struct tns_place {
    uint32_t *index[MAX_ORDER];
    double *value;
};

/* Parses whole text lines (end[-1] is a newline) into *place, which has room for an entry a line;
 * *entries is the number of entries. Returns end, or the beginning of the first bad line; entries
 * before that line are parsed. Bytes up to `readable`, which is end or later, may be read. */
const char *tns_lines_parse(const struct tns_format *f, const char *begin, const char *end,
                            const char *readable, const struct tns_place *place, uint64_t *entries);

/* Explains what is wrong with the bad text line [line, end), number `number` of the file.
 * `cut_off`: the line is the last of the file and lacks its newline. Returns STATUS_INPUT. */
enum status tns_line_explain(const struct tns_format *f, const char *line, const char *end,
                             uint64_t number, bool cut_off, struct error *error);

/* A column of a text line. */
struct tns_token {
    const char *begin, *end;
};

/* Puts the columns of the text line [line, end), without its comment, into
 * token[0..TNS_MAX_COLUMNS). Returns the number of columns, also of those that do not fit. */
uint64_t tns_tokens(const char *line, const char *end, struct tns_token *token);

#define TNS_QUOTED_BYTES 200

/* Writes the token in quotes to text[0..TNS_QUOTED_BYTES): long tokens are cut, bytes that do not
 * print are escaped. Returns text. */
const char *tns_quote(struct tns_token token, char *text);

/* Whether the token is one whole unsigned number, leading zeros allowed; *value is UINT64_MAX if
 * the number does not fit. */
bool tns_token_unsigned(struct tns_token token, uint64_t *value);

#endif
