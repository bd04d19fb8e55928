/* Reads CSV (RFC 4180) with a header, plain or gzip: columns of names become modes, names indices,
 * rows entries. Commas, tabs or semicolons separate the fields. See blco-csv(5). */
#ifndef BLCO_CSV_H
#define BLCO_CSV_H

#include "formats/csv/csv_options.h"
#include "formats/names/name_table.h"
#include "formats/tns/tns.h"

/* Where the rows are, and what they mean. Borrowed. */
struct csv_source {
    const char *path;                  /* "-": standard input                        */
    const struct csv_options *options; /* NULL, or without columns: the file is refused */
    const struct tns_options *text;    /* memory and sizes                           */
};

/* Whether bytes[0..count), the first of a file, begin with a header of CSV for sure: a text line of
 * several fields that begins with a letter or a quote, as no line of a tensor does. */
bool csv_header_is_sure(const char *bytes, size_t count);

/* As tns_read(). *names gets the names, which the caller frees. The value of a row is that in the
 * column of values, COO_UNKNOWN where it is empty or nan, or 1; rows of the same names are
 * duplicates. STATUS_INPUT, with file, text line and column, where a row is not as expected.
 * STATUS_MEMORY, also where the names take more than half of the memory. */
enum status csv_read(struct coo *x, struct tensor_names *names, const struct csv_source *source,
                     struct progress *progress, struct tns_report *report, struct error *error);

/* As tns_read_pieces(). Where there is more than one piece and names are to be sorted, the file is
 * read twice; STATUS_MEMORY where it cannot be. */
enum status csv_read_pieces(struct coo *x, struct tensor_names *names,
                            const struct csv_source *source, const struct tns_pieces *pieces,
                            struct tns_report *report, struct error *error);

#endif
