/* The processes that a launcher (mpirun, srun) has started to work together. Their number is in the
 * environment; MPI itself is in a plugin, the shared object blco-mpi.so, so that a process without
 * others never loads MPI. */
#pragma once

#include <stdbool.h>

#include "comm/comm.h"

/* How many processes the launcher has started, and which of them this process is, from 0; 1 and 0
 * without a launcher. Read from the environment. */
int comm_world_size(void);
int comm_world_rank(void);

/* Whether this process is one of several. */
bool comm_world_expected(void);

/* *c = the communicator of all processes, or, in a process without others, that of comm_self. The
 * caller ends *c with comm_finalize before the process ends. Called once, by the main thread; no
 * other thread uses *c or what is split from it. NULL on failure. STATUS_INPUT: there is no plugin,
 * the plugin cannot be loaded or is of another blco, or MPI does not see the processes that the
 * launcher started. Where the other processes do not start MPI within `patience` seconds, for
 * example because they run another program, the process prints one text line and ends with
 * STATUS_INPUT. */
enum status comm_world(struct comm **c, double patience, struct error *error);

/* In a command whose processes work together, after comm_finalize: whether this process prints
 * `error` before it ends; its rank is put before the message where its end ends the others, too. A
 * failure before comm_world is the failure of all, and process 0 prints it. Where all processes
 * have failed, the lowest one prints. A failure whose message is empty is printed by another
 * process. A process that does not print waits half a second here unless comm_world has succeeded,
 * because a launcher may end all processes as soon as one fails. */
bool comm_world_tells(struct error *error);
