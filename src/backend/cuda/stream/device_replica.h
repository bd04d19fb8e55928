/* Replicas of a tensor that is streamed from one alto copy: each mode's own ordering, built on the
 * device after a sweep, when that pays (replica_choice.h). So the first iteration starts at once,
 * and a run of few iterations does not wait for replicas. */
#ifndef BLCO_DEVICE_REPLICA_H
#define BLCO_DEVICE_REPLICA_H

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

#endif
