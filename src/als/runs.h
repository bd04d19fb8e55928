/* The runs of ALS that one model comes from: a list of those that are asked for, a table of what
 * came out of each, and what they say together. In order there are runs that each try a ridge
 * (--ridge auto), the starts on the tensor, and as many starts on each of its halves
 * (--split-half). What has come out decides which run is the next one. */
#ifndef BLCO_RUNS_H
#define BLCO_RUNS_H

#include "als/cpals.h"
#include "als/ridge_search.h"
#include "tensor/halves.h"

/* Two components whose factor match score is this or more count as the same (U. Lorenzo-Seva,
 * J. M. F. ten Berge: Tucker's congruence coefficient as a meaningful index of factor similarity,
 * Methodology 2, 2006, on the cosine of two columns; here of all modes together). */
#define STARTS_SAME 0.95

/* Fits that differ by less than this part of the best one count as equally good. */
#define STARTS_EQUAL_FIT 1e-3

#define RUNS_PARTS 3 /* of the tensor: 0 is all of it, 1 and 2 are its halves */

/* Which runs are asked for. */
struct run_list {
    int starts;                 /* on each part                                                 */
    struct initial_guess guess; /* of the first start on each part; the others are random. The seeds
                                 * follow each other, from this one, over all parts             */
    bool choose_ridge;          /* the ridge of all modes is chosen first, from the first start */
    struct halves halves;       /* mode 0: the tensor is not split                              */
    uint64_t nonzeros[2];       /* of each half (split_half_check)                              */
};

/* A run, and what came out of it. */
struct run {
    int part;
    bool trial; /* of a ridge: its model is not kept                                            */
    struct initial_guess guess;
    double ridge;               /* of all modes; 0: that of the problem                        */
    struct cpals_result result; /* stop CPALS_BREAKDOWN: there is no model                     */
    double communication;       /* seconds of iterations in which rows and sums moved, waiting
                                 * included                                                    */
    double score; /* factor match score of its model with that of the best start, without weights;
                   * 1 for the best itself                                                      */
};

/* The starts on one part, in the table. */
struct starts {
    int asked;    /* how many starts to make                                           */
    int made;     /* how many were made: fewer after a signal or the time limit        */
    int modelled; /* how many of these have a model: the others broke down             */
    int best;     /* the start whose model has the highest fit, or the least held-out error */
    const struct run *start; /* (made); borrowed                                       */
};

struct runs {
    struct run_list list;
    int count;                        /* of runs that were made                                 */
    struct run *run;                  /* (count) in their order; owned                          */
    struct ktensor *model;            /* [i]: of run i, arranged (ktensor_arrange), until it is
                                       * taken                                                  */
    bool borrows;                     /* `model` is another rank's; else owned                  */
    struct starts starts[RUNS_PARTS]; /* of each part                                           */
    struct ridge_search ridge;        /* empty unless list.choose_ridge                         */
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
 * signal or the time limit has ended one, or no start on a part has a model. */
bool runs_next(const struct runs *s, struct run *next);

/* Notes a run that was made. A trial that a signal or the time limit has ended is noted as a start,
 * too. */
void runs_note(struct runs *s, const struct run *run);

/* The best start on a part; NULL where none has a model. */
const struct run *runs_best(const struct runs *s, int part);

/* STATUS_NUMERICAL, with the reason of the first start, if starts on the whole tensor were made and
 * none has a model. */
enum status runs_check(const struct runs *s, struct error *error);

/* Whether a signal or the time limit has ended the runs; the signal (cpals_result.interrupted), or
 * 0. */
bool runs_ended(const struct runs *s);
int runs_interrupted(const struct runs *s);

/* Fills in the scores of the starts on a part, moves the best model to *best, and frees the others
 * of the part. Some start must have a model. STATUS_MEMORY. */
enum status runs_take_best(struct runs *s, int part, struct ktensor *best, struct error *error);

/* With rates: the difference between the best and the worst log-likelihood of the starts, in
 * nats (natural units) for each of `entries` listed entries. With squares: 0. */
double starts_spread(const struct starts *s, uint64_t entries);

/* After runs_take_best, which fills in the scores. */
struct starts_agreement starts_agreement(const struct starts *s);

#endif
