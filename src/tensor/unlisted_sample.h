/* Distinct coordinates that a tensor does not list. */
#ifndef BLCO_UNLISTED_SAMPLE_H
#define BLCO_UNLISTED_SAMPLE_H

#include <stdbool.h>

#include "tensor/coo.h"

struct unlisted_sample {
    struct coo x;   /* (x.nnz) distinct coordinates that were offered, without values */
    bool *listed;   /* (x.nnz): the tensor lists them; owned                          */
    uint64_t *slot; /* (slots): a hash table of them: 1 + the place in x, or 0; owned */
    uint64_t slots; /* a power of two                                                 */
};

/* Makes room for `more` coordinates of this shape, after those that there are. *s is zeroed before
 * the first call. The caller frees it, on failure too. STATUS_MEMORY. */
enum status unlisted_sample_grow(struct unlisted_sample *s, const struct shape *shape,
                                 uint64_t more, struct error *error);

/* Adds a coordinate (order), unless it is there already. */
void unlisted_sample_offer(struct unlisted_sample *s, const uint32_t *coordinate);

/* Notes which coordinates x lists. Returns how many it does not list. By all OpenMP threads. */
uint64_t unlisted_sample_check(struct unlisted_sample *s, const struct coo *x);

/* Accepts an empty one. */
void unlisted_sample_free(struct unlisted_sample *s);

#endif
