/* Split-half analysis: are the components of a model found again in each half of its tensor? A
 * component that only one half leads to is no property of the data (R. A. Harshman, W. S. DeSarbo:
 * *An application of PARAFAC to a small sample problem, demonstrating preprocessing, orthogonality
 * constraints, and split-half diagnostic techniques*, in Research Methods for Multimode Data
 * Analysis, Praeger, 1984). */
#ifndef BLCO_SPLIT_HALF_H
#define BLCO_SPLIT_HALF_H

#include "als/decompose.h"
#include "model/ktensor_match.h"
#include "ranks/half_tensor.h"

/* A component is alike in both halves if its factor match scores are this or more: that of its
 * partners in the halves with each other, and its own with each of them. A score is the product of
 * the cosines of all modes but that of the halves: of three modes about 0.95 in each, from which on
 * columns count as equal (the paper that starts.h names). */
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

/* Begins with no model. The halves make `asked` starts each; all three models begin from seeds of
 * their own, which follow those of the whole, `seed`, `seed` + 1, ... `first`, which may be NULL,
 * has the models of a rank of this process whose memory is shared (starts_create). The caller frees
 * *s with split_half_free, after a failure too. STATUS_MEMORY. */
enum status split_half_create(struct split_half *s, const struct halves *halves, int asked,
                              uint64_t seed, const struct split_half *first, struct error *error);

/* Counts the nonzeros of both halves of t, whose nonzeros have been read, and refuses a tensor that
 * cannot be split so. Every rank calls it. STATUS_INPUT, and failures of other ranks. */
enum status split_half_check(struct split_half *s, const struct rank_tensor *t,
                             struct error *error);

/* Decomposes one half after the other, as the whole was: with its options, but without its
 * checkpoint, its trace and its held-out entries, and with more iterations until they converge. t
 * still has its nonzeros. Every rank calls it. A signal or the time limit ends it early. Errors as
 * backend_prepare and decompose; a half without a model is no error. */
enum status split_half_run(struct split_half *s, const struct rank_tensor *t,
                           const struct backend_kind *kind, const struct backend_options *options,
                           const struct decomposition *d, struct error *error);

/* On the rank that has the whole models, after split_half_run: compares those of the halves with
 * each other and with `model`, that of the whole tensor. STATUS_MEMORY. */
enum status split_half_compare(struct split_half *s, const struct ktensor *model,
                               struct error *error);

/* Whether a signal or the time limit has ended it. */
bool split_half_ended(const struct split_half *s);

/* The signal that has ended it (cpals_result.interrupted), or 0. */
int split_half_interrupted(const struct split_half *s);

/* Accepts an empty one. */
void split_half_free(struct split_half *s);

#endif
