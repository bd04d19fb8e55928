/* What the steps of `blco cpd` share, on one rank or several. Implemented in cpd_job.c and
 * cpd_run.c. */
#ifndef BLCO_CPD_JOB_H
#define BLCO_CPD_JOB_H

#include "als/decompose.h"
#include "als/rank_choice.h"
#include "als/result_findings.h"
#include "base/outfile.h"
#include "commands/cpd/cpd_settings.h"
#include "commands/cpd/cpd_summary.h"
#include "commands/machine_choice.h"
#include "commands/rank_place.h"
#include "formats/ktensor/ktensor_io.h"

/* What a rank tells rank 0 in the end. */
struct cpd_telling {
    struct rank_report report;
    uint64_t peak; /* bytes of host memory */
};

/* What rank 0 knows of several ranks in the end. */
struct cpd_ranks {
    int count;                   /* 0: one rank worked alone                    */
    int parts[MAX_ORDER];        /* into how many ranges each mode was cut      */
    double imbalance;            /* nonzeros of the fullest rank / mean, less 1 */
    struct rank_place *place;    /* (count) owned                               */
    struct cpd_telling *telling; /* (count) owned                               */
};

struct cpd_job {
    struct cli_line line;
    struct cpd_settings settings;
    struct machine_choice choice;
    struct backend_wake wake;         /* of the GPU of a run on one */
    const struct backend_kind *kind;  /* the chosen one */
    char machine[1280];               /* the backend, why it was chosen, what computes */
    struct ktensor start;             /* of --init STEM; else empty              */
    struct checkpoint resume;         /* of --resume; else empty                 */
    struct checkpoint_options saving; /* of --checkpoint                         */
    struct comm *self;                /* of a rank alone; owned                    */
    struct rank_tensor input;         /* of a rank alone: the tensor, for all of several -r */
    struct starts starts;             /* the models, and rank 0's account of them  */
    struct ktensor model;             /* the result. Of several processes process 0 has
                                       * it whole; with `together` each has some rows */
    bool together;                    /* the processes write the model together */
    struct fingerprint tensor;        /* its hash where checkpoints or a record need it */
    struct stem_lock lock;            /* on the stem of the files; of rank 0 */
    struct ktensor_files files;
    struct cpals_result result;   /* of the best start */
    struct rank_outcome *outcome; /* (ranks of -r), with several; owned */
    int outcomes;                 /* so far */
    bool unconverged;             /* the model of some rank of -r so far */
    double began;                 /* when the command did, by clock_now() */
    struct cpd_times times;
    struct progress progress;   /* rank 0's */
    struct progress results;    /* rank 0's: tables that -q leaves, to standard output */
    struct outfile record;      /* of --record; rank 0's                   */
    struct findings findings;   /* of the present rank of -r               */
    size_t told;                /* of these, the first so many were shown  */
    struct fit_trace trace;     /* with --record; rank 0's                 */
    struct backend_built built; /* of rank 0                               */
    struct cpd_ranks ranks;     /* of several ranks; rank 0's              */
};

/* Shows on `to` the findings that were not shown so far. */
void cpd_tell_findings(struct cpd_job *job, struct progress *to);

/* Find and show what speaks against shape and rank; and the modes that the model of --init does not
 * have as the tensor needs them, after cpd_check_start. */
void cpd_note_shape(struct cpd_job *job, const struct shape *shape);
void cpd_note_start(struct cpd_job *job, const struct shape *shape);

struct cpals_options cpd_als_options(struct cpd_job *job);

/* Frees what the job owns. */
void cpd_job_free(struct cpd_job *job);

/* What the run starts from; borrowed from the job. */
struct initial_guess cpd_guess(const struct cpd_job *job);

/* From now on signals let the iteration finish; before, a signal ends the program at once, for
 * there is nothing to save. */
void cpd_catch_signals(void);

/* Whether the present rank of -r is the last one. */
bool cpd_last_rank(const struct cpd_job *job);

/* Refuses modes that the tensor does not have, and a start (--init) whose shape is not that of the
 * tensor (with --fix, in the modes that are fixed) or that has a negative entry where --nonneg
 * allows none. STATUS_INPUT. */
enum status cpd_check_start(const struct cpd_job *job, const struct shape *shape,
                            struct error *error);

/* Refuses processes that have read different models as the start (--init); every process calls it.
 * STATUS_INPUT, on all of them (comm_end_phase). */
enum status cpd_start_agree(const struct cpd_job *job, struct comm *world, struct error *error);

/* Shows the memory plan that was followed. */
void cpd_show_plan(struct cpd_job *job);

/* Decomposes on c's rank, into job->starts; every rank calls it. Ranks that are threads of one
 * process share the job. A failure is told once (comm_end_phase) or has ended the other ranks
 * (comm_abort). Errors of rank_tensor_open, cpd_choose_together, backend_prepare and decompose. */
enum status cpd_run(struct comm *c, void *job, struct error *error);

#endif
