/* The MTTKRPs of a sweep over all modes on the device: from one ordering per group of modes, with
 * partial products shared within a group (mode_groups.h), or from one ordering per mode, or from
 * alto; where the plan says so, from orderings that stay on the host and flow. */
#ifndef BLCO_DEVICE_SWEEP_H
#define BLCO_DEVICE_SWEEP_H

#include <stdbool.h>

#include "backend/cuda/mttkrp/device_mttkrp.h"
#include "backend/cuda/stream/device_replica.h"
#include "backend/cuda/stream/device_stream.h"
#include "plan/partial_cache.h"

struct device_sweep {
    struct shape shape;
    double norm_sq; /* ||X||^2 */
    struct mode_groups mode_groups;
    struct device_factors factors; /* of the tensor's modes, and M; owned */
    struct device_pool pool;       /* what the tensors were built in, and some stay in; owned */

    /* The reduced tensor, per group. */
    struct device_tensor alto, ordered[MAX_ORDER];
    struct device_mttkrp outer[MAX_ORDER];
    uint64_t tuples[MAX_ORDER];  /* the group's, or the length of its one mode                   */
    void *product[MAX_ORDER];    /* (tuples x row): products of the group's factors; owned        */
    void *partial[MAX_ORDER];    /* (tuples x row): partial products for the group; owned         */
    struct partial_cache tables; /* which of them are current                                 */

    /* The tuples of groups of several modes, per mode. */
    struct device_tensor tuple_tensor[MAX_ORDER];
    struct device_mttkrp inner[MAX_ORDER];
    uint32_t *coordinate[MAX_ORDER]; /* (tuples); device, owned */

    bool streamed; /* from this instead of the tensors above */
    struct device_stream stream;
    struct device_replicas replicas;

    struct backend_build build; /* seconds of its stages */
};

/* Builds what the plan asks for, or less where the device has less room (*plan says then what was
 * built), and allocates factors and M; rows have `vectors` 16-byte vectors. The source is only
 * read, by way of `staging`, whose stream everything runs on. On failure *s is empty. */
enum status device_sweep_open(struct device_sweep *s, const struct tensor_source *source,
                              struct plan *plan, uint32_t vectors, struct device_staging *staging,
                              struct progress *progress, struct error *error);
void device_sweep_close(struct device_sweep *s);

/* Bytes of a row of a factor. */
uint64_t device_sweep_row_bytes(const struct device_sweep *s);

/* Whether modes share partial products. The plan's conflicts are per mode; where none do, they are
 * per group too. */
bool device_sweep_is_shared(const struct device_sweep *s);

/* s->factors.m = M of `mode`. Asynchronous, but where the modes' orderings of a streamed tensor are
 * built first. STATUS_INPUT as device_stream_mttkrp. */
enum status device_sweep_mttkrp(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error);

/* Names the kernels that compute this mode, into text; false while others are still to be tried, or
 * orderings to be built. */
bool device_sweep_describe(const struct device_sweep *s, int mode, char *text, size_t size);

/* Bytes that cross the bus for one MTTKRP of this mode. */
uint64_t device_sweep_bus_bytes(const struct device_sweep *s, int mode);

/* To be said whenever the factor of `mode` has changed. */
void device_sweep_changed(struct device_sweep *s, int mode);

#endif
