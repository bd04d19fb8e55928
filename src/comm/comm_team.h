/* Runs a function on ranks that are threads of this process. */
#ifndef BLCO_COMM_TEAM_H
#define BLCO_COMM_TEAM_H

#include "comm/comm.h"

/* The work of a rank; c is its end of the communicator, borrowed. A failure ends all ranks. */
typedef enum status comm_work(struct comm *c, void *context, struct error *error);

/* Runs work(c, context) on `size` ranks and waits for all. Each is a thread of its own with an even
 * part of the OpenMP threads, at least one. The failure of a rank ends the others (comm_abort); the
 * error is that of the lowest rank that has a message. STATUS_MEMORY also where a thread cannot be
 * started. */
enum status comm_run_team(int size, comm_work *work, void *context, struct error *error);

#endif
