/* What the steps of `blco cpd` pass on: what the user asks, a run in progress, what comes out. A
 * step takes those of the three that it needs.
 *
 * For each rank of -r, cmd_cpd.c checks the outputs and chooses the machine (cpd_machine_choose);
 * each rank of the communicator opens its part of the tensor, the plan and the backend, and makes
 * the starts (cpd_run); rank 0 writes the model (cpd_output.c), shows the summary and the findings
 * (cpd_summary.c) and writes the record (cpd_record.c). */
#pragma once

#include "als/decompose.h"
#include "als/findings.h"
#include "als/rank_choice.h"
#include "als/runs.h"
#include "base/outfile.h"
#include "commands/machine_choice.h"
#include "commands/options/cmd_common.h"
#include "commands/ranks_join.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/names/labels.h"
#include "formats/names/name_match.h"
#include "ranks/slice_means.h"

/* What the user asks, checked as far as it can be without the tensor. Implemented in
 * cpd_settings.c. */
struct cpd_settings {
    struct cmd_common common;    /* options.problem.rank: the present one of `ranks` */
    struct rank_range ranks;     /* first 0: not given                        */
    const char *tensor;          /* path, or "-"                              */
    char *base_stem;             /* beginning of all file names; owned; NULL with nowrite */
    char *stem;                  /* ... of those of the present rank; owned; NULL with nowrite */
    unsigned formats;            /* bits KTENSOR_TEXT, ...                    */
    const char *rescue;          /* folder for a model that cannot be written, or NULL */
    char *ranks_path;            /* STEM.ranks.json of a range of -r; owned; NULL without, and with
                                  * nowrite */
    const char *record_as_given; /* --record, or NULL                      */
    char *record;                /* the file for that of the present rank; owned, or NULL */
    bool nowrite, verbose, json;
    bool recorded; /* a record is made: --record or --json                   */
    bool require_converged;
    struct cpals_options als; /* what is asked; with a range of -r the core consistency is computed
                               * anyhow, and cpd_run adds what is there at run time */
    struct run_list runs;     /* choose_ridge: --ridge auto, and no checkpoint has the ridge */
    struct checkpoint_options saving; /* path NULL: without --checkpoint          */
    const char *fade_given, *seed_given, *solver_given, *inner_given,
        *ridge_scale_given;       /* the names, or NULL                       */
    const char *init_stem;        /* the model to start from, or NULL          */
    enum match match;             /* how its rows find those of the tensor     */
    const char *match_given;      /* the option's name, or NULL                */
    const char *resume;           /* the checkpoint to go on from, or NULL     */
    const char *resume_if_exists; /* the same where there is such a file     */
    const char *center;           /* the modes of --values center, or NULL     */
    size_t center_length;         /* bytes of their text                       */
    double shrinkage;             /* of their means; negative: not given       */
    double time_limit;            /* seconds; 0: none                          */
    int most_fixed, most_ridge;   /* the largest modes that these options name, or 0 */
    bool ridged[MAX_ORDER];       /* modes that --ridge lists                  */
};

extern const struct cli_section cpd_sections[];

/* Refuses options that contradict each other, and fills in what follows from them, once the line is
 * parsed. STATUS_INPUT, STATUS_MEMORY. */
enum status cpd_settings_complete(struct cpd_settings *s, const struct cli_line *line,
                                  struct error *error);

/* Makes `rank` the present one. With a range of -r each rank has a stem, STEM.r8, and a record,
 * NAME.r8.json for NAME.json, of its own. STATUS_MEMORY. */
enum status cpd_settings_take_rank(struct cpd_settings *s, uint64_t rank, struct error *error);

/* Whether -r gives several ranks. */
bool cpd_settings_range(const struct cpd_settings *s);

/* Refuses modes that a tensor of this order does not have, and a run that fixes all modes.
 * STATUS_INPUT. */
enum status cpd_settings_check_order(const struct cpd_settings *s, int order, struct error *error);

