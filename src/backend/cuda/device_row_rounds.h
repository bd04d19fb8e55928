/* The systems of common rows (row_deal.h), which several GPUs sum. In each round every GPU leaves
 * its systems of some common rows of every stripe in an array, these are summed, and each GPU
 * solves those of its stripe. Each GPU sends all systems but those of its stripe,
 * (R (R + 1) / 2 + 2 R) doubles a row; common rows are few, and have many nonzeros. */
#ifndef BLCO_DEVICE_ROW_ROUNDS_H
#define BLCO_DEVICE_ROW_ROUNDS_H

#include "backend/cuda/device_ranks.h"
#include "backend/cuda/rows/device_row_systems.h"

struct device_row_rounds {
    double *sent; /* (peers x rows x length) of the mode with most; device, owned */
    struct device_row_round {
        bool least;      /* each peer sends the least value of a row              */
        uint32_t length; /* numbers of a system                                   */
        uint64_t rows;   /* of each stripe at a time                              */
        uint32_t rounds; /* 0: there are no common rows                           */
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

/* Where the ordering of mode n is cut: the pieces of the rounds and, as one piece, the rows whose
 * nonzeros this rank has, in the order of their rows. The caller frees *cuts, also after a failure.
 * STATUS_MEMORY. */
enum status device_row_rounds_cut(const struct device_row_rounds *r, const struct rank_rows *ranks,
                                  int n, struct device_row_cuts *cuts, struct error *error);

/* Steps of a pass over mode n, at most. */
uint64_t device_row_rounds_steps(const struct device_row_rounds *r, const struct rank_rows *ranks,
                                 int n);

/* All steps of a pass that has begun, over an ordering that is cut so. Asynchronous; every rank
 * calls it. */
enum status device_row_rounds_pass(const struct device_row_rounds *r, struct device_ranks *ranks,
                                   struct device_row_systems *systems,
                                   const struct device_row_pass *pass, struct error *error);

#endif
