/* Writes the names of a tensor or model to the `.map` files beside it (name_maps.h). */
#ifndef BLCO_MAP_WRITE_H
#define BLCO_MAP_WRITE_H

#include <stdbool.h>

#include "base/outfile.h"
#include "formats/names/labels.h"
#include "formats/names/name_maps.h"

/* Whether the names have a file i: NULL and empty names have none. STEM.modes.map is there where
 * any other is, with empty text lines for modes that have no name. */
bool map_exists(const struct labels *names, int i);

/* Appends the text of file i to an open file. STATUS_OUTPUT, STATUS_MEMORY. */
enum status map_write(struct outfile *f, const struct labels *names, int i, struct error *error);

/* *same = whether the file `path` exists and has exactly the text of file i. STATUS_MEMORY. */
enum status map_is_same(bool *same, const char *path, const struct labels *names, int i,
                        struct error *error);

#endif
