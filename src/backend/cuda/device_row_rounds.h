/* The systems of common rows (rank_rows.h), which several GPUs sum. In each round every peer leaves
 * its systems of some rows of every stripe in an array, NCCL sums them, and each peer solves those
 * of its stripe.
 *
 * Cost: each peer sends all systems but those of its stripe, (R (R + 1) / 2 + 2 R) doubles a row:
 * at R = 32 and 270 GB/s, 9 ns for a row that two GPUs share, the time of 160 nonzeros. Where
 * common rows have hundreds of nonzeros, or are few beside the nonzeros, that is little; where
 * millions of them have a few each, one GPU is faster. The nonzeros themselves would be fewer bytes
 * there, but whoever solves a row lacks the rows of the other factor matrices that nonzeros of its
 * peers refer to, and would need the products of these, R numbers for each nonzero and iteration.
 */
#ifndef BLCO_DEVICE_ROW_ROUNDS_H
#define BLCO_DEVICE_ROW_ROUNDS_H

#include "backend/cuda/device_ranks.h"
#include "backend/cuda/rows/device_row_systems.h"

struct device_row_rounds {
    double *sent; /* (peers x rows x length) of the mode with most; device, owned */
    struct device_row_round {
        bool least;       /* each peer sends the least value of a row              */
        uint32_t length;  /* numbers of a system                                   */
        uint64_t rows;    /* of each stripe at a time                              */
        uint32_t rounds;  /* 0: there are no common rows                           */
        uint32_t stripes; /* pieces of a round: one for each stripe, or 1 where the only round has
                           * all rows */
    } mode[MAX_ORDER];
};

/* What is sent. */
struct device_row_sending {
    struct device_row_size size;
    bool counts;   /* as in struct row_systems_args               */
    uint64_t rows; /* of each stripe at a time; 0: as many as pay         */
};

/* Device memory of a part of this shape, at most. */
uint64_t device_row_rounds_bytes(const struct shape *shape, const struct device_row_size *size);

/* Accepts one rank. The caller closes *r, also after a failure. STATUS_MEMORY. */
enum status device_row_rounds_open(struct device_row_rounds *r, const struct rank_rows *ranks,
                                   const struct device_row_sending *sending, struct error *error);

/* Accepts an empty one. */
void device_row_rounds_close(struct device_row_rounds *r);

/* Where the ordering of mode n is cut: the pieces of the rounds, in the order of their rows; then
 * the own rows. The caller frees *cuts, also after a failure. STATUS_MEMORY. */
enum status device_row_rounds_cut(const struct device_row_rounds *r, const struct rank_rows *ranks,
                                  int n, struct device_row_cuts *cuts, struct error *error);

/* Steps of a pass over mode n, at most. */
uint64_t device_row_rounds_steps(const struct device_row_rounds *r, int n);

/* All steps of a pass that has begun, over an ordering that is cut so. Asynchronous; every rank
 * calls it. */
enum status device_row_rounds_pass(const struct device_row_rounds *r, struct device_ranks *ranks,
                                   struct device_row_systems *systems,
                                   const struct device_row_pass *pass, struct error *error);

#endif
