/* The systems of the rows of modes whose orderings are streamed: each batch is a piece. Its rows
 * are solved while it is there, except for those that it shares with other pieces: their parts are
 * kept until the pass ends, and then joined in the order of the pieces, so that results repeat bit
 * for bit. */
#ifndef BLCO_DEVICE_ROW_STREAM_H
#define BLCO_DEVICE_ROW_STREAM_H

#include "backend/cuda/rows/device_row_room.h"
#include "backend/cuda/rows/device_row_spans.h"
#include "backend/cuda/stream/device_stream.h"

struct device_row_stream {
    struct device_stream *from; /* borrowed; NULL: orderings are in device memory     */
    struct device_row_room workspace[PLAN_WORKSPACES]; /* for spans of the largest piece */
    struct device_row_room pieces; /* for as many pieces as a mode has, in place of spans */
};

/* Room for the pieces of all modes of `from`; span_bytes: of device_row_room. The caller closes *s,
 * also after a failure. STATUS_MEMORY. */
enum status device_row_stream_open(struct device_row_stream *s, struct device_stream *from,
                                   const struct device_row_spans *modes, uint64_t span_bytes,
                                   struct error *error);

/* Accepts a zeroed one. */
void device_row_stream_close(struct device_row_stream *s);

/* A pass over the mode of d. args: what is the same for all pieces; values: no row is solved.
 * Asynchronous. */
cudaError_t device_row_stream_pass(struct device_row_stream *s, const struct device_row_spans *d,
                                   const struct row_systems_args *args, bool values,
                                   cudaStream_t stream);

/* *args for the pieces' totals, and for the rows that they share. */
void device_row_stream_args(const struct device_row_stream *s, const struct device_row_spans *d,
                            struct row_systems_args *args);

#endif
