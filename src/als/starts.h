/* Several runs of ALS on one open tensor, from random starts with consecutive seeds. The result is
 * the model with the best fit, or the least held-out error; if the others agree with it, it can be
 * trusted. */
#ifndef BLCO_STARTS_H
#define BLCO_STARTS_H

#include "als/cpals.h"
#include "als/ridge_search.h"

/* Two components whose factor match score is this or more count as the same (U. Lorenzo-Seva,
 * J. M. F. ten Berge: Tucker's congruence coefficient as a meaningful index of factor similarity,
 * Methodology 2, 2006, on the cosine of two columns; here of all modes together). */
#define STARTS_SAME 0.95

/* Fits that differ by less than this part of the best one count as equally good. */
#define STARTS_EQUAL_FIT 1e-3

/* The result of one start. */
struct start_outcome {
    uint64_t seed;
    struct cpals_result result; /* stop CPALS_BREAKDOWN: there is no model                     */
    double score; /* factor match score of its model with the best one, without weights; 1 for the
                   * best itself                                                               */
};

struct starts {
    int asked;    /* how many starts to make                                           */
    int made;     /* how many were made: fewer after a signal or the time limit        */
    int modelled; /* how many of these have a model: the others broke down             */
    int best;     /* the start whose model has the highest fit, or the least held-out error */
    struct start_outcome *start; /* (asked); owned */
    struct ktensor *model;     /* (asked): the models, arranged (ktensor_arrange), until the best is
                                * taken                                                           */
    bool borrows;              /* `model` is another rank's; else owned                           */
    struct ridge_search ridge; /* before the first start, with --ridge auto                     */
    struct fit_trace trace;    /* of the best start so far, where a trace is kept; owned         */
};

/* How far the other starts with a model agree with the best one. */
struct starts_agreement {
    int others;    /* how many they are                                                   */
    int agree;     /* how many have the same components as the best                       */
    int different; /* how many have an equally good fit, but other components             */
};

/* `asked` starts with the seeds `seed`, `seed` + 1, ... `model`, which may be NULL, is the array of
 * models of another rank of this process, to be used by both. The caller frees *s; it is empty on
 * failure. STATUS_MEMORY. */
enum status starts_create(struct starts *s, int asked, uint64_t seed, struct ktensor *model,
                          struct error *error);

/* Accepts an empty one. */
void starts_free(struct starts *s);

/* Notes the result of the next start. If it is the best so far, swaps its trace, which may be
 * NULL, with the one that was kept. */
void starts_note(struct starts *s, const struct cpals_result *result, struct fit_trace *trace);

/* If *error is a numerical breakdown: notes it with *result for the next start, shows it if there
 * are several starts, empties *error and returns true. The backend can be loaded again. */
bool starts_note_breakdown(struct starts *s, const struct cpals_result *result,
                           struct progress *progress, struct error *error);

/* STATUS_NUMERICAL, with the reason of the first start, if starts were made and none has a model.
 */
enum status starts_check(const struct starts *s, struct error *error);

/* After the last start: gives the trace of the best one back, unless `trace` is NULL. */
void starts_give_trace(struct starts *s, struct fit_trace *trace);

/* Whether to make another start. */
bool starts_go_on(const struct starts *s);

/* Whether a signal or the time limit has ended the starts. */
bool starts_ended(const struct starts *s);

/* The options of the next start: they ask for the core consistency only if its fit becomes the best
 * so far. */
struct cpals_options starts_options(const struct starts *s, const struct cpals_options *options);

/* Fills in the scores, moves the best model to *best, and frees the others. Some start must have a
 * model. STATUS_MEMORY. */
enum status starts_take_best(struct starts *s, struct ktensor *best, struct error *error);

/* With rates: the difference between the best and the worst log-likelihood of the starts, in
 * nats (natural units) for each of `entries` listed entries. With squares: 0. */
double starts_spread(const struct starts *s, uint64_t entries);

/* After starts_take_best, which fills in the scores. */
struct starts_agreement starts_agreement(const struct starts *s);

#endif
