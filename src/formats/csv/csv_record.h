/* A row of CSV (RFC 4180), cut into fields. A row is a text line, or several where a field in
 * quotes has line ends. A field that begins with a quote ends with one; a quote inside it is
 * doubled. Other fields have no quotes. */
#ifndef BLCO_CSV_RECORD_H
#define BLCO_CSV_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csv_field {
    const char *begin, *end; /* without the quotes around it                  */
    bool doubled;            /* it has quotes, each of them twice             */
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
    const char *row; /* where the row begins                          */
    int column;      /* from 0; of CSV_COLUMNS: how many the row has  */
    struct csv_field field;
};

/* The columns, and which of them are wanted. */
struct csv_format {
    char separator;
    int columns;
    int wanted;      /* how many                                                      */
    const int *slot; /* (columns) which wanted column each is; `wanted`: none of them */
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

#endif
