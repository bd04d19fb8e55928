/* Several runs of ALS on one open tensor, from random starts of one seed after the other: the model
 * of the best fit counts, and how far the others agree with it says how far it can be trusted. */
#ifndef BLCO_STARTS_H
#define BLCO_STARTS_H

#include "als/cpals.h"

/* Two components whose factor match score is this or more count as the same (U. Lorenzo-Seva,
 * J. M. F. ten Berge: Tucker's congruence coefficient as a meaningful index of factor similarity,
 * Methodology 2, 2006, on the cosine of two columns; here of all modes together). */
#define STARTS_SAME 0.95

/* Fits that differ by less than this part of the best one count as equally good. */
#define STARTS_EQUAL_FIT 1e-3

/* What one start has come to. */
struct start_outcome {
    uint64_t seed;
    struct cpals_result result; /* stop CPALS_BREAKDOWN: there is no model                     */
    double score; /* factor match score of its model with the best one, without weights; 1 for the
                   * best itself                                                               */
};

struct starts {
    int asked;    /* starts that are to be made                                        */
    int made;     /* of these, the first so many were made: fewer after a signal or at the
                   * time limit                                                        */
    int modelled; /* of those made, how many came to a model: the others broke down    */
    int best;     /* the one of the highest fit of those that came to a model          */
    struct start_outcome *start; /* (asked); owned */
    struct ktensor *model;  /* (asked): the models, arranged (ktensor_arrange), until the best is
                             * taken                                                           */
    bool borrows;           /* `model` is another rank's; else owned                           */
    struct fit_trace trace; /* of the best start so far, where a trace is kept; owned         */
};

/* What the scores of the starts other than the best one say. */
struct starts_agreement {
    int others;    /* than the best                                                       */
    int agree;     /* of these, their components are those of the best                    */
    int different; /* their fits are as good, but their components are others             */
};

/* So many starts, of the seeds `seed`, `seed` + 1, ... `model` is where the models of another rank
 * of this process come together, or NULL. The caller frees *s; it is empty on failure.
 * STATUS_MEMORY. */
enum status starts_create(struct starts *s, int asked, uint64_t seed, struct ktensor *model,
                          struct error *error);

/* Accepts an empty one. */
void starts_free(struct starts *s);

/* Notes the result of the start that was made last; where its fit is the best so far, takes its
 * trace, which may be NULL, in exchange for another. */
void starts_note(struct starts *s, const struct cpals_result *result, struct fit_trace *trace);

/* Where *error is a numerical breakdown, the start under way ends with *result: notes that, tells
 * it where there are several starts, makes *error empty and returns true. The backend can be loaded
 * again. */
bool starts_note_breakdown(struct starts *s, const struct cpals_result *result,
                           struct progress *progress, struct error *error);

/* STATUS_NUMERICAL, with the reason of the first start, where starts were made and none came to a
 * model. */
enum status starts_check(const struct starts *s, struct error *error);

/* Behind the last start: gives the trace of the best one back, unless `trace` is NULL. */
void starts_give_trace(struct starts *s, struct fit_trace *trace);

/* Whether another start is to be made. */
bool starts_go_on(const struct starts *s);

/* Whether a signal or the time limit has ended the starts. */
bool starts_ended(const struct starts *s);

/* The options of the next start: the core consistency is computed of models that are the best so
 * far. */
struct cpals_options starts_options(const struct starts *s, const struct cpals_options *options);

/* Fills in the scores and moves the best model to *best; the others are freed. Some start came to
 * a model. STATUS_MEMORY. */
enum status starts_take_best(struct starts *s, struct ktensor *best, struct error *error);

/* Of starts with scores. */
struct starts_agreement starts_agreement(const struct starts *s);

#endif
