/* Lists of names in text files, one on each text line: `.map` files, which are also what --labels
 * reads. A line end inside a name stands as \x0a or \x0d in the file. */
#ifndef BLCO_NAME_LIST_H
#define BLCO_NAME_LIST_H

#include "base/outfile.h"
#include "formats/csv/name_table.h"

/* Adds the names of the file `path`, plain or gzip, to the table: text line k is name k.
 * STATUS_INPUT where the file cannot be read, has no names, a name twice, or a name with a byte of
 * value 0; STATUS_MEMORY. */
enum status name_list_read(struct name_table *t, const char *path, struct error *error);

/* Appends the names to an open file. STATUS_OUTPUT, STATUS_MEMORY. */
enum status name_list_write(const struct name_table *t, struct outfile *f, struct error *error);

#endif
