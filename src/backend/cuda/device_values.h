/* The values of the model on the device. */
#ifndef BLCO_DEVICE_VALUES_H
#define BLCO_DEVICE_VALUES_H

#include "backend/cuda/device_state.h"

/* weight (R, host) = lambda over the norms of all modes' columns: what the products of the factor
 * matrices' entries are multiplied by. Waits. */
enum status device_values_weights(struct device_state *s, double *weight, struct error *error);

#endif
