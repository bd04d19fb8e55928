/* The systems of all rows of a mode (numerics/row_term.h, poisson_term.h) on the GPU: a thread
 * block walks over a chunk of the nonzeros in the ordering of the mode, sums b and G of a row after
 * the other, and solves a row when it ends. A row that chunks share is joined from their sums by a
 * second kernel, in the order of the chunks: results repeat bit for bit on one device. Systems are
 * double in any precision. Implemented in row_systems.cu (the pass), row_short.cu (rows of few
 * nonzeros), row_multiply.cu (rows that need no G), row_values.cu (a pass that only finds the
 * model's values) and row_steps.cu (the steps before and after them). Device pointers only; nothing
 * of src/ is known here. Asynchronous; the launch's error is returned. */
#pragma once

#include "kernels/dense/dense_modes.h"
#include "kernels/rows/row_args.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

#define ROW_SYSTEMS_RANK 64 /* the largest R */

/* What struct row_common is made from. */
struct row_common_args {
    struct dense_modes modes;
    const double *lambda;   /* (R) of the present model                                       */
    double cells;           /* of a row, as many as the product of the other modes' lengths   */
    struct row_rules rules; /* of rates, there is no V and no other ridge             */
    const double *sum[MAX_ORDER]; /* (R) of rates: the column sums of each factor matrix    */
    struct row_common to;
};

/* Fills args->to. */
cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream);

/* Joins that are solved. */
static inline uint32_t row_systems_joined(const struct row_systems_args *args)
{
    return args->joins - (uint32_t)args->first_is_part - (uint32_t)args->last_is_part;
}

/* Doubles of a part of a system, with G or without. */
uint64_t row_system_length(uint32_t rank, int matrix);

/* *walkers = those that run at once on the present device, in double precision: thread blocks or,
 * without G, lane groups. gathers: as in struct mttkrp_args. */
cudaError_t row_systems_walkers(uint32_t rank, uint32_t gathers, int matrix, uint32_t *walkers);

/* chunk[s] (chunks + 1, of which chunk[s] for 0 < s < chunks is a wish) moves to the start of a
 * row, if one is near and in the same block; before[s], after[s] (chunks + 1) = the rows of the
 * nonzeros before and after, as far as they lie in the chunks. */
cudaError_t row_chunks_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t chunks,
                            uint64_t *chunk, uint32_t *before, uint32_t *after,
                            cudaStream_t stream);

#define ROW_CHUNK_LEAST 64 /* nonzeros between two wishes in one block, at least */

/* args->common.v_inverse, if the passes that follow need it for short rows. */
cudaError_t row_short_prepare(const struct row_systems_args *args, cudaStream_t stream);

/* Every row that has nonzeros: args->mttkrp.m, parts and totals. */
cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream);

/* The short rows of all chunks, as the first step of row_systems_solve: args->mttkrp.m, left, and
 * their part of the chunks' totals. */
cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream);

/* What row_system_length and row_systems_walkers give without G. */
uint64_t row_multiply_length(uint32_t rank);
cudaError_t row_multiply_groups(uint32_t rank, uint32_t *groups);

/* Every row of counts that lies in a chunk as a whole, and the parts of the others; ... */
cudaError_t row_multiply_chunks(const struct row_systems_args *args, cudaStream_t stream);

/* ... those whose parts are summed: args->joins, or as row_sent_solve says. */
cudaError_t row_multiply_joins(const struct row_systems_args *args, cudaStream_t stream);

/* Only the joins, from parts that are there. */
cudaError_t row_systems_join(const struct row_systems_args *args, cudaStream_t stream);

/* Only `rows` rows from sent.first on, whose systems' sums sent.part has; totals (rows). The new
 * row of row i is written as row i of args->mttkrp.m, its old one is row i of args->old. */
cudaError_t row_sent_solve(const struct row_systems_args *args, uint32_t rows, cudaStream_t stream);

/* Nothing is solved: totals (chunks) = misfit and model of the rows as they are. */
cudaError_t row_systems_values(const struct row_systems_args *args, cudaStream_t stream);

/* What is summed over the components of a model beside the totals. */
struct row_model_args {
    const double *lambda; /* (R); NULL: nothing */
    double power;         /* sum_r |lambda_r|^power ... */
    const double *sum;    /* (R): ... or, where not NULL, h times the rates of all cells: the column
                           * sums of the mode's factor matrix as it stands */
    double *to;
};

/* *sum = the sum of the first `count` of args->room.totals. */
cudaError_t row_totals_sum(const struct row_systems_args *args, uint32_t count,
                           struct row_totals *sum, const struct row_model_args *model,
                           cudaStream_t stream);

/* Zeros of a factor matrix of counts, from which no step leads away. */
struct row_lift_args {
    void *a; /* (rows x vectors * 16 bytes) */
    uint64_t rows;
    uint32_t vectors, rank;
    enum precision precision;
    const double *sum; /* (R): of the columns                                             */
    double share;      /* of a sum: what a zero becomes; of 1 where the sum is 0           */
};
cudaError_t row_lift_zeros(const struct row_lift_args *args, cudaStream_t stream);

LAUNCHERS_END
