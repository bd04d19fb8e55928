/* The text lines of FROSTT text: those of the header, then entries. */
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

/* What must come in the next text line that is not blank. */
enum tns_awaited {
    TNS_AWAIT_FIRST,
    TNS_AWAIT_ORDER,
    TNS_AWAIT_LENGTHS,
    TNS_AWAIT_COUNT,
    TNS_AWAIT_ENTRY, /* the first entry, which shows whether entries have values */
    TNS_READY        /* an entry */
};

/* What is known of the header of a file (see enum tns_header). */
struct tns_head {
    const char *name;                  /* of the file, for messages; not owned */
    const struct tns_options *options; /* not owned                            */
    enum tns_awaited awaited;
    enum tns_header dialect;
    struct shape shape;       /* from the header                            */
    uint64_t count;           /* entries that an `sptensor` header declares */
    struct tns_format format; /* of the entries; set once TNS_READY         */
};

/* Whether [line, end) is the first text line of a header with the word `sptensor`. */
bool tns_is_sptensor(const char *line, const char *end);

/* Takes the next text line of the file, [line, end), number `number`. *is_entry is true if the line
 * is the first entry; then only entries follow. STATUS_INPUT if the line is neither an entry nor
 * part of a header. */
enum status tns_head_line(struct tns_head *h, const char *line, const char *end, uint64_t number,
                          bool *is_entry, struct error *error);

/* Takes the end of the file. STATUS_INPUT if the file ends within the header or has no entries. */
enum status tns_head_end(const struct tns_head *h, struct error *error);

/* Parses whole text lines (end[-1] is a newline) into *place, which has room for an entry a line;
 * *entries is the number of entries. Returns end, or the beginning of the first bad line; entries
 * before that line are parsed. Bytes up to `readable`, which is end or later, may be read. */
const char *tns_lines_parse(const struct tns_format *f, const char *begin, const char *end,
                            const char *readable, const struct coo *place, uint64_t *entries);

/* Explains what is wrong with the bad text line [line, end), number `number` of the file.
 * `cut_off`: the line is the last of the file and lacks its newline. Returns STATUS_INPUT. */
enum status tns_line_explain(const struct tns_format *f, const char *line, const char *end,
                             uint64_t number, bool cut_off, struct error *error);
