/* Selects the nonzeros of a rank's part from decoded nonzeros of the whole tensor. Device pointers
 * only; nothing of src/ is known here. All launchers are asynchronous and return the launch's
 * error; the numbers of nonzeros may be 0. */
#pragma once

#include "numerics/launchers.h"
#include "numerics/packed_group.h"
#include "kernels/tensor/select.h"
#include "kernels/tensor/tuples.h"

LAUNCHERS_BEGIN

/* Nonzeros of the whole tensor, and the ranges of rows of the part. */
struct part_nonzeros {
    struct packed_layout layout;         /* of the words                                     */
    const uint64_t *index[PACKED_WORDS]; /* (nnz) each; [1] NULL where layout.words is 1     */
    const double *value;                 /* (nnz)                                            */
    uint64_t nnz;
    uint32_t first[MAX_ORDER], rows[MAX_ORDER];
};

/* Selects (select.h) the nonzeros that lie in the part. Coordinates count from the first row of the
 * range; they go to to->index. */
cudaError_t part_select(const struct part_nonzeros *x, uint64_t *tile,
                        const struct select_target *to, cudaStream_t stream);

/* Nonzeros of one rank, where the rows of a mode are dealt (ranks/row_deal.h): row i belongs to
 * rank i / stripe, unless it is common, as the first rows of each stripe are. Rank `me` selects
 * those of its rows and, of common rows, its own. */
struct part_dealt {
    struct tuples_nonzeros x;
    const double *value; /* (nnz) */
    uint64_t nnz;
    int order, mode;
    uint32_t stripe, common; /* rows; common: of all stripes */
    int ranks, me;
    bool own; /* the nonzeros are those of `me` */
};

/* The same for dealt rows. They have lines in to->line where x has lines. */
cudaError_t part_select_dealt(const struct part_dealt *x, uint64_t *tile,
                              const struct select_target *to, cudaStream_t stream);

/* touched[index[i]] = 1 for each i (n). */
cudaError_t part_touch(const uint32_t *index, uint64_t n, uint8_t *touched, cudaStream_t stream);

/* index[i] = place[index[i]] for each i (n). */
cudaError_t part_renumber(uint32_t *index, uint64_t n, const uint32_t *place, cudaStream_t stream);

LAUNCHERS_END
