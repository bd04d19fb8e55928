/* Reads FROSTT text: the header, then windows of text lines with entries. */
#ifndef BLCO_TNS_TEXT_H
#define BLCO_TNS_TEXT_H

#include <stdbool.h>

#include "formats/tns/line_reader.h"
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

#define TNS_MOST_WINDOW ((size_t)8 << 20)
#define TNS_SECTION     ((size_t)128 << 10)

struct tns_section;

struct tns_text {
    struct line_reader *reader; /* owned                                              */
    const char *name;           /* for messages: the path, or "standard input"        */
    bool begun;                 /* the first bytes are checked                        */
    struct tns_head head;
    size_t head_bytes;           /* bytes before the first text line that may be an entry */
    uint64_t lines;              /* text lines of the file, or the share, before the window */
    uint32_t largest[MAX_ORDER]; /* the largest index of each mode so far              */
    struct tns_section *section; /* (room): those of the window, which threads parse; owned */
    size_t count, room;
    size_t section_bytes;   /* of a section, about                                      */
    int threads;            /* threads that parse                                       */
    uint64_t window_lines;  /* text lines of the window                                 */
    const char *nonneg;     /* of the options                                           */
    uint64_t negative;      /* values below 0 so far, where there is `nonneg`           */
    uint64_t negative_line; /* the number of the first text line with one              */
};

/* Whether [line, end) is the first text line of a header with the word `sptensor`. */
bool tns_is_sptensor(const char *line, const char *end);

/* Opens the text at `path` ("-": standard input); options->sizes that are 0 are TNS_MOST_WINDOW and
 * TNS_SECTION. `path` and *options outlive *t. The caller closes *t, which is empty on failure.
 * STATUS_INPUT, STATUS_MEMORY, STATUS_INTERNAL as from line_reader_open. */
enum status tns_text_open(struct tns_text *t, const char *path, const struct tns_options *options,
                          struct error *error);

/* Begins again with share number `share` of `shares` of the entries' text: the text lines that
 * begin in this share of the bytes after the header. Call it once, when the header is read; the
 * numbers of text lines in messages still count from the beginning of the file. STATUS_INPUT. */
enum status tns_text_take_share(struct tns_text *t, int share, int shares, struct error *error);

/* Gets the next window that has text lines after the header, or an empty one at the end; the window
 * before is no longer valid. STATUS_INPUT, also where the header is bad or a text line too long;
 * STATUS_MEMORY. */
enum status tns_text_next(struct tns_text *t, struct line_window *window, struct error *error);

/* *lines = the number of text lines of the window. Call it before tns_text_parse. STATUS_MEMORY. */
enum status tns_text_cut(struct tns_text *t, const struct line_window *window, uint64_t *lines,
                         struct error *error);

/* Parses the window's entries into x from entry *used on, where x has room for an entry a text
 * line, and adds their number to *used. STATUS_INPUT where a text line is bad: a message about the
 * first one. */
enum status tns_text_parse(struct tns_text *t, const struct line_window *window, struct coo *x,
                           uint64_t *used, struct error *error);

/* Checks at the end of a file of `entries` entries that the header was complete, that it gave this
 * number if it gave any, and that there are entries. STATUS_INPUT. */
enum status tns_text_end(const struct tns_text *t, uint64_t entries, struct error *error);

/* Accepts an empty *t. */
void tns_text_close(struct tns_text *t);

#endif
