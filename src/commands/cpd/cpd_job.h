/* What the steps of `blco cpd` pass on: what the user asks, a run in progress, what comes out. A
 * step takes those of the three that it needs.
 *
 * For each rank of -r, cmd_cpd.c checks the outputs and chooses the machine (cpd_machine_choose);
 * each rank of the communicator opens its part of the tensor, the plan and the backend, and makes
 * the starts (cpd_run); rank 0 writes the model (cpd_output.h), shows the summary and the findings
 * (cpd_summary.c) and writes the record (cpd_record.h). */
#ifndef BLCO_CPD_JOB_H
#define BLCO_CPD_JOB_H

#include "als/decompose.h"
#include "als/findings.h"
#include "als/rank_choice.h"
#include "base/outfile.h"
#include "checkpoint/checkpoint.h"
#include "commands/cpd/cpd_settings.h"
#include "commands/machine_choice.h"
#include "commands/ranks_join.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/names/labels.h"

/* What the user asks, and the machine that was chosen for it. */
struct cpd_inputs {
    struct cli_line line;
    struct cpd_settings settings;
    struct machine_choice choice;
    struct ktensor start;     /* of --init STEM; else empty          */
    struct checkpoint resume; /* of --resume; else empty             */
    double began;             /* when the command did, by clock_now() */
};

/* What a process has while it works. */
struct cpd_run {
    struct comm *world;               /* of all processes; owned                             */
    struct backend_wake wake;         /* of the GPU of a rank alone                          */
    struct progress progress;         /* rank 0's                                            */
    struct progress tables;           /* rank 0's: to standard output, with -q, too          */
    struct checkpoint_options saving; /* of --checkpoint                                     */
    struct rank_tensor tensor;        /* of a rank alone, which keeps it for all ranks of -r */
    bool spread;                      /* the model stays with the processes: rank 0 has no room  */
    struct rank_rows rows;            /* then: which of its rows this process has            */
    struct stem_lock lock;            /* on the stem of the files; rank 0's                  */
    struct outfile record;            /* of --record; rank 0's                               */
};

/* Where the time of a `blco cpd` went, in seconds. */
struct cpd_times {
    double start;                          /* of the command, by clock_now()               */
    double read, exchange, clean, write;   /* exchange: of nonzeros among ranks            */
    double halves;                         /* all that --split-half takes                  */
    double communication;                  /* of iterations, in which rows and sums moved  */
    double operation[OP_COUNT][MAX_ORDER]; /* of each operation and mode                   */
};

/* What several ranks report to rank 0, for the table of -v and for the record. */
struct cpd_report {
    struct rank_report rank;
    uint64_t peak; /* bytes of host memory */
};

struct cpd_reports {
    int count;                 /* 0: one rank worked alone                    */
    int parts[MAX_ORDER];      /* into how many ranges each mode was cut      */
    double imbalance;          /* nonzeros of the fullest rank / mean, less 1 */
    struct rank_place *place;  /* (count) owned                               */
    struct cpd_report *report; /* (count) owned                               */
};

/* What comes out: of the present rank of -r, but for the last four members. */
struct cpd_results {
    struct fingerprint tensor;    /* its hash where checkpoints or a record need it        */
    struct runs runs;             /* rank 0's table of them, and the models                */
    struct split_half halves;     /* what those of --split-half say; rank 0's              */
    struct cpals_result result;   /* of the best start                                     */
    struct ktensor model;         /* of the best start: whole on process 0, or with run.spread
                                   * the rows of this process                              */
    struct fit_trace trace;       /* with --record; rank 0's                               */
    struct findings findings;     /* what there is to know of it                           */
    size_t shown;                 /* of the findings, the first so many were shown         */
    struct cpd_times times;       /* rank 0's                                              */
    struct backend_built built;   /* rank 0's                                              */
    struct cpd_reports reports;   /* of several ranks; rank 0's                            */
    struct ktensor_files files;   /* of the model, as written                              */
    struct rank_outcome *outcome; /* (ranks of -r), with several; owned                    */
    int outcomes;                 /* so far                                                */
    bool unconverged;             /* the model of some rank of -r so far                   */
    struct labels names;          /* of the tensor, which its models keep; rank 0's        */
};

struct cpd_job {
    struct cpd_inputs inputs;
    struct cpd_run run;
    struct cpd_results results;
};

/* What ALS does with these inputs. It saves as *saving says, with --checkpoint, and fills *trace,
 * with --record; both borrowed, and NULL where no iterations are made. */
struct cpals_options cpd_als_options(const struct cpd_inputs *in,
                                     const struct checkpoint_options *saving,
                                     struct fit_trace *trace);

/* Shows on `to` the findings that were not shown so far. */
void cpd_show_findings(struct cpd_results *results, struct progress *to);

struct cpd_stage {
    const char *name;
    double seconds;
    int operation; /* an enum operation; -1: the stage is no operation of the backend */
};

#define CPD_STAGES (OP_COUNT + 6)

/* stage[] = the stages in order, of which there are CPD_STAGES at most; returns how many. The last
 * one, "other", is the rest of `total`. The exchange, the residuals and the halves are stages only
 * where they took time. */
int cpd_stages(const struct cpd_times *times, int order, double total,
               struct cpd_stage stage[CPD_STAGES]);

/* Shows a table: where each rank worked, on how many nonzeros, how long. */
void cpd_reports_show(struct progress *to, const struct cpd_reports *r);

/* Accepts an empty one, and leaves one. */
void cpd_reports_free(struct cpd_reports *r);

/* Frees what the job owns, and leaves the other processes. */
void cpd_job_free(struct cpd_job *job);

/* Which machine `blco cpd` works on: chosen before the tensor is read; a GPU wakes meanwhile. */

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

/* `blco cpd` on one rank: alone, a GPU of this process, or a process of a launcher.
 * Implemented in cpd_run.c. */

/* Decomposes on c's rank, into job->results; every rank calls it. Ranks that are threads of one
 * process share the job. One rank has the message of a failure (comm_end_phase), or it has ended
 * the other ranks (comm_abort). Errors of rank_tensor_open, cpd_output_choose_spread,
 * backend_prepare and decompose. */
enum status cpd_run(struct comm *c, void *job, struct error *error);

#endif
