/* The modes' own orderings of a tensor that is streamed from one alto copy. They are built on the
 * device when a mode is asked for the second time: so the first iteration starts at once, and
 * whoever asks only once does not wait for them. */
#ifndef BLCO_DEVICE_REPLICA_H
#define BLCO_DEVICE_REPLICA_H

#include <stdbool.h>

#include "device_staging.h"
#include "device_stream.h"

struct device_replicas {
    bool wanted;               /* and not yet tried */
    bool asked[MAX_ORDER];     /* each mode         */
    uint64_t host_bytes;       /* that they may take in host memory                            */
    uint64_t piece_nnz;        /* nonzeros of a piece (device_replica_build.h); 0: as many as fit */
    struct staging *staging;   /* borrowed                                                     */
    bool failed[MAX_ORDER];    /* modes for which there was not enough memory                  */
    double seconds[MAX_ORDER]; /* that building took; 0 where it was not built               */
};

/* Notes that `mode` is asked for; whether the orderings are to be built first. */
bool device_replicas_due(struct device_replicas *r, int mode);

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
