/* Rows of CSV become entries, by several threads: names become numbers in the order of appearance.
 * Each thread numbers the names of a section that the tables lack; then one thread for each mode
 * adds these names to the table, section after section. So the numbers do not depend on the number
 * of threads. */
#ifndef BLCO_CSV_ROWS_H
#define BLCO_CSV_ROWS_H

#include "formats/csv/csv_columns.h"
#include "formats/csv/csv_text.h"
#include "tensor/coo.h"

struct section_names;

struct csv_rows {
    struct csv_columns *columns; /* borrowed */
    struct section_names *own;   /* (room) of each section; owned */
    size_t room;
};

/* Parses the window into x from entry *used on, where x has room for an entry a text line, and adds
 * the number of rows to *used. STATUS_INPUT where a row is at fault: a message about the first one.
 * STATUS_MEMORY. */
enum status csv_rows_read(struct csv_rows *r, const struct csv_text *t, struct coo *x,
                          uint64_t *used, struct error *error);

/* To be called once all rows are read. STATUS_INPUT where all fields of a bin of time are numbers
 * that read as dates, and would be seconds of 1970. */
enum status csv_rows_check_times(const struct csv_rows *r, struct error *error);

/* Accepts an empty *r. */
void csv_rows_free(struct csv_rows *r);

#endif
