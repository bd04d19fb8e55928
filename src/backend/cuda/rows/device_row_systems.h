/* The systems of all rows of a mode on the GPU (kernels/rows/row_systems.h): chunks of the
 * nonzeros, the rows that chunks share, and room for their parts. The ordering of the mode is in
 * device memory or is streamed. */
#pragma once

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/rows/device_row_chunks.h"
#include "backend/cuda/stream/device_stream.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/rows/row_systems.h"

/* What a system has. */
struct device_row_size {
    uint64_t rank;
    bool matrix; /* as in struct row_systems_args */
};

/* Of modes whose orderings are streamed: each batch is a piece. Its rows are solved while it is
 * there, except for those that it shares with other pieces: their parts are kept until the pass
 * ends, and then joined in the order of the pieces, so that results repeat bit for bit. */
struct device_row_stream {
    struct device_stream *from; /* borrowed; NULL: orderings are in device memory     */
    struct chunk_room workspace[PLAN_WORKSPACES]; /* for chunks of the largest piece */
    struct chunk_room pieces; /* for as many pieces as a mode has, in place of chunks */
};

/* Device arrays are owned. */
struct device_row_systems {
    struct device_row_size size;
    struct row_common common;
    struct device_row_chunks mode[MAX_ORDER];
    struct chunk_room room;          /* for the mode with most chunks; unless they are streamed */
    struct device_row_stream stream; /* ... or this */
    uint32_t totals;                 /* that the last pass has left so far                   */
};

/* Where the nonzeros are. */
struct device_row_source {
    int order;
    struct device_stream *stream; /* or NULL, and then:                                  */
    const struct device_tensor *tensor[MAX_ORDER]; /* [n]: the ordering of mode n, or NULL where
                                                    * the mode has none, as fixed modes     */
    const struct device_row_cuts *cuts; /* (order): of these; NULL: each is one piece        */
    uint64_t sums; /* rows that device_row_systems_take solves at a time, at most          */
};

/* Sets what device_row_systems_open takes of device memory for the request's tensor, about: in
 * device memory, streamed, and for each batch of an ordering in addition. */
void device_row_systems_plan(const struct device_row_size *size, struct plan_request *request);

/* size->rank: at most ROW_SYSTEMS_RANK. What *source refers to is borrowed and must outlive *s.
 * Reads what is streamed once. The caller closes *s, also after a failure. STATUS_MEMORY,
 * STATUS_INPUT where a streamed tensor is damaged. */
enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_row_source *source,
                                    const struct device_row_size *size, cudaStream_t stream,
                                    struct error *error);

/* No work on the device may use it any more. Accepts a zeroed one. */
void device_row_systems_close(struct device_row_systems *s);

/* A pass over the rows of a mode. */
struct device_row_pass {
    int mode;
    cudaStream_t stream;
    bool values;                  /* no row is solved                */
    struct row_systems_args args; /* set by device_row_systems_begin */
};

/* Begins a pass, whose mode, stream and values are set: f->m will be the new rows of the mode,
 * whose old ones are f->factor[mode], from s->common. Asynchronous, as what follows. */
enum status device_row_systems_begin(struct device_row_systems *s, const struct device_factors *f,
                                     const struct row_rules *rules, struct device_row_pass *pass,
                                     struct error *error);

/* The rows of piece p; of a streamed ordering, which has one piece here, all rows. sent: NULL, or
 * where the rows leave their systems; these leave no totals. */
enum status device_row_systems_piece(struct device_row_systems *s,
                                     const struct device_row_pass *pass, uint32_t p,
                                     const struct row_sent *sent, struct error *error);

/* `rows` rows from sent->first on, from the sums of their systems. */
enum status device_row_systems_take(struct device_row_systems *s,
                                    const struct device_row_pass *pass, const struct row_sent *sent,
                                    uint64_t rows, struct error *error);

/* *sum (device) = the totals of the last pass. Asynchronous. */
enum status device_row_systems_totals(const struct device_row_systems *s, struct row_totals *sum,
                                      const struct row_model_args *model, cudaStream_t stream,
                                      struct error *error);
