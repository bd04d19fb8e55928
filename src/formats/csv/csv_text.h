/* Reads CSV in windows of whole rows, cut into sections for several threads. A newline ends a row
 * unless an odd number of quotes precedes it: every quote of a sound file opens or closes a field,
 * or is one of a doubled pair. All threads count the quotes, and the sums tell where rows begin.
 * The first row at fault is found in its place: every row before it is cut rightly. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/names/name_table.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns_options.h"

/* A row of CSV (RFC 4180), cut into fields. A row is a text line, or several where a field in
 * quotes has line ends. A field that begins with a quote ends with one; a quote inside it is
 * doubled. Other fields have no quotes. */

struct csv_field {
    struct name name; /* its text, without the quotes around it */
    bool doubled;     /* it has quotes, each of them twice      */
};

/* What is wrong with a row. */
enum csv_fault_kind {
    CSV_SOUND,
    CSV_UNCLOSED,  /* a quoted field does not end before the text does    */
    CSV_STRAY,     /* a quote in a field without quotes                   */
    CSV_AFTER,     /* something between a closing quote and the separator */
    CSV_COLUMNS,   /* too many columns, or too few                        */
    CSV_EMPTY,     /* an empty name                                       */
    CSV_LONG,      /* a name longer than NAME_LONGEST                     */
    CSV_ZERO_BYTE, /* a name with a byte of value 0                       */
    CSV_VALUE,     /* the column of values has no number and no word for an unknown one */
    CSV_NUMBER,    /* a name that is to be ordered by number and is none  */
    CSV_UNBINNED,  /* no number in a column that is binned by number      */
    CSV_TIME,      /* no date in a column that is binned by time          */
    CSV_UNLISTED   /* a name that the file of --order lacks               */
};

struct csv_fault {
    enum csv_fault_kind kind;
    const char *row;  /* where the row begins                          */
    int column;       /* from 0; of CSV_COLUMNS: how many the row has  */
    struct name name; /* the text of the field                        */
};

/* The columns, and which of them are wanted. */
struct csv_format {
    char separator;
    int columns;
    struct name *name; /* (columns) as the header has them; owned                              */
    int wanted;        /* how many                                                             */
    int *slot;         /* (columns) which wanted column each is; `wanted`: none of them; owned */
};

/* Reads the field at `at`; the row ends before `end`. Returns where the separator or the newline
 * after it stands; NULL where the field is at fault, and *kind says why. */
const char *csv_field_read(char separator, const char *at, const char *end, struct csv_field *field,
                           enum csv_fault_kind *kind);

/* Reads the row at `at`, which ends before `end`, into field[0..wanted]; the last takes what is not
 * wanted. Returns where the next row begins; NULL where the row is at fault, which *fault
 * describes. */
const char *csv_record_read(const struct csv_format *f, const char *at, const char *end,
                            struct csv_field *field, struct csv_fault *fault);

/* The next text line at or after `at` that is not blank. */
const char *csv_record_skip_blank(const char *at, const char *end);

/* Copies the field to `to`, which has room for its bytes, each doubled quote as one. Returns how
 * many bytes that are. */
size_t csv_field_copy(const struct csv_field *field, char *to);

/* The most bytes of a field that has a text of so many bytes: each may be a quote. */
#define CSV_FIELD_ROOM(bytes) (2 * (bytes) + 2)

/* Writes text[0..length) as a field to `to`, in quotes where it has to be; returns the end. */
char *csv_field_write(const char *text, size_t length, char *to);

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
    struct line_reader reader;
    const struct csv_format *format; /* NULL until the header is read; borrowed */
    size_t section_bytes;            /* about                                               */
    const char *begin, *end;         /* the whole rows of the window; empty: end of the file */
    uint64_t lines;                  /* text lines before the window                        */

    struct csv_section *section; /* (room) of the window; owned                  */
    size_t sections, section_room;

    /* for csv_text_next */
    const char *rest; /* after the whole rows, up to `rest_end` */
    const char *rest_end;
    char *joined;          /* the rest and the window after it, with room for two windows; owned */
    uint64_t window_lines; /* text lines of the whole rows */
};

/* Opens the text at `path` ("-": standard input); `sizes` that are 0 are the reader's. `path`
 * outlives *t. The caller closes *t, which is empty on failure. Errors of line_reader_open. */
enum status csv_text_open(struct csv_text *t, const char *path, const struct tns_sizes *sizes,
                          struct error *error);

/* Gets the next window. STATUS_INPUT, also where the file is of another kind, a quoted field does
 * not end, or a row has more bytes than a window; STATUS_MEMORY. */
enum status csv_text_next(struct csv_text *t, struct error *error);

/* Takes the window's bytes up to the end of the row that begins at `row` from its sections. Returns
 * that end: after the row's newline, or the window's end. */
const char *csv_text_take_row(struct csv_text *t, const char *row);

/* Fails with a message about *fault, a row of the window. Returns STATUS_INPUT. */
enum status csv_text_explain(const struct csv_text *t, const struct csv_fault *fault,
                             struct error *error);

/* Accepts an empty *t. */
void csv_text_close(struct csv_text *t);
