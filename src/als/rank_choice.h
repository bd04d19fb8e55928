/* Suggests one of several ranks R, by the models that were found with each. */
#ifndef BLCO_RANK_CHOICE_H
#define BLCO_RANK_CHOICE_H

#include "als/runs.h"

/* How alike the two halves of the tensor are, where it is split (split_half_compare). */
struct halves_outcome {
    bool asked;     /* the tensor is split                                        */
    bool known;     /* both halves have a model                                   */
    double score;   /* the factor match score of these                            */
    uint64_t alike; /* how many components of the whole both halves have           */
};

/* The result of one rank R. */
struct rank_outcome {
    uint64_t rank;
    struct cpals_result result; /* of the best start                                           */
    struct starts_agreement agreement;
    struct halves_outcome halves;
    double ridge;         /* that --ridge auto has chosen, or 0                                */
    struct error failure; /* why there is no model; else empty                                 */
};

/* What the runs with one rank R have led to, or why there is no model: *failure. */
struct rank_outcome rank_outcome(uint64_t rank, const struct runs *runs,
                                 const struct split_half *halves, const struct error *failure);

/* What some of these outcomes (count) have, as bits. */
enum rank_known {
    RANKS_MODEL = 1,
    RANKS_CORE = 2,      /* a core consistency that is known */
    RANKS_HOLDOUT = 4,   /* a held-out error                  */
    RANKS_AGREEMENT = 8, /* several starts to compare */
    RANKS_HALVES = 16,   /* a tensor that is split            */
    RANKS_RIDGE = 32     /* a ridge that was chosen           */
};
unsigned rank_known(const struct rank_outcome *outcome, int count);

/* The index in outcome (count) of the largest rank whose core consistency is CORE_SOUND or more and
 * where at least half of the other starts agree with the best one; -1 if there is none. */
int rank_choice(const struct rank_outcome *outcome, int count);

/* With held-out entries: the index of the smallest rank whose held-out error is no more than its
 * standard error above the least of all (L. Breiman et al.: Classification and regression trees,
 * 1984, section 3.4.3); -1 if there is none. */
int rank_choice_holdout(const struct rank_outcome *outcome, int count);

/* With --split-half: the index of the largest rank whose components are all alike in both halves;
 * -1 if there is none. */
int rank_choice_halves(const struct rank_outcome *outcome, int count);

#define RANK_CHOICE_TEXT 256

/* Returns the rank to suggest, or 0: by the halves of a tensor that is split, else by the held-out
 * error where there is one, else by the core consistency. Rank 1 is suggested by the held-out error
 * alone: its core consistency is always 100, and its component nearly always in both halves. text
 * (RANK_CHOICE_TEXT) = a sentence with the suggestion and its reason. */
uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text);

#endif
