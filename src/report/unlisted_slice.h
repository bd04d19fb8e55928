/* Which entries of a slice a tensor lists. A slice has the entries with given indices in some
 * modes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

/* Begins with shape and indices, all else zero. */
struct unlisted_slice {
    struct shape shape;
    bool given[MAX_ORDER]; /* whether the slice has one index of a mode; none: the whole tensor */
    uint32_t index[MAX_ORDER]; /* of these modes                                                */
    uint64_t most;  /* a search computes no more entries; 0: UNLISTED_MOST                      */
    uint64_t count; /* of the tensor's entries in the slice, each time that one is listed       */
    uint64_t room;
    uint64_t *key;   /* (count; room) the indices of the other modes, packed; owned             */
    uint64_t *start; /* where the keys of each hash begin, once they are sorted; owned          */
};

#define UNLISTED_MOST UINT64_C(1000000000000)

/* The number of the slice's entries, listed or not; UINT64_MAX where it does not fit. */
uint64_t unlisted_slice_entries(const struct unlisted_slice *s);

/* Notes those entries of x that are in the slice, in 8 bytes each, or more where the indices of the
 * other modes have more than 64 bits. STATUS_MEMORY. */
enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error);

/* Sorts what was noted, unless it is sorted, by all OpenMP threads. Takes the memory of the keys
 * once more while it runs, and 2 bytes for each afterwards. STATUS_MEMORY. */
enum status unlisted_slice_sort(struct unlisted_slice *s, struct error *error);

/* Whether the tensor lists the entry with index[0..N), which is in the slice. The slice is sorted.
 */
bool unlisted_slice_lists(const struct unlisted_slice *s, const uint32_t *index);

/* Accepts a zeroed one. */
void unlisted_slice_free(struct unlisted_slice *s);
