/* The lines of FROSTT text: what an entry is, parsed fast, and everything else explained. */
#ifndef BLCO_TNS_LINE_H
#define BLCO_TNS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

#define TNS_MAX_COLUMNS (MAX_ORDER + 1)

/* What every entry of a file must look like. */
struct tns_format {
    const char *name; /* of the file, for messages; not owned                        */
    int order;
    uint32_t index_base;       /* 0 or 1                                              */
    uint64_t limit[MAX_ORDER]; /* zero-based indices are below this; at most MAX_LENGTH */
    const char *limit_origin;  /* who says so ("--dims"), or NULL: nobody, so MAX_LENGTH */
    char order_origin[48];     /* who says that there are so many columns ("line 1")   */
};

/* Where entries go: the first one at [0]. */
struct tns_place {
    uint32_t *index[MAX_ORDER];
    double *value;
};

/* Parses whole lines (end[-1] is a newline) into *place, which has room for an entry a line, and
 * counts the entries. Returns end, or the beginning of the first bad line; the entries before it
 * are counted. Bytes up to `readable`, at or behind end, may be looked at. */
const char *tns_lines_parse(const struct tns_format *f, const char *begin, const char *end,
                            const char *readable, const struct tns_place *place, uint64_t *entries);

/* Says what is wrong with a bad line [line, end), `number` in its file. `cut_off`: it is the file's
 * last and has no newline there. */
enum status tns_line_explain(const struct tns_format *f, const char *line, const char *end,
                             uint64_t number, bool cut_off, struct error *error);

/* A column of a line. */
struct tns_token {
    const char *begin, *end;
};

/* The columns of the line [line, end), without its comment; the first TNS_MAX_COLUMNS of them into
 * token. How many there are, be they more. */
uint64_t tns_tokens(const char *line, const char *end, struct tns_token *token);

#define TNS_QUOTED_BYTES 200

/* The token in quotes, cut where it is long, bytes that do not print escaped, into
 * text[0..TNS_QUOTED_BYTES). Returns text. */
const char *tns_quote(struct tns_token token, char *text);

/* The token is one whole unsigned number, with leading zeros or without; *value is UINT64_MAX where
 * it does not fit. */
bool tns_token_unsigned(struct tns_token token, uint64_t *value);

#endif
