/* Which rank solves which rows of a mode, where each row has a system of its own: rows are dealt so
 * that ranks have as many rows, and as many nonzeros, as each other. A rank gets all nonzeros of a
 * row that it solves, so that nothing but the solved row has to move.
 *
 * A row with so many nonzeros that one rank could not have them all is common: its nonzeros stay
 * where they are, and the ranks sum its system. These are at most ROW_DEAL_SHARES rows a rank.
 *
 * The rows of equal numbers of nonzeros, about, are cut into one run of neighbours for each rank,
 * because rows near each other often need the same rows of the other modes. */
#ifndef BLCO_ROW_DEAL_H
#define BLCO_ROW_DEAL_H

#include <stdint.h>

#include "base/error.h"

/* A row is common where it has more nonzeros than this part of those of a rank. */
#define ROW_DEAL_SHARES 8

/* Stripe k has the rows that rank k solves: common ones, then its own, each in the order of the
 * tensor; shorter stripes are filled up with rows that are none. */
struct row_deal {
    uint64_t stripe; /* rows of a stripe                                                        */
    uint64_t common; /* common rows of all stripes together (row_deal_common)                   */
    uint64_t *rows;  /* (ranks): rows of each stripe that are rows of the tensor; owned         */
    uint64_t *own;   /* (ranks): nonzeros in the rows of each rank that are not common; owned   */
    uint32_t *place; /* (rows): stripe k begins at place k * stripe; owned                      */
};

/* How many of `common` common rows stand at the beginning of stripe k: they are dealt by turns. */
static inline uint64_t row_deal_common(uint64_t common, int k, int ranks)
{
    return (common + (uint64_t)(ranks - 1 - k)) / (uint64_t)ranks;
}

/* count (rows) = the nonzeros of each row. The same on all ranks. The caller frees *d with
 * row_deal_free; it is empty on failure. STATUS_MEMORY, also where places do not fit into 32 bits.
 */
enum status row_deal_make(struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks,
                          struct error *error);

/* Accepts an empty one. */
void row_deal_free(struct row_deal *d);

#endif
