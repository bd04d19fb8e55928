/* Entries that a run holds out: in the tensor that it decomposes they are unknown. */
#ifndef BLCO_HELD_OUT_H
#define BLCO_HELD_OUT_H

#include "tensor/coo.h"

/* Those of this rank: held-out entries of the file, then as many entries that it does not list and
 * that are unknown in the tensor too. Indices are rows that the rank has. All zero: none. */
struct held_out {
    struct coo x;    /* with the values of the file, 0 for an entry that it does not list; owned */
    uint64_t listed; /* how many of x are listed                                                 */
    uint64_t all_listed, all_unlisted; /* of all ranks                                           */
    int exponent; /* all values are below 2^exponent in magnitude                              */
};

/* Bytes of so many held-out entries, with room for the values of a model. */
uint64_t held_out_bytes(int order, uint64_t count);

/* Accepts an empty one. */
void held_out_free(struct held_out *held);

#endif
