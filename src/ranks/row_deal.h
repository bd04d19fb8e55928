/* Which rank solves which rows of a mode, where each row has a system of its own: rows are dealt so
 * that all ranks have about as many rows and as many nonzeros. A rank gets all nonzeros of a row
 * that it solves, so that nothing but the solved row has to move.
 *
 * A row with so many nonzeros that one rank could not have them all is common: its nonzeros stay
 * where they are, and the ranks sum its system. These are at most ROW_DEAL_SHARES rows a rank.
 *
 * Where one mode is far longer than the others, gathering its rows may take longer than summing the
 * systems of all rows of the other modes: then ranks keep their ranges of that mode and the
 * nonzeros of these, and all rows of the other modes are common (row_deal_kept).
 *
 * Rows with about the same number of nonzeros are cut into one range for each rank, because rows
 * near each other often need the same rows of the other modes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/process_grid.h"

/* A row is common where it has more nonzeros than this part of those of a rank. */
#define ROW_DEAL_SHARES 8

/* Bytes of the systems of a mode's common rows that the ranks sum, at most, where these are all its
 * rows. */
#define ROW_DEAL_SENT (UINT64_C(128) << 20)

/* Stripe k has the rows that rank k solves: common ones, then its own, each in the order of the
 * tensor; shorter stripes are padded with empty rows. */
struct row_deal {
    uint64_t stripe; /* rows of a stripe                                                        */
    uint64_t common; /* common rows of all stripes together (row_deal_common)                   */
    uint64_t *rows;  /* (ranks): rows of each stripe that are rows of the tensor; owned         */
    uint64_t *own;   /* (ranks): nonzeros in the rows of each rank that are not common; owned   */
    uint32_t *place; /* (rows): stripe k begins at place k * stripe; owned                      */
};

/* How many of `common` common rows stand at the beginning of stripe k: they are dealt round robin.
 */
static inline uint64_t row_deal_common(uint64_t common, int k, int ranks)
{
    return (common + (uint64_t)(ranks - 1 - k)) / (uint64_t)ranks;
}

/* Whether ranks keep their ranges of mode n if it is the only one that is cut: if the systems of
 * all rows of the other modes are less than half of what its rows are, in bytes, and do not pass
 * ROW_DEAL_SENT. row_bytes: of a factor matrix's row of R doubles; a system has R (R + 3) / 2. */
bool row_deal_keeps(const struct shape *shape, int n, uint64_t row_bytes);

/* The mode whose ranges on this grid the ranks keep; -1: none. */
int row_deal_kept(const struct process_grid *grid, uint64_t row_bytes);

/* The bytes of the systems of all rows of the other modes. */
double row_deal_kept_bytes(const struct shape *shape, int kept, uint64_t row_bytes);

/* count (rows) = the nonzeros of each row; all_common: every row that has some is common. The same
 * on all ranks. The caller frees *d with row_deal_free; it is empty on failure. STATUS_MEMORY, also
 * where places do not fit into 32 bits.
 */
enum status row_deal_make(struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks,
                          bool all_common, struct error *error);

/* Accepts an empty one. */
void row_deal_free(struct row_deal *d);
