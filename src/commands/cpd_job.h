/* What the steps of `blco cpd` share, on one rank or several. Implemented in cpd_job.c, cpd_alone.c
 * and cpd_rank.c. */
#ifndef BLCO_CPD_JOB_H
#define BLCO_CPD_JOB_H

#include "als/cpals_ranks.h"
#include "commands/cpd_settings.h"
#include "commands/cpd_summary.h"
#include "formats/tensor_input.h"
#include "model/ktensor_io.h"

struct cpd_job {
    struct cpd_settings settings;
    const struct backend_kind *kind;
    struct ktensor start;             /* of --init STEM; else empty              */
    struct checkpoint resume;         /* of --resume; else empty                 */
    struct checkpoint_options saving; /* of --checkpoint                         */
    struct ktensor model;             /* the result. Of several processes process 0 has
                                       * it whole; with `together` each has some rows */
    bool together;                    /* the processes write the model together */
    struct shape shape;               /* of the tensor, with `together`         */
    struct stem_lock lock;            /* on the stem of the files; of rank 0 */
    struct ktensor_files files;
    struct cpals_result result;
    struct cpd_times times;
    struct progress progress; /* rank 0's */
};

struct cpals_options cpd_als_options(const struct cpd_job *job);

/* What the run starts from; borrowed from the job. */
struct ktensor_start cpd_start(const struct cpd_job *job);

/* From now on signals let the iteration finish; before, a signal ends the program at once, for
 * there is nothing to save. */
void cpd_catch_signals(void);

/* Refuses modes that the tensor does not have, and a start (--init) whose shape is not that of the
 * tensor or that has a negative entry where --nonneg allows none. STATUS_INPUT. */
enum status cpd_check_start(const struct cpd_job *job, const struct shape *shape,
                            struct error *error);

/* Shows the memory plan that was followed. */
void cpd_show_plan(struct cpd_job *job, struct backend *b);

/* Decomposes on one rank. Errors of tensor_input_open, backend_prepare and cpals_run. */
enum status cpd_alone(struct cpd_job *job, struct error *error);

/* Decomposes on one rank of several, c's, into job->model (cpals_run_rank); every rank calls it.
 * Ranks that are threads of one process share the job. A failure is settled (comm_settle) or has
 * ended the other ranks (comm_abort). Errors of rank_tensor_open, cpd_choose_together and
 * cpals_run_rank. */
enum status cpd_rank(struct comm *c, void *job, struct error *error);

#endif
