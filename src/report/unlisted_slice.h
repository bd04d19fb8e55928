/* A slice of a tensor, or what several slices have in common: the entries with given indices in
 * some modes. Which of them the tensor lists. */
#ifndef BLCO_UNLISTED_SLICE_H
#define BLCO_UNLISTED_SLICE_H

#include <stdbool.h>

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

/* Notes those entries of x that are in the slice. STATUS_MEMORY. */
enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error);

/* After the last entry, before the first question. */
void unlisted_slice_sort(struct unlisted_slice *s);

/* Whether the tensor lists the entry, which is in the slice. */
bool unlisted_slice_lists(const struct unlisted_slice *s, const struct cell *cell);

/* Accepts a zeroed one. */
void unlisted_slice_free(struct unlisted_slice *s);

#endif
