/* What the user asks of `blco cpd`, checked as far as it can be without the tensor. */
#ifndef BLCO_CPD_SETTINGS_H
#define BLCO_CPD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "als/runs.h"
#include "commands/options/cmd_common.h"
#include "tensor/halves.h"

struct cpd_settings {
    struct cmd_common common;    /* options.problem.rank: the present one of `ranks` */
    struct rank_range ranks;     /* first 0: not given                        */
    const char *tensor;          /* path, or "-"                              */
    char *base_stem;             /* beginning of all file names; owned; NULL with nowrite */
    char *stem;                  /* ... of those of the present rank; owned; NULL with nowrite */
    unsigned formats;            /* bits KTENSOR_TEXT, ...                    */
    const char *rescue;          /* folder for a model that cannot be written, or NULL */
    const char *record_as_given; /* --record, or NULL                      */
    char *record;                /* the file for that of the present rank; owned, or NULL */
    bool nowrite, verbose, json;
    bool recorded; /* a record is made: --record or --json                   */
    bool require_converged;
    int iterations;               /* at most                                   */
    double tolerance;             /* on the change of fit                      */
    int check_every;              /* iterations from one check of the fit to the next; 0: none */
    uint64_t seed;                /* of the first random start                */
    int starts;                   /* of seed, seed + 1, ...                    */
    bool core_consistency;        /* asked for; with a range of -r it is computed anyhow */
    bool choose_ridge;            /* --ridge auto, and no checkpoint has the ridge */
    int early_stop;               /* iterations without a smaller held-out error; 0: not given */
    struct halves halves;         /* of the tensor, whose models are compared  */
    double fade;                  /* of unlisted entries                       */
    const char *ridge_scale_text; /* that of --ridge-scale, or NULL            */
    const char *fade_given, *seed_given, *solver_given, *inner_given; /* the names, or NULL */
    enum guess guess;             /* where init_stem is NULL                  */
    const char *init_stem;        /* the model to start from, or NULL          */
    const char *checkpoint;       /* the file to save checkpoints in, or NULL  */
    const char *resume;           /* the checkpoint to go on from, or NULL     */
    const char *resume_if_exists; /* the same where there is such a file     */
    double every_seconds;         /* between checkpoints; 0: not given         */
    int every_iterations;         /* likewise                                  */
    double time_limit;            /* seconds; 0: none                          */
    int most_fixed, most_ridge;   /* the largest modes that these options name, or 0 */
    bool ridged[MAX_ORDER];       /* modes that --ridge lists                  */
};

extern const struct cli_section cpd_sections[];

/* Fills *s from the command line. The caller frees *s with cpd_settings_free(), on failure too. If
 * common.help or common.version is set, the rest is not checked. STATUS_INPUT, STATUS_MEMORY. */
enum status cpd_settings_parse(struct cpd_settings *s, struct cli_line *line, struct error *error);

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

/* Whether each row has a system of its own, of a tensor with so many unknown entries. */
bool cpd_settings_by_rows(const struct cpd_settings *s, uint64_t unknown);

/* The words of --init, where the start is no model: enum guess. */
extern const struct word cpd_init_words[];

void cpd_settings_free(struct cpd_settings *s);

#endif
