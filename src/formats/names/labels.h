/* The labels of a mode's indices: words to show in place of numbers. They come from `.map` files,
 * as FROSTT has them beside its tensors: text line k is the label of index k. With them the names
 * of the modes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/outfile.h"
#include "formats/names/name_list.h"
#include "formats/names/name_table.h"
#include "tensor/shape.h"

/* The labels of one mode. */
struct mode_labels {
    char *path;     /* of the file; NULL: the labels are from no file, or there are none; owned */
    bool given;     /* by --labels: they are only shown, if there is a file beside the model, too */
    char *own_path; /* of that file, or NULL; owned                           */
    struct name_table names, own; /* I_n once the files are read, none before; sealed, owned */
};

struct labels {
    struct mode_labels mode[MAX_ORDER];
    struct mode_names modes;
    int order;    /* of the tensor or model, where labels_find or labels_take has set it */
    bool none;    /* --labels none: no files are looked for                              */
    bool partial; /* the modes are the first of those of a tensor or model, perhaps not all */
};

/* Adds files to *l, which begins as zeros. `text` is the argument of --labels, MODE=FILE[,...], or
 * none: modes count from 1, and a comma ends a file's name only where MODE= follows. Reads no file
 * yet, since the shape is not known yet. STATUS_INPUT, also where a mode has a file already;
 * STATUS_MEMORY. The caller calls labels_free, after a failure too. */
enum status labels_add(struct labels *l, const char *text, struct error *error);

/* Adds the files beside a tensor or a model of this order, STEM.modeN.map (name_list.h), where
 * there are such and *l has no file of mode N, and reads the names of the modes from
 * STEM.modes.map, unless *l has such names. Where a run was killed while it replaced the files, all
 * old ones count, or all new ones (outfile_set_find). Nothing after --labels none. STATUS_INPUT,
 * STATUS_MEMORY. */
enum status labels_find(struct labels *l, const char *stem, int order, struct error *error);

/* The same beside the tensor at `path` (name_maps_stem); nothing of standard input. */
enum status labels_find_tensor(struct labels *l, const char *path, int order, struct error *error);

/* Reads the files of a tensor or a model of this shape, plain or gzip ("-": standard input); a mode
 * whose length is not known yet, 0, has any number of labels. Files
 * that have been read are not read again. Labels may have any byte but 0, and stand in the files as
 * name_list.h says. STATUS_INPUT, with file and text line in the message, where a file cannot be
 * read or the number of its labels is not the length of its mode, and where *l has a mode that the
 * shape does not have; STATUS_MEMORY. */
enum status labels_read(struct labels *l, const struct shape *shape, struct error *error);

/* Takes the names of CSV over; *names is empty afterwards, and *l was. */
void labels_take(struct labels *l, struct tensor_names *names);

/* The names by which the indices of mode n are matched with those of others. */
const struct name_table *labels_own(const struct labels *l, int n);

/* The label of index i (from 0) of mode n (from 0), with any line ends: not printable, perhaps not
 * UTF-8. NULL where the mode has no labels or the label is empty. */
const char *labels_get(const struct labels *l, int n, uint64_t i);

/* The bytes of the longest label of mode n; 0 where the mode has none. */
size_t labels_longest(const struct labels *l, int n);

/* Forgets what was found and read beside a tensor or a model; labels that were given stay. */
void labels_forget(struct labels *l);

/* Accepts empty labels. */
void labels_free(struct labels *l);

/* Writes the names of a tensor or model to the `.map` files beside it (name_list.h). */

/* Whether the names have a file i: NULL and empty names have none. STEM.modes.map is there where
 * any other is, with empty text lines for modes that have no name. */
bool map_exists(const struct labels *names, int i);

/* *same = whether the file `path` exists and has exactly the text of file i. STATUS_MEMORY. */
enum status map_is_same(bool *same, const char *path, const struct labels *names, int i,
                        struct error *error);

/* Writes those of the first `maps` files of the stem that are not there with the same text to new
 * files, file[*count] and those after it; *count grows. The caller commits or discards them, after
 * a failure too. STATUS_OUTPUT, STATUS_MEMORY. */
enum status maps_write(struct outfile *file, int *count, const struct labels *names, int maps,
                       const char *stem, struct error *error);
