/* Orderings of a tensor that is larger than the device: packed in host memory. */
#ifndef BLCO_DEVICE_ORDERINGS_STREAMED_H
#define BLCO_DEVICE_ORDERINGS_STREAMED_H

#include "backend/cuda/device_orderings.h"

/* Opens o->stream as o->plan, which is streamed, says, and fills o->seconds. What fits stays on the
 * device. A file whose segments are larger than the plan's batches is unpacked. STATUS_MEMORY. */
enum status device_orderings_stream(struct device_orderings *o, const struct tensor_source *source,
                                    struct device_staging *staging, struct progress *progress,
                                    struct error *error);

#endif
