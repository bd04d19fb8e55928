/* Split-half analysis: are the components of a model found again in each half of its tensor? A
 * component that only one half leads to is no property of the data (R. A. Harshman, W. S. DeSarbo:
 * *An application of PARAFAC to a small sample problem, demonstrating preprocessing, orthogonality
 * constraints, and split-half diagnostic techniques*, in Research Methods for Multimode Data
 * Analysis, Praeger, 1984). */
#ifndef BLCO_SPLIT_HALF_H
#define BLCO_SPLIT_HALF_H

#include "als/runs.h"
#include "model/ktensor_match.h"
#include "ranks/rank_tensor.h"

/* A component is alike in both halves if its factor match scores are this or more: that of its
 * partners in the halves with each other, and its own with each of them. A score is the product of
 * the cosines of all modes but that of the halves: of three modes about 0.95 in each, from which on
 * columns count as equal (the paper that runs.h names). */
#define HALVES_ALIKE 0.9

enum split_half_state {
    HALVES_ENDED,     /* the run ended before both halves had their models */
    HALVES_BREAKDOWN, /* no start of a half gave a model                  */
    HALVES_COMPARED
};

/* A component of the whole, and its partners in both halves. */
struct half_partners {
    uint64_t pair;  /* struct ktensor_match: the pair that its partner in the first half is in */
    double with[2]; /* its score with its partner in each half                                 */
    double score;   /* the least of these two and of the pair's                                */
};

/* What the runs of the halves say. */
struct split_half {
    struct halves halves;    /* mode 0: the tensor is not split, and the rest is empty            */
    uint64_t nonzeros[2];    /* of each half                                                      */
    struct starts starts[2]; /* of each half                                                      */
    enum split_half_state state;
    struct ktensor_match match; /* of the halves' best models, in all modes but that of the halves;
                                 * without weights, since one half may have more of a component;
                                 * owned */
    struct half_partners *component; /* (R) of the whole; owned                              */
    uint64_t least;                  /* the component of the whole with the least score      */
    uint64_t alike;                  /* how many components of the whole both halves have    */
};

/* Counts the nonzeros of both halves of t, whose nonzeros have been read, and refuses a tensor that
 * cannot be split so. Every rank calls it. STATUS_INPUT, and failures of other ranks. */
enum status split_half_check(struct run_list *list, const struct rank_tensor *t,
                             struct error *error);

/* On the rank that has the whole models, after decompose: compares those of the halves, which it
 * frees, with each other and with `model`, that of the whole tensor. *s borrows from the runs. The
 * caller frees *s with split_half_free, after a failure too. STATUS_MEMORY. */
enum status split_half_compare(struct split_half *s, struct runs *runs, const struct ktensor *model,
                               struct error *error);

/* Accepts an empty one. */
void split_half_free(struct split_half *s);

#endif
