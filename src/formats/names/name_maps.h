/* The names of the `.map` files beside a tensor or a model: STEM.mode1.map has the names of the
 * indices of mode 1, one on each text line, STEM.modes.map those of the modes. */
#ifndef BLCO_NAME_MAPS_H
#define BLCO_NAME_MAPS_H

#include <stddef.h>

#include "base/error.h"
#include "numerics/max_order.h"

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

#endif
