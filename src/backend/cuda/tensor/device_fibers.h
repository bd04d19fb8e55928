/* How many fibers, or other tuples of coordinates, the nonzeros on the device have, for
 * plan/fiber_choice.h and plan/cache_tile_choice.h. */
#ifndef BLCO_DEVICE_FIBERS_H
#define BLCO_DEVICE_FIBERS_H

#include "backend/cuda/tensor/device_coo.h"

/* fibers[n] (order) = the number of fibers along mode n of x, estimated from a sample. The same
 * nonzeros give the same numbers. Waits for the stream. STATUS_MEMORY. */
enum status device_fibers_count(double *fibers, const struct device_coo *x, struct error *error);

/* The same for any kinds of tuples: tuples[k] (kinds) = their number. */
enum status device_fibers_count_parts(double *tuples, const struct tuples_parts *parts,
                                      const struct device_coo *x, struct error *error);

#endif
