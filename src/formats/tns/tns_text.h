/* The text lines of FROSTT text: their columns, and entries. */
#pragma once

#include <stdbool.h>

#include "formats/tns/tns_options.h"
#include "tensor/coo.h"

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

#define TNS_COLUMNS (MAX_ORDER + 1) /* of a text line */
#define TNS_QUOTED  200

struct tns_column {
    const char *begin, *end;
};

/* Puts the columns of the text line [line, end), without its comment, into column[0..TNS_COLUMNS).
 * Returns the number of columns, also of those that do not fit. */
uint64_t tns_columns(const char *line, const char *end, struct tns_column *column);

/* Whether the column is one whole unsigned number, leading zeros allowed; *value is UINT64_MAX if
 * the number does not fit. */
bool tns_unsigned(struct tns_column column, uint64_t *value);

/* text = the column in quotes: a long one is cut, bytes that do not print are escaped. Returns
 * text.
 */
const char *tns_quote(struct tns_column column, char text[TNS_QUOTED]);

/* Whether [line, end) is the first text line of a header with the word `sptensor`. */
bool tns_is_sptensor(const char *line, const char *end);

/* Parses whole text lines (end[-1] is a newline) into *place, which has room for an entry a line;
 * *entries is the number of entries. Returns end, or the beginning of the first bad line; entries
 * before that line are parsed. Bytes up to `readable`, which is end or later, may be read. */
const char *tns_lines_parse(const struct tns_format *f, const char *begin, const char *end,
                            const char *readable, const struct coo *place, uint64_t *entries);

/* Explains what is wrong with the bad text line [line, end), number `number` of the file.
 * `cut_off`: the line is the last of the file and lacks its newline. Returns STATUS_INPUT. */
enum status tns_line_explain(const struct tns_format *f, const char *line, const char *end,
                             uint64_t number, bool cut_off, struct error *error);
