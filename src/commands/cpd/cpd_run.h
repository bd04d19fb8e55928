/* `blco cpd` on one rank: alone, a GPU of this process, or a process of a launcher. */
#ifndef BLCO_CPD_RUN_H
#define BLCO_CPD_RUN_H

#include "commands/cpd/cpd_job.h"

/* Decomposes on c's rank, into job->results; every rank calls it. Ranks that are threads of one
 * process share the job. One rank has the message of a failure (comm_end_phase), or it has ended
 * the other ranks (comm_abort). Errors of rank_tensor_open, cpd_output_choose_spread, backend_prepare
 * and decompose. */
enum status cpd_run(struct comm *c, void *job, struct error *error);

#endif
