/* Lists of names in text files, one on each text line: `.map` files, which are also what --labels
 * reads. A line end inside a name stands as \x0a or \x0d in the file. */
#ifndef BLCO_NAME_LIST_H
#define BLCO_NAME_LIST_H

#include "formats/names/name_table.h"

/* Adds the names of the file `path`, plain or gzip, to the table: text line k is name k.
 * STATUS_INPUT where the file cannot be read, has no names, a name twice, or a name with a byte of
 * value 0; STATUS_MEMORY. */
enum status name_list_read(struct name_table *t, const char *path, struct error *error);

#define NAME_ESCAPE 4 /* the most bytes that a byte of a name takes in a file */

/* The bytes that the name takes in a file, without a line end. */
size_t name_escaped(struct name name);

/* Copies the name to `to` as files have it; returns the end of the copy. */
char *name_escape(struct name name, char *to);

/* Makes text[0..length), a text line of a file, the name that it stands for. Returns its length. */
size_t name_unescape(char *text, size_t length);

#endif
