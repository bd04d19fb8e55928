/* The runs of ALS that one model comes from: a list of those that are asked for, a table of what
 * came out of each, and what they say together. In order there are runs that each try a ridge
 * (--ridge auto), the starts on the tensor, and as many starts on each of its replicates
 * (--replicate, --split-half). What has come out decides which run is the next one. */
#pragma once

#include <stdbool.h>

#include "als/cpals.h"
#include "model/ktensor_match.h"
#include "problem/problem.h"
#include "tensor/slice_parts.h"

/* Chooses the ridge with the least held-out error. Runs try 1 and 3 times powers of ten, first
 * upwards, else downwards, while the error falls by a thousandth and exceeds a thousandth of the
 * values. */

#define RIDGE_TRIALS 16 /* at most */

/* Empty without --ridge auto. */
struct ridge_search {
    int count;                          /* of ridges that were tried                        */
    double ridge[RIDGE_TRIALS];         /* (count)                                          */
    double holdout_error[RIDGE_TRIALS]; /* (count): the held-out error; infinite without a model */
    double best;                        /* the ridge with the least held-out error so far   */
    double least;                       /* that error                                       */
    double enough;                      /* a held-out error below this is small enough      */
    int step;      /* the place, among all ridges, of the one from which the search
                    * goes on: 0 for 1, 1 for 3                             */
    int direction; /* 1: upwards, -1: downwards                        */
    bool ended;    /* no other ridge is to be tried                    */
};

/* Begins with a ridge that suits a model of entries of this size (root of the mean square) and a
 * tensor of this order. */
void ridge_search_begin(struct ridge_search *s, enum ridge_scale scale, double size, int order);

/* *ridge = the next one to try. False where the choice is made: s->best. */
bool ridge_search_next(const struct ridge_search *s, double *ridge);

/* Notes the held-out error of the ridge that ridge_search_next gave. */
void ridge_search_note(struct ridge_search *s, double ridge, double holdout_error);

/* Two components whose factor match score is this or more count as the same (U. Lorenzo-Seva,
 * J. M. F. ten Berge: Tucker's congruence coefficient as a meaningful index of factor similarity,
 * Methodology 2, 2006, on the cosine of two columns; here of all modes together). */
#define STARTS_SAME 0.95

/* Fits that differ by less than this part of the best one count as equally good. */
#define STARTS_EQUAL_FIT 1e-3

/* --starts auto ends when the best model was found so often, or after so many starts. */
#define STARTS_ENOUGH 3
#define STARTS_MOST   30

/* Which runs are asked for. */
struct run_list {
    int starts;       /* on the tensor, and on each replicate; with until_found the most of them */
    bool until_found; /* --starts auto: none after the best was found STARTS_ENOUGH times */
    struct initial_guess guess; /* of the first start on each; the others are random. The seeds
                                 * follow each other, from this one, over all replicates        */
    bool choose_ridge;          /* the ridge of all modes is chosen first, from the first start */
    struct slice_parts parts;   /* which the replicates leave out; mode 0: there are none       */
    uint64_t nonzeros[MOST_REPLICATES]; /* of each replicate (replication_check)                */
};

/* The most runs that there can be. */
size_t run_list_most(const struct run_list *list);

/* How many models are in host memory together, at most: those of all starts on the tensor (with
 * until_found the best and the last one), and the best one of each replicate. */
uint64_t run_list_models(const struct run_list *list);

/* A run, and what came out of it. */
struct run {
    int replicate; /* 0: the run is on the whole tensor; else on this replicate, from 1           */
    bool trial; /* of a ridge: its model is not kept                                            */
    struct initial_guess guess;
    double ridge;               /* of all modes; 0: that of the problem                        */
    struct cpals_result result; /* stop CPALS_BREAKDOWN: there is no model                     */
    double communication;       /* seconds of iterations in which rows and sums moved, waiting
                                 * included                                                    */
    double score; /* factor match score of its model with that of the best start, without weights;
                   * 1 for the best itself. With until_found: with the best so far; NaN after a
                   * better one with other components                                           */
};

/* The starts on the tensor or on a replicate, in the table. */
struct starts {
    int asked;        /* how many starts to make                                           */
    bool until_found; /* as in the list: `asked` is the most                           */
    int made;         /* how many were made: fewer after a signal or the time limit        */
    int modelled;     /* how many of these have a model: the others broke down             */
    int best;         /* the start whose model has the highest fit, or the least held-out error */
    const struct run *start; /* (made); borrowed                                       */
};

struct runs {
    struct run_list list;
    int count;             /* of runs that were made                                            */
    struct run *run;       /* (count) in their order; owned                                     */
    struct ktensor *model; /* [i]: of run i, arranged (ktensor_arrange), until it is taken; of the
                            * starts on a replicate the best one so far alone                   */
    bool borrows;          /* `model` is another rank's; else owned                             */
    struct starts *starts; /* (1 + replicates): on the tensor and on each replicate; owned      */
    struct ridge_search ridge; /* empty unless list.choose_ridge                                */
};

/* How far the other starts with a model agree with the best one. */
struct starts_agreement {
    int others;    /* how many they are                                                   */
    int agree;     /* how many have the same components as the best                       */
    int different; /* how many have an equally good fit, but other components             */
};

/* An empty table. `model`, which may be NULL, is the array of models of another rank of this
 * process, to be used by both. The caller frees *s; it is empty on failure. STATUS_MEMORY. */
enum status runs_create(struct runs *s, const struct run_list *list, struct ktensor *model,
                        struct error *error);

/* Accepts an empty one. */
void runs_free(struct runs *s);

/* *next = the run to make now, without an outcome; false where there is none: all were made, a
 * signal or the time limit has ended one, or no start on the tensor or on a replicate has a model.
 */
bool runs_next(const struct runs *s, struct run *next);

/* Notes a run that was made. A trial that a signal or the time limit has ended is noted as a start,
 * too. */
void runs_note(struct runs *s, const struct run *run);

/* Whether the model of a run is better than that of another one on the same entries: by the
 * held-out error, else by the fit. */
bool runs_better(const struct cpals_result *a, const struct cpals_result *b);

/* With until_found, after runs_note: notes the score of the last run's model with that of `before`,
 * the best on the same entries until then. */
void runs_compare(struct runs *s, const struct run *before, double score);

/* The best start on the tensor (0) or on a replicate; NULL where none has a model. */
const struct run *runs_best(const struct runs *s, int replicate);

/* STATUS_NUMERICAL, with the reason of the first start, if starts on the whole tensor were made and
 * none has a model. */
enum status runs_check(const struct runs *s, struct error *error);

/* Whether a signal or the time limit has ended the runs; the signal (cpals_result.interrupted), or
 * 0. */
bool runs_ended(const struct runs *s);
int runs_interrupted(const struct runs *s);

/* Moves the best model of the starts on the tensor (0) or on a replicate to *best, and frees the
 * others that are there, after their scores are filled in. Some start must have a model.
 * STATUS_MEMORY. */
enum status runs_take_best(struct runs *s, int replicate, struct ktensor *best,
                           struct error *error);

/* With rates: the difference between the best and the worst log-likelihood of the starts, in
 * nats (natural units) for each of `entries` listed entries. With squares: 0. */
double starts_spread(const struct starts *s, uint64_t entries);

/* How many starts, with the best one, have its components and an equally good fit. Like the next
 * one, after runs_take_best or runs_compare, which fill in the scores. */
int starts_found(const struct starts *s);

/* Whether all starts that are asked for were made. */
bool starts_complete(const struct starts *s);

struct starts_agreement starts_agreement(const struct starts *s);
