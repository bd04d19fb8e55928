/* Mode groups (mode_groups.h) of nonzeros on the device: tuples are counted and numbered there, so
 * that a tensor crosses the bus once, with mode groups or without. */
#pragma once

#include "backend/cuda/tensor/device_blco.h"
#include "plan/mode_groups.h"

/* As mode_groups_choose, with the tuples counted on the device. row_bytes: of a factor's row;
 * cache_bytes: of the L2 cache. Waits for the stream. STATUS_MEMORY. */
enum status device_mode_groups_choose(struct mode_groups *g, const struct device_coo *x,
                                      uint64_t row_bytes, uint64_t cache_bytes,
                                      struct error *error);

/* As struct grouped_tensor, for the mode groups of several modes; entries of other groups and modes
 * are empty. All arrays are of x's pool. */
struct device_grouped_tensor {
    struct device_coo tuples[MAX_ORDER]; /* per mode group: its modes, then the tuple's number;
                                          * sorted by the modes in turn, values one */
    uint32_t *coordinate[MAX_ORDER];     /* per mode: (tuples); device, owned                   */
};

/* As mode_groups_apply, but *x itself becomes the reduced tensor, in place where it can. Waits for
 * the stream. On failure *grouped is empty, and *x can only be freed. STATUS_MEMORY. */
enum status device_mode_groups_apply(struct device_grouped_tensor *grouped,
                                     const struct mode_groups *g, struct device_coo *x,
                                     struct error *error);

/* Hands everything back to `pool`. */
void device_mode_groups_free(struct device_grouped_tensor *g, const struct device_pool *pool);
