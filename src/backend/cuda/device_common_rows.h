/* The systems of common rows (row_deal.h), which several GPUs sum: every GPU leaves its systems in
 * an array, these are summed, and each GPU solves those of its stripe. It sends all others,
 * (R (R + 1) / 2 + 2 R) doubles a row: common rows are few, or all rows of modes that are short
 * beside another one. */
#ifndef BLCO_DEVICE_COMMON_ROWS_H
#define BLCO_DEVICE_COMMON_ROWS_H

#include "backend/cuda/device_ranks.h"
#include "backend/cuda/rows/device_row_systems.h"

struct device_common_rows {
    const struct rank_rows *ranks; /* borrowed                                               */
    double *sent; /* (ranks x rows x length) of the mode with most; device, owned             */
    uint64_t rows[MAX_ORDER]; /* [n]: of each stripe of mode n, at most                       */
    uint32_t length;          /* numbers of a system                                          */
    bool least;               /* each rank sends the least value of a row                     */
};

/* Device memory that they take for a tensor of this shape, about. */
uint64_t device_common_rows_bytes(const struct shape *shape, const struct device_row_size *size);

/* Accepts one rank. counts: as in struct row_systems_args. The caller closes *c, also after a
 * failure. STATUS_MEMORY. */
enum status device_common_rows_open(struct device_common_rows *c, const struct rank_rows *ranks,
                                    const struct device_row_size *size, bool counts,
                                    struct error *error);

/* Accepts an empty one. */
void device_common_rows_close(struct device_common_rows *c);

/* Where the ordering of mode n is cut: the common rows of each stripe and, as one piece, the rows
 * whose nonzeros this rank has, in the order of their rows. The caller frees *cuts, also after a
 * failure. STATUS_MEMORY. */
enum status device_common_rows_cut(const struct device_common_rows *c, int n,
                                   struct device_row_cuts *cuts, struct error *error);

/* All steps of a pass that has begun, over an ordering that is cut so; they are at most one more
 * than the cuts. Asynchronous; every rank calls it. */
enum status device_common_rows_pass(const struct device_common_rows *c, struct device_ranks *ranks,
                                    struct device_row_systems *systems,
                                    const struct device_row_pass *pass, struct error *error);

#endif
