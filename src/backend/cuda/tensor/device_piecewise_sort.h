/* Sorts nonzeros by their lines in pieces, where the device has no room to sort all at once. */
#ifndef BLCO_DEVICE_PIECEWISE_SORT_H
#define BLCO_DEVICE_PIECEWISE_SORT_H

#include "backend/cuda/tensor/device_pairs.h"
#include "kernels/tensor/line_pieces.h"

/* key[0] and payload[0] of p (nnz pairs) become the moved lines and the values of x, sorted by bits
 * [begin, end) of the lines; nonzeros with equal bits keep the order of x. Bits from `end` on are
 * zero in all lines. Device memory while it runs: about an eighth of the pairs, or as much as the
 * nonzeros of the fullest of LINE_PIECES_BINS bins take. STATUS_MEMORY leaves the pairs undefined.
 */
enum status device_piecewise_sort(struct device_pairs *p, const struct line_pieces_nonzeros *x,
                                  int begin, int end, const struct device_pool *pool,
                                  struct error *error);

#endif
