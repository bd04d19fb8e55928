/* Building an ordering `mode n` of a tensor that is streamed, on the device, from the copy of it
 * that flows: for every piece that the device has room for, the batches that can have nonzeros of
 * its rows pass by, and these are sorted and packed there, and go back to host memory as segments.
 */
#ifndef BLCO_DEVICE_REPLICA_BUILD_H
#define BLCO_DEVICE_REPLICA_BUILD_H

#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_row_counts.h"
#include "backend/cuda/stream/device_stream.h"

struct device_replica_request {
    int mode;              /* whose rows stand together                                       */
    int source;            /* the stream's ordering to build from                             */
    uint64_t device_bytes; /* that building may take                                          */
    uint64_t host_bytes;   /* that the packed ordering and `counts` may take                  */
    uint64_t piece_nnz;    /* nonzeros of a piece at most; 0: as many as there is room for    */
    struct device_staging *staging; /* on the stream that everything runs on */
    struct device_row_counts
        *counts; /* what the builds of several modes share, or NULL: where one of
                  * them needs its rows counted, those of all modes that have no
                  * ordering are, memory allowing; the mode's own are freed       */
};

/* Device memory for building the ordering from all nonzeros at once. */
enum status device_replica_build_bytes(const struct device_stream *s,
                                       const struct device_replica_request *q, uint64_t *bytes,
                                       struct error *error);

/* What building takes, about. */
struct device_replica_cost {
    uint64_t pieces;
    uint64_t counting;  /* bytes that go to the device for counting rows: once for all modes */
    uint64_t to_device; /* bytes that go to the device for the pieces                        */
    uint64_t to_host;   /* bytes that come back                                              */
    uint64_t decoded;   /* nonzeros that pass by for the pieces, of which nnz are sorted     */
};

/* Without any work on the device, before building; of the source's batches, those that stay there
 * now are not sent. STATUS_MEMORY where there is no room for a piece. */
enum status device_replica_build_cost(struct device_replica_cost *cost, struct device_stream *s,
                                      const struct device_replica_request *q, struct error *error);

/* Builds it into *replica, the caller's to free; the bytes are those of packed_tensor_build with
 * the source's segment_nnz, the segments' checksums are 0. The source's coordinates must have been
 * seen to be below the lengths. Waits until all is done. On failure *replica is empty.
 * STATUS_MEMORY where there is not enough memory, or a row has more nonzeros than a piece;
 * STATUS_INPUT where the source's segments do not stand in its order. */
enum status device_replica_build(struct packed_tensor *replica, struct device_stream *s,
                                 const struct device_replica_request *q, struct error *error);

#endif
