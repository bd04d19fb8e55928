/* Which rows of a range are common: several ranks touch them (have nonzeros there). Each other row
 * has one owner. */
#ifndef BLCO_ROW_OWNERS_H
#define BLCO_ROW_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

#define ROW_COMMON -1

struct row_owners {
    int32_t *owner;  /* (rows of the range): ROW_COMMON or the row's owner; owned                */
    uint64_t common; /* rows that are common                                                     */
    uint64_t own;    /* rows that this rank owns                                                 */
    bool pays;       /* so few rows are common that treating the others apart pays; the same on
                      * all ranks                                                               */
};

/* touched[i] (1 or 0) becomes 1 for each row i that is one of the indices (nnz). */
void row_owners_touch(unsigned char *touched, const uint32_t *index, uint64_t nnz);

/* Every rank of `peers` calls this with its marks of a range of `rows` rows: touched[i] is 1 where
 * the rank has a nonzero in row i, else 0. A row that no rank touches is given to one of them. The
 * caller frees *s with row_owners_free; it is empty on failure. STATUS_MEMORY, and failures of
 * other ranks. */
enum status row_owners_find(struct row_owners *s, struct comm *peers, const unsigned char *touched,
                            uint64_t rows, struct error *error);

/* Accepts an empty one. */
void row_owners_free(struct row_owners *s);

#endif
