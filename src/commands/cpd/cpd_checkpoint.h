/* Checkpoints of `blco cpd`: what --checkpoint and --resume come to. */
#ifndef BLCO_CPD_CHECKPOINT_H
#define BLCO_CPD_CHECKPOINT_H

#include "commands/cpd/cpd_job.h"

/* Checks what can be checked before the tensor is read: opens the checkpoint of --resume as
 * job->resume, which the caller closes, and makes sure that the one of --checkpoint can be written.
 * Every process calls it. STATUS_INPUT, STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_checkpoint_prepare(struct cpd_job *job, struct error *error);

/* Decides --resume-if-exists: all processes resume where process 0 sees the file. `world` is NULL
 * where this process is alone; otherwise every process calls it. STATUS_INPUT where process 0
 * cannot tell; errors of comm_bcast. */
enum status cpd_checkpoint_look(struct cpd_job *job, struct comm *world, struct error *error);

/* Whether there is a --checkpoint or --resume. */
bool cpd_checkpoint_used(const struct cpd_job *job);

/* Whether the hash of the tensor's fingerprint is needed, for these or for a record. */
bool cpd_hash_needed(const struct cpd_job *job);

/* Refuses to resume a tensor of another shape or number of nonzeros. STATUS_INPUT. */
enum status cpd_checkpoint_check_shape(const struct cpd_job *job, const struct shape *shape,
                                       uint64_t nnz, struct error *error);

/* Refuses to resume another tensor, and keeps the fingerprint for checkpoints to come. To be called
 * once the tensor is there, where cpd_hash_needed. STATUS_INPUT. */
enum status cpd_checkpoint_identify(struct cpd_job *job, const struct fingerprint *tensor,
                                    struct error *error);

/* Refuses ranks that have mapped different checkpoints; every rank calls it. STATUS_INPUT, on all
 * ranks. */
enum status cpd_checkpoint_agree(const struct cpd_job *job, struct comm *c, struct error *error);

/* Tells the user where the run goes on from, and whether it is another kind of run. */
void cpd_checkpoint_note_resumed(struct cpd_job *job);

/* Tells the user of the last checkpoint. Its failure becomes *error, unless there is one. */
void cpd_checkpoint_note_saved(struct cpd_job *job, struct error *error);

#endif
