/* Groups of modes (mode_groups.h) for nonzeros that are on the device: tuples are counted and
 * numbered there, so that a tensor goes over once, whether modes are grouped or not. */
#ifndef BLCO_DEVICE_MODE_GROUPS_H
#define BLCO_DEVICE_MODE_GROUPS_H

#include "backend/cuda/tensor/device_blco.h"
#include "plan/mode_groups.h"

/* As mode_groups_choose, with exact counts. Waits for the stream. */
enum status device_mode_groups_choose(struct mode_groups *g, const struct device_coo *x,
                                      uint64_t row_bytes, uint64_t cache_bytes,
                                      struct error *error);

/* As struct grouped_tensor, of the groups of several modes; everything else is empty. All arrays
 * are x's pool's. */
struct device_grouped_tensor {
    struct device_coo tuples[MAX_ORDER]; /* per group: its modes, then the tuple's number; sorted by
                                          * the modes in turn, values one                       */
    uint32_t *coordinate[MAX_ORDER];     /* per mode: (tuples); device, owned                   */
};

/* As mode_groups_apply, but *x itself becomes the reduced tensor, in place where it can. Waits for
 * the stream. On failure *out is empty and *x is of no use any more but to be freed. */
enum status device_mode_groups_apply(struct device_grouped_tensor *out, const struct mode_groups *g,
                                     struct device_coo *x, struct error *error);

/* Hands everything back to `pool`. */
void device_mode_groups_free(struct device_grouped_tensor *g, const struct device_pool *pool);

#endif
