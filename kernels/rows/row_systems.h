/* The systems of all rows of a mode (numerics/row_term.h) on the GPU: a warp walks over a span of
 * the nonzeros in the ordering of the mode, sums b and G of a row after the other, and solves a row
 * when it ends. A row that spans share is joined from their sums by a second kernel, in the order
 * of the spans: results repeat bit for bit on one device. Systems are double in any precision.
 * Implemented in row_systems.cu (the pass) and row_steps.cu (the steps before and after it).
 * Device pointers only; nothing of src/ is known here. Asynchronous; the launch's error is
 * returned. */
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
    double *ridge;   /* (R) of each component                                            */
    double *inverse; /* (R): its inverse */
    double *now;     /* (R): times the old rows, their weights                           */
    double *out;     /* (R): times the solved rows, the new rows                         */
};

/* What it is made from. */
struct row_common_args {
    struct dense_modes modes;
    const double *lambda; /* (R) of the present model                                       */
    double unlisted;      /* h                                                              */
    double ridge;         /* of the mode                                                    */
    double power;         /* the ridge of component r is ridge / lambda_r^power; 0: ridge   */
    struct row_common to;
};

/* Fills args->to. */
cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream);

/* A row whose nonzeros lie in spans [first, last]. */
struct row_join {
    uint32_t row, first, last;
};

struct row_systems_args {
    struct mttkrp_args mttkrp; /* nonzeros, bases, gathers, output, vectors, precision; m: the new
                                * rows, of which those without nonzeros are not written */
    const void *old;           /* (I_n x vectors * 16 bytes): the old rows              */
    uint32_t rank;
    struct row_common common;
    double unlisted;  /* h                                                     */
    int nonneg;       /* new rows are not negative                             */
    int counted;      /* the ridge is multiplied by a row's known entries      */
    int short_rows;   /* unlisted is 0, no ridge is, and rows may be negative: short rows have
                       * systems of one equation for each nonzero */
    int only_squares; /* nothing is solved; misfit: the sum of m^2 over known entries */
    uint32_t spans;
    const uint64_t *span;        /* (spans + 1): the first nonzero of each, and of none   */
    const uint32_t *block;       /* (spans): the block that a span lies in                */
    const uint32_t *continued;   /* (spans + 1): 1 where the row before goes on           */
    const struct row_join *join; /* (joins)                                             */
    uint32_t joins;
    uint32_t *next;            /* the next span that is not taken yet                   */
    double *part;              /* (2 x spans x row_system_length(rank)): of rows that begin before
                                * a span, and that end after it                         */
    struct row_totals *totals; /* (spans + joins)                                       */
};

/* Doubles of a part of a system. */
uint64_t row_system_length(uint32_t rank);

/* *warps = those that run at once on the present device; gathers: as in struct mttkrp_args. */
cudaError_t row_systems_warps(uint32_t rank, uint32_t gathers, enum precision precision,
                              uint32_t *warps);

/* span[s] (spans + 1, of which span[s] for 0 < s < spans is a wish) moves to the start of a row, if
 * one is near and in the same block; before[s], after[s] (spans + 1) = the rows of the nonzeros
 * before and after. */
cudaError_t row_spans_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t spans,
                           uint64_t *span, uint32_t *before, uint32_t *after, cudaStream_t stream);

#define ROW_SPAN_LEAST 64 /* nonzeros between two wishes in one block, at least */

/* Every row that has nonzeros: args->mttkrp.m, parts and totals. */
cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream);

/* *sum = the sum of args->totals, and *model (not where NULL) = sum_r |lambda_r|^power. */
cudaError_t row_totals_sum(const struct row_systems_args *args, struct row_totals *sum,
                           const double *lambda, double power, double *model, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
