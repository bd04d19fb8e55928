/* Replicas of a tensor that is streamed from one alto copy: each mode's own ordering, built on the
 * device after a sweep, when that pays (replica_choice.h). So the first iteration starts at once,
 * and a run of few iterations does not wait for replicas. Implemented in device_replica.c
 * and device_replica_build.c. */
#pragma once

#include <stdbool.h>

#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_stream.h"
#include "plan/replica_choice.h"

struct device_replicas {
    bool wanted;           /* replicas are to be built; false once that was tried       */
    bool at_once;          /* build them as soon as a mode is asked for again           */
    bool asked[MAX_ORDER]; /* the mode was asked for                                    */
    int first;             /* mode: when it is asked for again, a sweep is over         */
    struct replica_choice choice;
    bool estimated;                 /* `choice` has its estimates                       */
    uint64_t host_bytes;            /* of host memory that replicas may take            */
    uint64_t piece_nnz;             /* as in struct device_replica_request              */
    struct device_staging *staging; /* borrowed                                         */
    bool failed[MAX_ORDER];         /* there was not enough memory for the mode's own   */
    double seconds[MAX_ORDER];      /* that building took; 0 where none was built       */
};

/* Notes that `mode` is asked for; *due = whether replicas are to be built before. At the end of a
 * sweep it may wait for queued work. */
enum status device_replicas_due(struct device_replicas *r, struct device_stream *s, int mode,
                                bool *due, struct error *error);

/* Whether no replica will be built, or none soon. */
bool device_replicas_decided(const struct device_replicas *r);

/* Builds a replica for every mode of the stream that has none, on the staging's stream; a mode for
 * which memory is too short stays with alto. Checks alto's coordinates first. Then the device's
 * room is divided anew, and alto is freed if no mode needs it. Waits until all is done.
 * STATUS_INPUT: a coordinate is beyond its mode. STATUS_INTERNAL, and other errors of the device:
 * the stream can then only be closed. */
enum status device_replicas_build(struct device_replicas *r, struct device_stream *s,
                                  struct error *error);

/* Appends to text[0..size) why a mode has no replica, where building one was tried: "..., no room
 * for its own ordering". */
void device_replicas_describe(const struct device_replicas *r, int mode, char *text, size_t size);

/* How many nonzeros each row of a streamed tensor's modes has, counted on the device in one pass
 * over all batches. */
struct device_row_counts {
    uint32_t *count[MAX_ORDER]; /* (I_n) each, modulo 2^32; NULL: not counted; owned */
};

/* Counts the nonzeros of each row of the modes that are `wanted` (order), from the stream's
 * ordering `original`; replaces older counts. Takes four bytes a row, on the device too while it
 * runs. Waits until all is done. After a failure none of these modes has counts. STATUS_MEMORY. */
enum status device_row_counts_create(struct device_row_counts *c, const bool *wanted,
                                     struct device_stream *s, int original, cudaStream_t stream,
                                     struct error *error);

/* Bytes that counts of the rows of the wanted modes take. */
uint64_t device_row_counts_bytes(const struct device_stream *s, const bool *wanted);

/* Accepts an empty one. */
void device_row_counts_free(struct device_row_counts *c);

/* A replica to be built, from the ordering that flows. The device has room for one replica piece at
 * a time: the batches that can have nonzeros of its rows are decoded, those nonzeros are sorted and
 * packed, and go back to host memory as segments. */
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
