/* The systems of all rows of a mode (numerics/row_term.h, poisson_term.h) on the GPU: a warp walks
 * over a span of the nonzeros in the ordering of the mode, sums b and G of a row after the other,
 * and solves a row when it ends. A row that spans share is joined from their sums by a second
 * kernel, in the order of the spans: results repeat bit for bit on one device. Systems are double
 * in any precision. Implemented in row_systems.cu (the pass), row_short.cu (rows of few nonzeros),
 * row_values.cu (a pass that only finds
 * the model's values) and row_steps.cu (the steps before and after them). Device pointers only;
 * nothing of src/ is known here. Asynchronous; the launch's error is returned. */
#ifndef BLCO_ROW_SYSTEMS_H
#define BLCO_ROW_SYSTEMS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/dense/dense_modes.h"
#include "kernels/mttkrp/mttkrp_args.h"
#include "kernels/rows/row_totals.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROW_SYSTEMS_RANK 64 /* the largest R */

/* What all rows of a mode have in common, for products of rows of the factor matrices as they
 * stand. Device, borrowed. */
struct row_common {
    double *v;       /* (R x R) h V                                                      */
    double *ridge;   /* (R) of each component; of counts, times the trace of H in units of `unit` */
    double *inverse; /* (R): its inverse */
    double *now;     /* (R): times the old rows, their weights                           */
    double *out;     /* (R): times the solved rows, the new rows                         */
    double *linear;  /* (R) of counts: h times the products of the other modes' column sums */
    double *unit;    /* (R) of counts: by which a solved row is longer than the model's  */
};

/* What it is made from. */
struct row_common_args {
    struct dense_modes modes;
    const double *lambda; /* (R) of the present model                                       */
    double unlisted;      /* h                                                              */
    double ridge;         /* of the mode                                                    */
    double power;         /* the ridge of component r is ridge / lambda_r^power; 0: ridge   */
    int counts;           /* the loss is Poisson's: there is no V and no other ridge        */
    const double *sum[MAX_ORDER]; /* (R) of counts: the column sums of each factor matrix   */
    struct row_common to;
};

/* Fills args->to. */
cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream);

/* A row that spans share. Part 2 s is that of the row that begins before span s, part 2 s + 1 that
 * of the row that ends after it. */
struct row_join {
    uint32_t row;
    uint32_t first; /* its first part                                       */
    uint32_t last;  /* the last span that has one; those between are all its */
};

struct row_systems_args {
    struct mttkrp_args mttkrp; /* nonzeros, bases, gathers, output, vectors, precision; m: the new
                                * rows, of which those without nonzeros are not written */
    const void *old;           /* (I_n x vectors * 16 bytes): the old rows              */
    uint32_t rank;
    struct row_common common;
    double unlisted; /* h                                                     */
    int nonneg;      /* new rows are not negative                             */
    int counted;     /* the ridge is multiplied by a row's known entries      */
    int short_rows;  /* rows of up to so many nonzeros that lie in a span as a whole are solved by
                      * row_short_solve: at most ROW_SHORT_DESCENT of counts, ROW_SHORT_EQUATIONS
                      * where unlisted is 0, no ridge is, and rows may be negative */
    int counts;      /* the loss is Poisson's                                 */
    int matrix;      /* G is needed: not for multiplicative steps of counts   */
    int weighed;     /* of counts: not every listed entry has the weight h    */
    double of_count; /* what a count of 1 is in the tensor that is here       */
    double floor;    /* of counts: of an entry of a new row                   */
    uint32_t spans;
    const uint64_t *span;        /* (spans + 1): the first nonzero of each, and of none   */
    const uint32_t *block;       /* (spans): the block that a span lies in                */
    const uint32_t *continued;   /* (spans + 1): 1 where the row before goes on           */
    const struct row_join *join; /* (joins)                                             */
    uint32_t joins;
    int first_is_part, last_is_part; /* the first, the last join is a part of a row that has others
                                      * elsewhere: it is summed and not solved                    */
    int joined;                /* set by row_systems_join: parts are summed, joins are solved   */
    uint32_t *next;            /* the next span or join that is not taken yet           */
    double *part;              /* (2 x spans x row_system_length(rank)): of rows that begin before
                                * a span, and that end after it                         */
    uint32_t *left;            /* (spans): set by row_short_solve: 1 where it left the short rows */
    struct row_totals *totals; /* (spans + joins that are solved)                       */
};

/* The most nonzeros of a short row: of which the system has one equation for each, and of which the
 * coordinates are improved one after the other. */
#define ROW_SHORT_EQUATIONS 16
#define ROW_SHORT_DESCENT   8

/* Joins that are solved. */
static inline uint32_t row_systems_joined(const struct row_systems_args *args)
{
    return args->joins - (uint32_t)args->first_is_part - (uint32_t)args->last_is_part;
}

/* Doubles of a part of a system. */
uint64_t row_system_length(uint32_t rank);

/* *warps = those that run at once on the present device; gathers: as in struct mttkrp_args. */
cudaError_t row_systems_warps(uint32_t rank, uint32_t gathers, enum precision precision,
                              uint32_t *warps);

/* span[s] (spans + 1, of which span[s] for 0 < s < spans is a wish) moves to the start of a row, if
 * one is near and in the same block; before[s], after[s] (spans + 1) = the rows of the nonzeros
 * before and after, as far as they lie in the spans. */
cudaError_t row_spans_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t spans,
                           uint64_t *span, uint32_t *before, uint32_t *after, cudaStream_t stream);

#define ROW_SPAN_LEAST 64 /* nonzeros between two wishes in one block, at least */

/* Every row that has nonzeros: args->mttkrp.m, parts and totals. */
cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream);

/* The short rows of all spans, as the first step of row_systems_solve: args->mttkrp.m, left, and
 * their part of the spans' totals. */
cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream);

/* Only the joins, from parts that are there. */
cudaError_t row_systems_join(const struct row_systems_args *args, cudaStream_t stream);

/* Nothing is solved: totals (spans) = misfit and model of the rows as they are. */
cudaError_t row_systems_values(const struct row_systems_args *args, cudaStream_t stream);

/* What is summed over the components of a model beside the totals. */
struct row_model_args {
    const double *lambda; /* (R); NULL: nothing */
    double power;         /* sum_r |lambda_r|^power ... */
    const double *sum;    /* (R): ... or, where not NULL, h times the rates of all cells: the column
                           * sums of the mode's factor matrix as it stands */
    double *to;
};

/* *sum = the sum of the first `count` of args->totals. */
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

#ifdef __cplusplus
}
#endif
#endif
