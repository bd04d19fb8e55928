/* Which machine `blco cpd` works on: chosen before the tensor is read; a GPU wakes meanwhile. */
#ifndef BLCO_CPD_MACHINE_H
#define BLCO_CPD_MACHINE_H

#include "commands/cpd/cpd_job.h"

/* Chooses the backend, job->kind, and checks what depends on neither tensor nor rank; once. The GPU
 * of a run on one begins to wake. Errors of machine_choose; STATUS_INPUT, STATUS_MEMORY. */
enum status cpd_machine_choose(struct cpd_job *job, struct error *error);

/* Tells what computes. */
void cpd_machine_note(struct cpd_job *job);

/* Waits for the GPU of a run on one. Where it does not answer and the host takes its place,
 * job->kind is the host's, and that is told. Errors of machine_choose_again. */
enum status cpd_machine_wait(struct cpd_job *job, struct error *error);

#endif
