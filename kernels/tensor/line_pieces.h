/* Nonzeros in pieces of neighbouring lines, so that they are sorted in less room than all at once.
 * Device pointers only; nothing of src/ is known here. Launchers are asynchronous and return the
 * launch's error. */
#pragma once

#include "numerics/bit_move.h"
#include "kernels/tensor/select.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

#define LINE_PIECES_BINS 4096 /* of lines */

/* Nonzeros, and how their lines become the lines by which they are sorted. */
struct line_pieces_nonzeros {
    const uint64_t *line; /* (nnz)                                                          */
    const double *value;  /* (nnz)                                                          */
    uint64_t nnz;
    struct bit_moves moves;
    int shift; /* a line that is moved, shifted right by so much, is its bin's number      */
};

/* count[b] (LINE_PIECES_BINS) = the nonzeros of bin b. */
cudaError_t line_pieces_bins(const struct line_pieces_nonzeros *x, uint64_t *count,
                             cudaStream_t stream);

/* Selects (select.h) the nonzeros in bins [first, end): their moved lines, and values of value_size
 * bytes (8, or 4: rounded to float). */
cudaError_t line_pieces_select(const struct line_pieces_nonzeros *x, uint32_t first, uint32_t end,
                               uint64_t *tile, const struct select_target *to, int value_size,
                               cudaStream_t stream);

LAUNCHERS_END