/* Refuses what needs an MTTKRP, where each row has a system of its own because of `reason`.
 * STATUS_INPUT. */
enum status cpd_settings_check_by_rows(const struct cpd_settings *s, const char *reason,
                                       struct error *error);

/* Whether each row has a system of its own where the tensor has `unknown` unknown entries. */
bool cpd_settings_by_rows(const struct cpd_settings *s, uint64_t unknown);

/* The words of --init, where the start is no model: enum guess. */
extern const struct word cpd_init_words[];

/* What the user asks, and the machine that was chosen for it. */
struct cpd_inputs {
    struct cpd_settings settings; /* first, as cmd_run wants them */
    struct cli_line line;
    struct machine_choice choice;
    struct named_model start; /* of --init STEM; else empty. Its rows are those of the tensor once
                               * names have been matched */
    uint64_t new_rows[MAX_ORDER]; /* of the start: rows whose names the model lacks */
    struct slice_means means;     /* of the start, with --fix            */
    struct checkpoint resume;     /* of --resume; else empty             */
    double began;                 /* when the command did, by clock_now() */
};

/* What a process has while it works. */
struct cpd_run {
    struct comm *world;        /* of all processes; owned                             */
    struct backend_wake wake;  /* of the GPU of a rank alone                          */
    struct progress progress;  /* rank 0's                                            */
    struct progress tables;    /* rank 0's: to standard output, with -q, too          */
    struct rank_tensor tensor; /* of a rank alone, which keeps it for all ranks of -r */
    bool spread;               /* the model stays with the processes: rank 0 has no room  */
    struct rank_rows rows;     /* then: which of its rows this process has            */
    struct stem_lock lock;     /* on the stem of the files; rank 0's                  */
    struct outfile record;     /* of --record; rank 0's                               */
};

