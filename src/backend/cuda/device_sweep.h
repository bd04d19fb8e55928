/* The MTTKRPs of a sweep on the device, as sweep_steps.h decides them: from one ordering for each
 * mode group, with shared partial products, or from one for each mode, or from alto; or from
 * streamed orderings in host memory. */
#pragma once

#include <stdbool.h>

#include "backend/backend_kind.h"
#include "backend/cuda/device_orderings.h"
#include "backend/cuda/mttkrp/device_mttkrp.h"

/* Bytes of a row of R entries of a factor matrix: whole vectors. */
static inline uint64_t device_row_bytes(uint64_t rank, enum precision precision)
{
    uint64_t bytes = rank * precision_bytes(precision);
    return (bytes + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
}

struct device_sweep {
    struct device_orderings orderings;
    bool is_empty; /* no nonzero is here, and no ordering                                    */
    struct device_factors factors; /* of the tensor's modes, and M; with room for whole stripes
                                    * (device_ranks_rows); owned */
    struct device_mttkrp reduced[MAX_ORDER]; /* of the reduced tensor, per group             */
    struct device_mttkrp within[MAX_ORDER];  /* of the tuples of groups of several, per mode */
};

/* Builds what the plan asks for, or less where the device has less room (s->orderings.plan is what
 * was built), and allocates factors and M. The source is only read, through `staging`, whose device
 * and stream all work uses and which must outlive *s. On failure *s is empty. Errors as
 * device_orderings_build. */
enum status device_sweep_open(struct device_sweep *s, const struct tensor_source *source,
                              const struct plan *plan, struct device_staging *staging,
                              struct progress *progress, struct error *error);

/* Accepts an empty one. */
void device_sweep_close(struct device_sweep *s);

/* s->factors.m = M of `mode`. Asynchronous, unless the modes' orderings of a streamed tensor are
 * built first. STATUS_INPUT as device_stream_mttkrp. */
enum status device_sweep_mttkrp(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error);

/* *kernel = what computes this mode; not `chosen` while orderings are still to be built. */
void device_sweep_kernel(const struct device_sweep *s, int mode,
                         struct backend_mttkrp_kernel *kernel);

/* The factor of `mode` has changed. */
void device_sweep_changed(struct device_sweep *s, int mode);

/* From now on factor matrices have this precision and so many vectors a row, for which there is
 * room; the fastest kernel variants are found anew. */
void device_sweep_set_precision(struct device_sweep *s, enum precision precision, uint32_t vectors);
