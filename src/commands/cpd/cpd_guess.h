/* What a `blco cpd` starts from: random numbers, the model of --init, or a checkpoint. */
#ifndef BLCO_CPD_GUESS_H
#define BLCO_CPD_GUESS_H

#include "commands/cpd/cpd_job.h"

/* Reads the model of --init STEM, of modes that --fix names at least. STATUS_INPUT, also of another
 * rank than -r; STATUS_MEMORY. */
enum status cpd_guess_read(struct cpd_inputs *in, struct error *error);

/* Gives the fixed modes of the tensor, which is not open yet, the lengths that they have in the
 * model of --init or in the checkpoint of --resume: new data need not reach them. Lengths of --dims
 * come first. */
void cpd_guess_set_lengths(struct cpd_inputs *in);

/* Refuses processes that have read different models; every process calls it. STATUS_INPUT, on all
 * of them (comm_end_phase). */
enum status cpd_guess_compare(const struct cpd_inputs *in, struct comm *world, struct error *error);

/* Refuses a model whose shape is not the tensor's (with --fix, in the modes that are fixed) or that
 * has a negative entry where --nonneg allows none. STATUS_INPUT. */
enum status cpd_guess_check(const struct cpd_inputs *in, const struct shape *shape,
                            struct error *error);

/* Finds the modes that start at random although there is a model, after cpd_guess_check. */
void cpd_guess_find_random(const struct cpd_inputs *in, const struct shape *shape,
                           struct findings *findings);

/* Where --fix leaves one mode to compute: gives the result, which is whole, the weights of the
 * model of --init, and the columns of that mode the scale that goes with them, so that new rows can
 * stand beside the old ones. A component whose old weight is not above 0 stays as it is. */
void cpd_guess_keep_weights(const struct cpd_inputs *in, struct ktensor *result);

/* What the first start begins with; borrowed from *in. */
struct initial_guess cpd_guess(const struct cpd_inputs *in);

/* The runs that these inputs ask for; borrows from *in. */
struct run_list cpd_run_list(const struct cpd_inputs *in);

#endif
