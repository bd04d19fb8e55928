/* Suggests one of several ranks R, by the models that were found with each. */
#pragma once

#include "als/replication.h"

/* How alike the replicates of the tensor are (replication_compare). */
struct replication_outcome {
    bool asked;           /* there are replicates                                             */
    bool halves;          /* which are two halves                                             */
    bool known;           /* all of them were compared                                        */
    size_t pairs;         /* of replicates that were compared, known or not                   */
    double *score;        /* (pairs) their factor match scores; owned                         */
    double least, median; /* of these; NaN without pairs                                      */
    uint64_t alike;       /* how many components of the whole are found again                 */
};

/* The result of one rank R. */
struct rank_outcome {
    uint64_t rank;
    struct cpals_result result; /* of the best start                                           */
    struct starts_agreement agreement;
    struct replication_outcome replication;
    double ridge;         /* that --ridge auto has chosen, or 0                                */
    struct error failure; /* why there is no model; else empty                                 */
};

/* What the runs with one rank R have led to, or why there is no model: *failure. Takes the scores
 * from *replication; the caller frees those of the outcome. */
struct rank_outcome rank_outcome(uint64_t rank, const struct runs *runs,
                                 struct replication *replication, const struct error *failure);

/* What some of these outcomes (count) have, as bits. */
enum rank_known {
    RANKS_MODEL = 1,
    RANKS_CORE = 2,        /* a core consistency that tells something */
    RANKS_HOLDOUT = 4,     /* a held-out error                  */
    RANKS_AGREEMENT = 8,   /* several starts to compare */
    RANKS_REPLICATES = 16, /* replicates of the tensor            */
    RANKS_TWO_HALVES = 32, /* ... which are two halves            */
    RANKS_RIDGE = 64       /* a ridge that was chosen           */
};
unsigned rank_known(const struct rank_outcome *outcome, int count);

/* Whether a model was found again, as that of a candidate must be. With replicates, they find
 * all of its components again; else, where several starts were made, some other starts
 * lead to them: one, or half of them if no entries are held out, since many starts find the best
 * model of too many components again, too. In no case do as many starts fit as well with other
 * components. `known`: of all outcomes (rank_known). */
bool rank_found_again(const struct rank_outcome *outcome, unsigned known);

/* What a choice follows from. */
enum rank_rule {
    RANK_HOLDOUT, /* the smallest candidate whose held-out error is no more than its standard error
                   * above the least of the candidates (L. Breiman et al.: Classification and
                   * regression trees, 1984, section 3.4.3) */
    RANK_FOUND,   /* no entries are held out: the largest candidate                      */
    RANK_CORE     /* nor are there several starts or replicates: the largest rank whose core
                   * consistency is CORE_SOUND or more                                   */
};

struct rank_choice {
    enum rank_rule rule;
    uint64_t rank;    /* the rank to suggest, or 0                                         */
    uint64_t holdout; /* that the held-out error says if all ranks are candidates, or 0    */
};

/* Chooses from the outcomes (count). Rank 1 is suggested by the held-out error alone: its core
 * consistency is always 100, and its component nearly always found again. It is not suggested where
 * the held-out error of all ranks says another, which is no candidate. The rule was chosen by
 * scripts/bench-rank-choice. */
struct rank_choice rank_choose(const struct rank_outcome *outcome, int count);

#define RANK_CHOICE_TEXT 512

/* Returns the rank that rank_choose suggests, or 0; text (RANK_CHOICE_TEXT) = a sentence with the
 * suggestion and its reasons. */
uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text);
