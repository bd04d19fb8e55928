/* What a model that was only loaded weighs, where each row has a system of its own. */
#ifndef BLCO_DEVICE_ROW_WEIGHTS_H
#define BLCO_DEVICE_ROW_WEIGHTS_H

#include "backend/cuda/device_state.h"

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's; of counts, so that the entries that
 * count have their total. From a pass over the ordering of `mode`; waits. Does nothing where that
 * is done. STATUS_MEMORY, and failures of other ranks. */
enum status device_row_weights_fit(struct device_state *s, int mode, struct error *error);

#endif
