/* Which rows of a range several ranks touch, and which one rank alone. */
#ifndef BLCO_ROW_SHARING_H
#define BLCO_ROW_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

#define ROW_SHARED -1

struct row_sharing {
    int32_t *owner;  /* (rows of the range): ROW_SHARED, or the rank that has the row for itself;
                      * owned                                                                     */
    uint64_t shared; /* rows that are shared                                                      */
    uint64_t own;    /* rows that this rank has for itself                                        */
    bool pays;       /* so few rows are shared that keeping the others apart pays; alike on all   */
};

/* Every rank of `sharing` calls this with the indices (nnz) of its nonzeros in a range of `rows`
 * rows. A row that no rank touches is given to one of them. The caller frees *s with
 * row_sharing_free; it is empty on failure. STATUS_MEMORY, and failures of other ranks. */
enum status row_sharing_find(struct row_sharing *s, struct comm *sharing, const uint32_t *index,
                             uint64_t nnz, uint64_t rows, struct error *error);

/* Accepts an empty one. */
void row_sharing_free(struct row_sharing *s);

#endif
