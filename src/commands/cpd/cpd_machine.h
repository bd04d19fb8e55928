/* Which machine `blco cpd` works on: chosen before the tensor is read; a GPU wakes meanwhile. */
#ifndef BLCO_CPD_MACHINE_H
#define BLCO_CPD_MACHINE_H

#include "commands/cpd/cpd_job.h"

/* Chooses the backend, in->choice, and checks what depends on neither tensor nor rank of -r, once.
 * The GPU of a rank alone begins to wake. Errors of machine_choose; STATUS_INPUT, STATUS_MEMORY. */
enum status cpd_machine_choose(struct cpd_inputs *in, struct backend_wake *wake,
                               struct error *error);

/* Shows what computes. */
void cpd_machine_note(const struct cpd_inputs *in, struct progress *progress);

/* Waits for the GPU that wakes, if any. Where it does not answer and the host takes its place,
 * shows that. Errors of machine_choose_again. */
enum status cpd_machine_wait(struct cpd_inputs *in, struct backend_wake *wake,
                             struct progress *progress, struct error *error);

#endif
