/* The modes' own orderings of a tensor that is streamed from one alto copy. They are built on the
 * device after a sweep, when that pays (replica_choice.h): so the first iteration starts at once,
 * and a run of few iterations does not wait for them. */
#ifndef BLCO_DEVICE_REPLICA_H
#define BLCO_DEVICE_REPLICA_H

#include <stdbool.h>

#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_stream.h"
#include "plan/replica_choice.h"

struct device_replicas {
    bool wanted;           /* and not yet tried                                            */
    bool at_once;          /* when a mode is asked for the second time                     */
    bool asked[MAX_ORDER]; /* each mode                                                    */
    int first;             /* mode: a sweep is over when it is asked for again             */
    struct replica_choice choice;
    bool estimated;      /* choice has its estimates                                     */
    uint64_t host_bytes; /* that they may take in host memory                            */
    uint64_t piece_nnz;  /* nonzeros of a piece (device_replica_build.h); 0: as many as fit */
    struct device_staging *staging; /* borrowed */
    bool failed[MAX_ORDER];    /* modes for which there was not enough memory                  */
    double seconds[MAX_ORDER]; /* that building took; 0 where it was not built               */
};

/* Notes that `mode` is asked for; *due says whether the orderings are to be built first. At the end
 * of a sweep it may wait for what was queued. */
enum status device_replicas_due(struct device_replicas *r, struct device_stream *s, int mode,
                                bool *due, struct error *error);

/* Whether nothing will be built, or not soon. */
bool device_replicas_settled(const struct device_replicas *r);

/* Builds an ordering for every mode of the stream that has none, by way of the staging's stream; a
 * mode for which memory is too short stays with alto. The device's room is then shared anew, and
 * alto freed where no mode needs it. Waits until all is done. Errors are those of the device; the
 * stream can then only be closed. */
enum status device_replicas_build(struct device_replicas *r, struct device_stream *s,
                                  struct error *error);

/* Appends to text[0..size) why a mode has none, where that was tried: "..., no room for its own
 * ordering". */
void device_replicas_describe(const struct device_replicas *r, int mode, char *text, size_t size);

#endif