/* Where the time of a `blco cpd` went, in seconds. */
struct cpd_times {
    double start;                          /* of the command, by clock_now()               */
    double wake;                           /* waiting for the GPUs' driver                 */
    double read, exchange, clean, write;   /* exchange: of nonzeros among ranks            */
    double replicates;                     /* all that the replicates take                 */
    bool halves;                           /* which are two halves                         */
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

/* What comes out: of the present rank of -r, but for the last six members. */
struct cpd_results {
    struct fingerprint tensor;      /* its hash where checkpoints or a record need it        */
    struct runs runs;               /* rank 0's table of them, and the models                */
    struct replication replication; /* what those on replicates say; rank 0's            */
    struct cpals_result result;     /* of the best start                                     */
    struct ktensor model;           /* of the best start: whole on process 0, or with run.spread
                                     * the rows of this process                              */
    struct fit_trace trace;         /* with --record; rank 0's                               */
    struct findings findings;       /* what there is to know of it                           */
    size_t shown;                   /* of the findings, the first so many were shown         */
    struct cpd_times times;         /* rank 0's                                              */
    struct backend_built built;     /* rank 0's                                              */
    struct cpd_reports reports;     /* of several ranks; rank 0's                            */
    struct ktensor_files files;     /* of the model, as written                              */
    struct rank_outcome *outcome;   /* (ranks of -r), with several; owned                    */
    int outcomes;                   /* so far                                                */
    bool unconverged;               /* the model of some rank of -r so far                   */
    struct labels names;            /* of the tensor, which its models keep; rank 0's        */
    struct model_facts facts;       /* ... as this                                           */
    struct slice_means means;       /* with --values center; the model's files have them, too */
    struct baseline baseline;       /* with --holdout                                        */
};

struct cpd_job {
    struct cpd_inputs inputs;
    struct cpd_run run;
    struct cpd_results results;
};

/* Shows on `to` the findings that were not shown so far. */
void cpd_show_findings(struct cpd_results *results, struct progress *to);

struct cpd_stage {
    const char *name;
    double seconds;
    int operation; /* an enum operation; -1: the stage is no operation of the backend */
};

#define CPD_STAGES (OP_COUNT + 7)

/* stage[] = the stages in order, of which there are CPD_STAGES at most; returns how many. The last
 * one, "other", is the rest of `total`. Waking GPUs, the exchange, the residuals and the replicates
 * are stages only where they took time. */
int cpd_stages(const struct cpd_times *times, int order, double total,
               struct cpd_stage stage[CPD_STAGES]);

/* Shows a table: where each rank worked, on how many nonzeros, how long. */
void cpd_reports_show(struct progress *to, const struct cpd_reports *r);

/* Accepts an empty one, and leaves one. */
void cpd_reports_free(struct cpd_reports *r);

/* Frees what the job, a struct cpd_job, owns, and leaves the other processes. */
void cpd_job_free(void *job);

/* Which machine `blco cpd` works on: chosen before the tensor is read; a GPU wakes meanwhile. */

/* Chooses the backend, in->choice, and checks what depends on neither tensor nor rank of -r, once.
 * The GPU of a rank alone begins to wake. Errors of machine_choose; STATUS_INPUT, STATUS_MEMORY. */
enum status cpd_machine_choose(struct cpd_inputs *in, struct backend_wake *wake,
                               struct error *error);

/* The command waited for GPUs, if it works on some, since `start`. */
void cpd_machine_waited(struct cpd_job *job, double start);

/* Shows what computes. */
void cpd_machine_note(const struct cpd_inputs *in, struct progress *progress);

/* Waits for the GPU that wakes, if any. Where it does not answer and the host takes its place,
 * shows that. Errors of machine_choose_again. */
enum status cpd_machine_wait(struct cpd_inputs *in, struct backend_wake *wake,
                             struct progress *progress, struct error *error);

/* What a run starts from: random numbers, the model of --init, or a checkpoint. Implemented in
 * cpd_start.c. */

/* Decides --resume-if-exists: all processes resume where process 0 sees the file. Every process
 * calls it. STATUS_INPUT where process 0 cannot find out; errors of comm_bcast. */
enum status cpd_start_look(struct cpd_settings *s, struct comm *world, struct progress *progress,
                           struct error *error);

/* Reads the model of --init STEM, or opens the checkpoint of --resume as in->resume, and completes
 * what the settings say of runs and checkpoints, but for the tensor; makes sure that the file of
 * --checkpoint can be written. Gives the fixed modes of the tensor, which is not open yet, the
 * lengths that they have in the model or the checkpoint: new data need not reach them; lengths of
 * --dims come first. Every process calls it. STATUS_INPUT, STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_start_prepare(struct cpd_inputs *in, struct error *error);

/* Tells the user where the run goes on from, and finds where it is another kind of run. */
void cpd_start_note_resumed(const struct cpd_inputs *in, struct progress *progress,
                            struct findings *findings);

/* Refuses processes that have read different models; every process calls it. STATUS_INPUT, on all
 * of them (comm_end_phase). */
enum status cpd_start_compare(const struct cpd_inputs *in, struct comm *world, struct error *error);

/* Brings the modes and rows of the start, which was read from --init STEM, into the order of the
 * tensor at settings.tensor by their names, as --match says; rank 0 has the tensor's. Rows of names
 * that the model lacks are random, of the model's size; rows whose names the tensor lacks are left
 * out. Every rank calls it; ranks that share the inputs wait until they have changed. STATUS_INPUT,
 * also where a fixed mode has other names; STATUS_MEMORY. */
enum status cpd_start_match(struct cpd_inputs *in, struct comm *c, const struct labels *names,
                            const struct shape *shape, struct progress *progress,
                            struct error *error);

/* Refuses a model whose shape is not the tensor's (with --fix, in the modes that are fixed) or that
 * has a negative entry where --nonneg allows none. STATUS_INPUT. */
enum status cpd_start_check(const struct cpd_inputs *in, const struct shape *shape,
                            struct error *error);

/* Finds the modes that start at random although there is a model, after cpd_start_check. */
void cpd_start_find_random(const struct cpd_inputs *in, const struct shape *shape,
                           struct findings *findings);

/* Where --fix leaves one mode to compute: gives the result, which is whole, the weights of the
 * model of --init, and the columns of that mode the scale that goes with them, so that new rows can
 * stand beside the old ones. A component whose old weight is not above 0 stays as it is. */
void cpd_start_keep_weights(const struct cpd_inputs *in, struct ktensor *result);

/* `blco cpd` on one rank: alone, a GPU of this process, or a process of a launcher.
 * Implemented in cpd_run.c. */

/* Decomposes on c's rank, into job->results; every rank calls it. Ranks that are threads of one
 * process share the job. One rank has the message of a failure (comm_end_phase), or it has ended
 * the other ranks (comm_abort). Errors of rank_tensor_open, cpd_output_choose_spread,
 * backend_prepare and decompose. */
enum status cpd_run(struct comm *c, void *job, struct error *error);

/* Files of the model, which are refused before the work where they cannot be written, and rescued
 * into another folder where they cannot be written after it. Implemented in cpd_output.c. */

/* Refuses an output of the run, model, checkpoint or record, that is one of its inputs or another
 * output (file_roles_check), checks what can be checked without the tensor, locks the stem and
 * opens the record. Rank 0 calls this. STATUS_INPUT, STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_open(struct cpd_job *job, struct error *error);

/* Sets *spread where the ranks of c are processes and the whole model does not fit into the host
 * memory that rank 0 may use, or that is there: it then stays with the ranks. Every rank of c calls
 * this as soon as *t is there. STATUS_MEMORY where the settings ask for what needs the whole model,
 * as a start from a model. All ranks fail alike. */
enum status cpd_output_choose_spread(bool *spread, const struct cpd_settings *s, struct comm *c,
                                     const struct rank_tensor *t, struct error *error);

/* Writes the model to results->files, with --nowrite nothing. Rank 0 calls this; with run->spread
 * every rank of run->world does, and the others send their rows. Where the files cannot be written,
 * the model goes to a new folder in the first of these in which there is room: --rescue, $TMPDIR,
 * /tmp; the error then says where the model is. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_write(struct cpd_job *job, struct error *error);

/* text[0..size) = a note to those who write a large model as text:
 * .npy files are smaller; empty where the text is not large. */
void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size);

