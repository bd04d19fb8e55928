/* Building an ordering `mode n` of a tensor that is streamed, on the device, from the copy of it
 * that flows: its nonzeros pass by once for every piece that the device has room for, are sorted
 * and packed there, and go back to host memory as segments. */
#ifndef BLCO_DEVICE_REPLICA_BUILD_H
#define BLCO_DEVICE_REPLICA_BUILD_H

#include "device_staging.h"
#include "device_stream.h"

struct replica_request {
    int mode;                /* whose rows stand together                                       */
    int source;              /* the stream's ordering to build from                             */
    uint64_t device_bytes;   /* that building may take                                          */
    uint64_t host_bytes;     /* that the packed ordering may take                               */
    uint64_t piece_nnz;      /* nonzeros of a piece at most; 0: as many as there is room for    */
    struct staging *staging; /* on the stream that everything runs on                         */
};

/* Device memory for building the ordering from all nonzeros at once. */
enum status device_replica_bytes(const struct device_stream *s, const struct replica_request *q,
                                 uint64_t *bytes, struct error *error);

/* Builds it into *replica, the caller's to free; the bytes are those of packed_build with the
 * source's segment_nnz, the segments' checksums are 0. The source's coordinates must have been seen
 * to be below the lengths. Waits until all is done. On failure *replica is empty. STATUS_MEMORY
 * where there is not enough memory, or a row has more nonzeros than a piece. */
enum status device_replica_build(struct packed *replica, struct device_stream *s,
                                 const struct replica_request *q, struct error *error);

#endif
