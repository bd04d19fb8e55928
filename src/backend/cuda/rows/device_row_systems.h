/* The systems of all rows of a mode on the GPU (kernels/rows/row_systems.h): spans of the nonzeros,
 * the rows that spans share, and room for their parts. */
#ifndef BLCO_DEVICE_ROW_SYSTEMS_H
#define BLCO_DEVICE_ROW_SYSTEMS_H

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/rows/row_systems.h"

/* Of one mode; device, owned. */
struct device_row_spans {
    const struct device_tensor *tensor; /* the ordering of the mode; borrowed; NULL: none */
    uint64_t *span;                     /* (spans + 1)      */
    uint32_t *block;                    /* (spans)          */
    uint32_t *continued;                /* (spans + 1)      */
    struct row_join *join;              /* (joins)        */
    uint32_t spans, joins;
};

/* Device arrays are owned. */
struct device_row_systems {
    uint32_t rank;
    struct row_common common;
    struct device_row_spans mode[MAX_ORDER];
    double *part;              /* of the mode with most spans */
    struct row_totals *totals; /* of spans and joins, of the mode with most */
    uint32_t *next;
};

/* Device memory that device_row_systems_open takes for a tensor of so many nonzeros, about. */
uint64_t device_row_systems_bytes(uint64_t rank, uint64_t nnz);

/* tensor[n] (order): the ordering of mode n, or NULL where the mode has none, as fixed modes. rank:
 * at most ROW_SYSTEMS_RANK. The caller closes *s, also after a failure. STATUS_MEMORY. */
enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_tensor *const *tensor, int order,
                                    uint64_t rank, cudaStream_t stream, struct error *error);

/* No work on the device may use it any more. Accepts a zeroed one. */
void device_row_systems_close(struct device_row_systems *s);

/* How the rows of a mode are solved. */
struct device_row_rules {
    double unlisted; /* h */
    bool nonneg, counted;
    bool ridge;        /* it is not 0    */
    bool only_squares; /* row_systems.h */
};

/* f->m = the new rows of `mode`, whose old ones are f->factor[mode], from s->common; s->totals.
 * Asynchronous. */
enum status device_row_systems_solve(struct device_row_systems *s, int mode,
                                     const struct device_factors *f,
                                     const struct device_row_rules *rules, cudaStream_t stream,
                                     struct error *error);

/* *sum (device) = the totals of the last pass over `mode`; *model (device, or NULL) as
 * row_totals_sum. Asynchronous. */
enum status device_row_systems_totals(const struct device_row_systems *s, int mode,
                                      bool only_squares, struct row_totals *sum,
                                      const double *lambda, double power, double *model,
                                      cudaStream_t stream, struct error *error);

#endif
