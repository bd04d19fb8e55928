/* Builds a replica of a streamed tensor, its ordering `mode n`, on the device, from the ordering
 * that flows. The device has room for one replica piece at a time: the batches that can have
 * nonzeros of its rows are decoded, those nonzeros are sorted and packed, and go back to host
 * memory as segments. */
#ifndef BLCO_DEVICE_REPLICA_BUILD_H
#define BLCO_DEVICE_REPLICA_BUILD_H

#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_row_counts.h"
#include "backend/cuda/stream/device_stream.h"

struct device_replica_request {
    int mode;              /* the n of `mode n`                                                */
    int original;          /* the stream's ordering to build from                              */
    uint64_t device_bytes; /* that building may take                                           */
    uint64_t host_bytes;   /* that the packed replica and `counts` may take                    */
    uint64_t piece_nnz; /* nonzeros of a replica piece at most; 0: as many as there is room for */
    struct device_staging *staging; /* on the stream that all work runs on; borrowed           */
    /* Counts for the builds of several modes, or NULL. If one build needs counts, those of all
     * modes without a replica are made, if there is memory; a build frees the counts of its mode.
     * Borrowed. */
    struct device_row_counts *counts;
};

/* Device memory for building the ordering from all nonzeros at once. */
enum status device_replica_build_bytes(const struct device_stream *s,
                                       const struct device_replica_request *q, uint64_t *bytes,
                                       struct error *error);

/* About what building takes. */
struct device_replica_cost {
    uint64_t pieces;    /* replica pieces                                                 */
    uint64_t counting;  /* bytes to the device for counting rows: once for all modes      */
    uint64_t to_device; /* bytes to the device for the replica pieces                     */
    uint64_t to_host;   /* bytes that come back                                           */
    uint64_t decoded;   /* nonzeros decoded for the replica pieces; nnz of them are sorted */
};

/* Estimates the cost before building, without any work on the device. Batches of the original that
 * stay on the device now are not counted as sent. STATUS_MEMORY where there is no room for a
 * replica piece. */
enum status device_replica_build_cost(struct device_replica_cost *cost, struct device_stream *s,
                                      const struct device_replica_request *q, struct error *error);

/* Builds the ordering into *replica, which the caller frees: the bytes of packed_tensor_build with
 * the original's segment_nnz, except that checksums of segments are 0. The original's coordinates
 * must have been checked (device_packed_tensor.h). Waits until all is done. On failure *replica is
 * empty. STATUS_MEMORY where memory is too short, or a row has more nonzeros than a replica piece;
 * STATUS_INPUT where the original's segments are not in its order. */
enum status device_replica_build(struct packed_tensor *replica, struct device_stream *s,
                                 const struct device_replica_request *q, struct error *error);

#endif
