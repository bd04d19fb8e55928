/* From nonzeros to the orderings of a sweep: in device memory, with groups of modes or without, or
 * packed on the host. Used by device_sweep.c alone. */
#ifndef BLCO_DEVICE_SWEEP_BUILD_H
#define BLCO_DEVICE_SWEEP_BUILD_H

#include "backend/cuda/device_sweep.h"

/* Builds s's tensors or its stream, as the plan says, with shared partial products where they pay;
 * less, as *plan says then, where the device has less room than the plan thought. s has its shape
 * and the length of a row; what a failure leaves is the caller's to free. */
enum status device_sweep_build(struct device_sweep *s, const struct tensor_source *source,
                               struct plan *plan, struct device_staging *staging,
                               struct progress *progress, struct error *error);

/* Waits for the device. Accepts a zeroed sweep. */
void device_sweep_free_tensors(struct device_sweep *s);

#endif
