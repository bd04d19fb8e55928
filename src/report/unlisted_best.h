/* The entries of a slice that a tensor does not list and where a model has its largest values:
 * recommendations, links that may come. A slice has the entries with given indices in some modes.
 */
#ifndef BLCO_UNLISTED_BEST_H
#define BLCO_UNLISTED_BEST_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/progress.h"
#include "formats/names/labels.h"
#include "model/ktensor.h"
#include "tensor/coo.h"

/* Where an entry is, from 0; modes beyond the order are 0. */
struct cell {
    uint32_t index[MAX_ORDER];
};

/* Begins with shape and indices, all else zero. */
struct unlisted_slice {
    struct shape shape;
    bool given[MAX_ORDER];     /* whether the slice has one index of a mode */
    uint32_t index[MAX_ORDER]; /* of these modes */
    struct cell *listed;       /* (count; room) the tensor's entries in the slice; owned */
    uint64_t count, room;
};

#define UNLISTED_MOST UINT64_C(10000000000) /* entries of a slice that are looked at */

/* STATUS_INPUT where the slice has more than UNLISTED_MOST entries. */
enum status unlisted_slice_check(const struct unlisted_slice *s, struct error *error);

/* Notes those entries of x that are in the slice. STATUS_MEMORY. */
enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error);

/* Accepts a zeroed one. */
void unlisted_slice_free(struct unlisted_slice *s);

struct best_entry {
    struct cell cell;
    double value; /* of the model */
};

struct unlisted_best {
    uint64_t count;
    struct best_entry *entry; /* (count) the largest first, of equal ones that with the smaller
                               * indices; owned */
};

/* *best = the `wanted` entries of the slice with the largest values, or all if it has fewer. Where
 * the model is 0, an entry is left out. Some mode has no given index, all entries of the tensor
 * are noted (the slice sorts them), and unlisted_slice_check has passed. The model is computed at
 * every entry, but for blocks of rows of the longest mode whose norms show that no value is large
 * enough. By all OpenMP threads, whose number does not change the result. Besides the result it
 * takes memory for a copy of the longest mode's factor matrix. The caller frees *best, which is
 * empty on failure. STATUS_MEMORY. */
enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error);

/* Accepts an empty one. */
void unlisted_best_free(struct unlisted_best *best);

/* What is shown of them, for people or as JSON. */
struct unlisted_view {
    const struct unlisted_slice *slice;
    const struct unlisted_best *best;
    const struct labels *labels; /* read */
    const char *tensor;          /* its name */
    int index_base;              /* the number that the first index is shown as */
};

/* Prints which slice it is, and a table of the entries: the indices that are not given, and the
 * values of the model. Labels are made printable, and long ones cut. */
void unlisted_print(FILE *stream, const struct unlisted_view *view);

/* Adds the same to the object that is open, with whole labels and all digits. */
void unlisted_put_json(struct json *j, const struct unlisted_view *view);

#endif
