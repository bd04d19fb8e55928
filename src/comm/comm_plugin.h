/* The interface of the plugin blco-mpi.so: one object, comm_plugin. The plugin uses functions of
 * the program and must be of the same version. Implemented in comm_mpi.c. */
#pragma once

#include <stdbool.h>

#include "comm/comm.h"

struct comm_plugin {
    const char *version; /* as version_text of the program */

    /* Initialises MPI. `place` is the rank of this process according to the launcher; `patience` is
     * comm_world's. *c = the communicator of all processes; NULL on failure. STATUS_INTERNAL,
     * STATUS_MEMORY. From then on the end of this process ends all processes after comm_abort, and
     * after a failure that not all ranks have. */
    enum status (*init)(struct comm **c, double patience, int place, struct error *error);

    /* After `init` was called: whether the end of this process, if it fails, ends all processes. */
    bool (*ends_all)(void);

    /* After the world was finalized: whether this process prints its failure. Where all processes
     * have failed, the lowest one prints. */
    bool (*tells)(void);
};

extern const struct comm_plugin comm_plugin __attribute__((visibility("default")));
