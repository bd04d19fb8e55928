/* The systems of all rows of a mode on the GPU (kernels/rows/row_systems.h): spans of the nonzeros,
 * the rows that spans share, and room for their parts. The ordering of the mode is in device memory
 * or is streamed. */
#ifndef BLCO_DEVICE_ROW_SYSTEMS_H
#define BLCO_DEVICE_ROW_SYSTEMS_H

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/rows/device_row_room.h"
#include "backend/cuda/rows/device_row_spans.h"
#include "backend/cuda/rows/device_row_stream.h"
#include "backend/cuda/stream/device_stream.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/rows/row_systems.h"

/* What a system has. */
struct device_row_size {
    uint64_t rank;
    bool matrix; /* as in struct row_systems_args */
};

/* Device arrays are owned. */
struct device_row_systems {
    struct device_row_size size;
    struct row_common common;
    struct device_row_spans mode[MAX_ORDER];
    struct device_row_room room;     /* for the mode with most spans; unless they are streamed */
    struct device_row_stream stream; /* ... or this */
};

/* Where the nonzeros are. */
struct device_row_source {
    int order;
    struct device_stream *stream; /* or NULL, and then:                                  */
    const struct device_tensor *tensor[MAX_ORDER]; /* [n]: the ordering of mode n, or NULL where
                                                    * the mode has none, as fixed modes     */
};

/* Device memory that device_row_systems_open takes for a tensor of so many nonzeros, about ... */
uint64_t device_row_systems_bytes(const struct device_row_size *size, uint64_t nnz);
/* ... where it is streamed, at most ... */
uint64_t device_row_systems_flow_bytes(int order, const struct device_row_size *size, uint64_t nnz);
/* ... and for each batch of an ordering in addition. */
uint64_t device_row_systems_batch_bytes(int order, const struct device_row_size *size);

/* size->rank: at most ROW_SYSTEMS_RANK. What *source refers to is borrowed and must outlive *s.
 * Reads what is streamed once. The caller closes *s, also after a failure. STATUS_MEMORY,
 * STATUS_INPUT where a streamed tensor is damaged. */
enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_row_source *source,
                                    const struct device_row_size *size, cudaStream_t stream,
                                    struct error *error);

/* No work on the device may use it any more. Accepts a zeroed one. */
void device_row_systems_close(struct device_row_systems *s);

/* How the rows of a mode are solved. */
struct device_row_rules {
    double unlisted; /* h */
    bool nonneg, counted;
    bool ridge;  /* it is not 0    */
    bool values; /* no row is solved */
    bool counts, weighed;
    double of_count;
};

/* f->m = the new rows of `mode`, whose old ones are f->factor[mode], from s->common; the totals.
 * Asynchronous. */
enum status device_row_systems_solve(struct device_row_systems *s, int mode,
                                     const struct device_factors *f,
                                     const struct device_row_rules *rules, cudaStream_t stream,
                                     struct error *error);

/* *sum (device) = the totals of the last pass over `mode`; values: no row was solved.
 * Asynchronous. */
enum status device_row_systems_totals(const struct device_row_systems *s, int mode, bool values,
                                      struct row_totals *sum, const struct row_model_args *model,
                                      cudaStream_t stream, struct error *error);

#endif
