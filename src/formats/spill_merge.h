/* Merges the spills of an external sort. */
#ifndef BLCO_SPILL_MERGE_H
#define BLCO_SPILL_MERGE_H

#include "base/outfile.h"
#include "base/progress.h"
#include "formats/entry_sums.h"
#include "tensor/coo.h"

/* Bytes that sorting takes for an entry, in addition to the entry. */
#define EXTERNAL_SORT_OVERHEAD 32

/* A sorted piece in the spill file: its arrays of indices, one mode after the other, then its
 * values. */
struct spill {
    uint64_t offset; /* in the spill file, bytes         */
    uint64_t count;  /* entries                          */
    uint64_t read;   /* entries read so far, for merging */
};

/* The spills, one after the other in input order. */
struct spills {
    struct outfile file; /* without a name; fd -1 before the first spill */
    uint64_t bytes;      /* in the file                                  */
    struct spill *spill; /* (count); owned                                  */
    uint64_t count;
};

/* Appends the entries of all spills to the file in alto order and cleaned, in about `memory` bytes.
 * STATUS_INPUT as from coo_overflow, STATUS_OUTPUT, STATUS_MEMORY. */
enum status spill_merge(struct spills *s, uint64_t memory, struct entry_sums *sums,
                        struct progress *progress, struct error *error);

#endif
