/* From nonzeros to the orderings of a sweep: in device memory, with mode groups or without, or
 * packed in host memory, from where they are streamed. */
#pragma once

#include "backend/backend_kind.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_replica.h"
#include "backend/cuda/stream/device_stream.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "plan/sweep_steps.h"

struct device_orderings {
    struct shape shape; /* of the nonzeros that are here                                         */
    uint64_t nnz;       /* of it; where rows are dealt, of the ordering of the first mode         */
    double norm_sq;     /* ||X||^2, of all ranks                                                 */
    struct plan plan;   /* that was followed                                                     */
    struct sweep sweep; /* what of it is built in device memory, and the steps to M              */
    struct device_pool pool; /* for building the tensors, some of which stay in it; owned */

    /* The reduced tensor, per group; an ordering that was not built is empty. */
    struct device_tensor alto, ordered[MAX_ORDER];
    uint64_t tuples[MAX_ORDER]; /* of the group, or the length of its only mode                  */
    void *product[MAX_ORDER];   /* (tuples x row): products of the group's factors; owned        */
    void *partial[MAX_ORDER];   /* (tuples x row): partial products for the group; owned         */

    /* The tuples of groups of several modes, per mode. */
    struct device_tensor tuple_tensor[MAX_ORDER];
    uint32_t *coordinate[MAX_ORDER]; /* (tuples); device, owned */

    /* Where plan.streamed, instead of the tensors above. */
    struct device_stream stream;
    struct device_replicas replicas;

    struct backend_seconds seconds; /* of the stages */
};

/* Builds what the plan asks for, with shared partial products where they pay; or less where the
 * device has less room than the plan assumed: o->plan is what was built. The source is only read,
 * through `staging`, whose device and stream all work uses and which must outlive *o. A source
 * without nonzeros has nothing to build. On failure *o is empty. STATUS_MEMORY, STATUS_INPUT where
 * a file is damaged, STATUS_INTERNAL. */
enum status device_orderings_build(struct device_orderings *o, const struct tensor_source *source,
                                   const struct plan *plan, struct device_staging *staging,
                                   struct progress *progress, struct error *error);

/* Waits for the device. Accepts an empty one. */
void device_orderings_free(struct device_orderings *o);
