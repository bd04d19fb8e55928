/* Lists of names in text files, one on each text line: `.map` files, which are also what --labels
 * reads. In a file \x0a, \x0d and \x5c stand for a newline, a carriage return and a backslash; all
 * other bytes stand for themselves, also other backslashes. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "formats/names/name_table.h"
#include "numerics/max_order.h"

/* Adds the names of the file `path`, plain or gzip, to the table: text line k is name k.
 * STATUS_INPUT where the file cannot be read, has no names, a name twice, or a name with a byte of
 * value 0; STATUS_MEMORY. */
enum status name_list_read(struct name_table *t, const char *path, struct error *error);

/* Adds the labels of the file `path` to the table, as name_list_read adds names; labels may be
 * alike or empty. STATUS_INPUT also where there are not `count` labels, one for each `thing`, as
 * "mode"; of ANY_LABELS any number will do. The table is empty on failure. */
#define ANY_LABELS UINT64_MAX
enum status name_list_labels(struct name_table *t, const char *path, uint64_t count,
                             const char *thing, struct error *error);

#define NAME_ESCAPE 4 /* the most bytes that a byte of a name takes in a file */

/* Copies the name to `to` as files have it; returns the end of the copy. A backslash of the name is
 * written as \x5c only where it would be read as something else. */
char *name_escape(struct name name, char *to);

/* to = the name for which [begin, end), a text line of a file without its newline, stands. A \r at
 * its end is no part of the name; nor is, of the first line of a file, UTF-8's mark. Returns the
 * name's length, which is no more than that of the line. */
size_t name_of_line(const char *begin, const char *end, bool first, char *to);

/* The names of the `.map` files beside a tensor or a model: STEM.mode1.map has the names of the
 * indices of mode 1, one on each text line, STEM.modes.map those of the modes. */

#define NAME_MAPS                                                                                  \
    (MAX_ORDER + 1) /* how many files there may be; a file's number is its mode, from 0 */
#define NAME_MAPS_MODES MAX_ORDER /* the number of STEM.modes.map                            */

#define NAME_MAPS_SUFFIX 32

/* text = what follows STEM and a dot in the name of file i, as "mode1.map". Returns text. */
const char *name_maps_suffix(int i, char text[NAME_MAPS_SUFFIX]);

/* How many bytes of the path name the file that a tensor is named after: all, but of
 * COORDS.npy,VALUES.npy those of COORDS.npy. */
size_t name_maps_length(const char *path);

/* The stem of the tensor at `path`: without .blco, .tns, .tns.gz or .npy, and without VALUES.npy.
 * The caller frees it with memory_free. NULL and STATUS_MEMORY. */
char *name_maps_stem(const char *path, struct error *error);

/* The path of file i of the stem. The caller frees it with memory_free. NULL and STATUS_MEMORY. */
char *name_maps_path(const char *stem, int i, struct error *error);
