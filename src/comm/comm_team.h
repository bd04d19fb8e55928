/* Runs a function on ranks that are threads of this process. */
#ifndef BLCO_COMM_TEAM_H
#define BLCO_COMM_TEAM_H

#include "comm/comm.h"

/* What a rank does; c is its end of the communicator, borrowed. A failure ends all ranks. */
typedef enum status comm_work(struct comm *c, void *context, struct error *error);

/* Runs work(c, context) on `size` ranks, each a thread of its own with its share of the OpenMP
 * threads, at least one, and waits for all. The failure of a rank ends the others (comm_abort);
 * returned is what the lowest rank that has a message knows of a failure. STATUS_MEMORY also where
 * a thread cannot be started. */
enum status comm_run_team(int size, comm_work *work, void *context, struct error *error);

#endif
