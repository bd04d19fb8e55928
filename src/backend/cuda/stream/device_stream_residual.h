/* The residual's pass over the nonzeros of a streamed tensor. */
#ifndef BLCO_DEVICE_STREAM_RESIDUAL_H
#define BLCO_DEVICE_STREAM_RESIDUAL_H

#include "backend/cuda/stream/device_stream.h"
#include "kernels/residual/residual.h"

/* Adds the sums of residual_nonzeros for every batch to sum (PLAN_WORKSPACES x RESIDUAL_BLOCKS,
 * device). args has the weights, the rows of each mode's factor matrix, and the sizes; the other
 * members are set here. Asynchronous. */
enum status device_stream_residual(struct device_stream *s, const struct residual_args *args,
                                   struct double_double *sum, cudaStream_t stream,
                                   struct error *error);

#endif