/* What rank 0 shows on the terminal at the end. Implemented in cpd_summary.c. */

/* Shows the summary, the findings, and tables of several starts and of the replicates. */
void cpd_show_result(struct cpd_job *job);

/* Shows each rank's fit and core consistency with bars, and the rank that they suggest; nothing
 * where no rank has a model. */
void cpd_show_range(struct cpd_job *job);

/* The record of a run (--record, --json): what was asked, the machine and the results, as JSON for
 * programs. The manual blco-record(5) describes it, data/schema/record.schema.json defines it.
 * Implemented in cpd_record.c. */

/* Without --record and --json these functions do nothing. Rank 0 calls them. */

/* Writes and prints the record, after the model's files and the summary. STATUS_OUTPUT,
 * STATUS_MEMORY, and errors of run_record_machine. */
enum status cpd_record_write(const struct cpd_inputs *in, const struct cpd_results *results,
                             struct outfile *file, struct progress *progress, struct error *error);

/* STEM.ranks.json of a range of -r: the table of the ranks and the suggestion, for programs and for
 * the page of all ranks. The manual blco-record(5) describes it, data/schema/record.schema.json
 * defines it. */

/* Writes the outcomes so far to settings.ranks_path; nothing without one, and where no rank has a
 * model. Rank 0 calls this. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_ranks_file_write(const struct cpd_inputs *in, const struct cpd_results *r,
                                 struct progress *progress, struct error *error);
