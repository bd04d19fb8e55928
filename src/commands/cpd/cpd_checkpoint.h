/* Checkpoints of `blco cpd`: --checkpoint, --resume and --resume-if-exists. */
#ifndef BLCO_CPD_CHECKPOINT_H
#define BLCO_CPD_CHECKPOINT_H

#include "commands/cpd/cpd_job.h"

/* Decides --resume-if-exists: all processes resume where process 0 sees the file. Every process
 * calls it. STATUS_INPUT where process 0 cannot find out; errors of comm_bcast. */
enum status cpd_checkpoint_look(struct cpd_settings *s, struct comm *world,
                                struct progress *progress, struct error *error);

/* Checks what can be checked before the tensor is read: opens the checkpoint of --resume as
 * in->resume, which the caller closes, and makes sure that the one of --checkpoint can be written;
 * fills *saving but for the tensor. Every process calls it. STATUS_INPUT, STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status cpd_checkpoint_prepare(struct cpd_inputs *in, struct checkpoint_options *saving,
                                   struct error *error);

/* Whether the hash of the tensor's fingerprint is needed, for --checkpoint or --resume or a record.
 */
bool cpd_hash_needed(const struct cpd_settings *s);

/* Tells the user where the run goes on from, and finds where it is another kind of run. */
void cpd_checkpoint_note_resumed(const struct cpd_inputs *in, struct progress *progress,
                                 struct findings *findings);

#endif
