/* Reads CSV in windows of whole rows, cut into sections for several threads. A newline ends a row
 * unless an odd number of quotes precedes it: every quote of a sound file opens or closes a field,
 * or is one of a doubled pair. All threads count the quotes, and the sums tell where rows begin.
 * The first row at fault is found in its place: every row before it is cut rightly. */
#ifndef BLCO_CSV_TEXT_H
#define BLCO_CSV_TEXT_H

#include "formats/csv/csv_record.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns_options.h"

/* Rows of a window, read by one thread. */
struct csv_section {
    const char *begin, *end; /* whole rows                                     */
    uint64_t lines;          /* text lines, at least as many as rows           */
    uint64_t first_line;     /* text lines of the window before it             */
    const char *at;          /* where it would begin if rows did not matter    */
    uint64_t quotes;         /* in the bytes up to `at` of the next section    */
    bool inside;             /* `at` is inside a quoted field                  */
};

struct csv_text {
    struct line_reader *reader;     /* owned                                               */
    const char *name;               /* for messages: the path, or "standard input"         */
    char separator;                 /* of fields; 0 until the header is read               */
    const struct csv_field *column; /* (columns) the header's names; NULL until then; borrowed */
    int columns;
    int threads;             /* that read sections                                  */
    size_t section_bytes;    /* about                                               */
    const char *begin, *end; /* the whole rows of the window; empty: end of the file */
    uint64_t lines;          /* text lines before the window                        */

    struct csv_section *section; /* (room) of the window; owned                  */
    size_t sections, section_room;

    /* for csv_text_next */
    bool begun;
    const char *rest; /* after the whole rows, up to `rest_end` */
    const char *rest_end;
    char *joined; /* (joined_room) a row that windows of the file share, and what
                   * follows it; owned                                        */
    size_t joined_room;
    bool is_joined;        /* the window is in `joined`    */
    uint64_t window_lines; /* text lines of the whole rows */
};

/* Opens the text at `path` ("-": standard input); `sizes` that are 0 are the reader's. `path`
 * outlives *t. The caller closes *t, which is empty on failure. Errors of line_reader_open. */
enum status csv_text_open(struct csv_text *t, const char *path, const struct tns_sizes *sizes,
                          struct error *error);

/* Gets the next window. STATUS_INPUT, also where the file is of another kind, a quoted field does
 * not end, or a row has more bytes than a window; STATUS_MEMORY. */
enum status csv_text_next(struct csv_text *t, struct error *error);

/* Where the row at `at` ends: after its newline, or at `end`. */
const char *csv_text_row_end(const char *at, const char *end);

/* Takes the window's bytes before `at`, where a row begins, from its sections. */
void csv_text_skip(struct csv_text *t, const char *at);

/* Fails with a message about *fault, a row of the window. Returns STATUS_INPUT. */
enum status csv_text_explain(const struct csv_text *t, const struct csv_fault *fault,
                             struct error *error);

/* Accepts an empty *t. */
void csv_text_close(struct csv_text *t);

#endif
