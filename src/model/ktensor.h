/* The CP model: X ~ sum_r lambda_r a_r(0) o a_r(1) o ... o a_r(N-1). */
#ifndef BLCO_KTENSOR_H
#define BLCO_KTENSOR_H

#include <stdint.h>

#include "base/error.h"
#include "tensor/coo.h"

struct ktensor {
    struct shape shape;
    uint64_t rank;             /* R                                       */
    double *lambda;            /* (R); owned                              */
    double *factor[MAX_ORDER]; /* (I_n x R), row-major, for n < order; owned */
};

/* Factors uninitialised, lambda all one. On failure *k is empty. */
enum status ktensor_create(struct ktensor *k, const struct shape *shape, uint64_t rank,
                           struct error *error);
void ktensor_free(struct ktensor *k);

enum ktensor_init { KTENSOR_RANDOM, KTENSOR_NORMAL };

/* Fills the factors: uniform on [0, 1) or standard normal. Entry (n, i, r) of a seed is a function
 * of (seed, n, i, r) alone, so neither threads nor backend change the start. lambda becomes all
 * one. */
void ktensor_randomise(struct ktensor *k, enum ktensor_init init, uint64_t seed);

/* Brings the model into its standard form without changing the tensor that it stands for: columns
 * of unit 2-norm (a zero column stays zero and makes its lambda zero), lambda >= 0 in descending
 * order, and signs flipped in pairs so that every column's entry of largest magnitude is positive
 * in as many modes as an even number of flips allows (the last mode takes the odd sign). */
enum status ktensor_arrange(struct ktensor *k, struct error *error);

/* Factor match score of two models of the same shape (Tensor Toolbox's `score`): components matched
 * greedily, best first; a pair's score is the product over modes of |cos| of the columns, times
 * 1 - |la - lb| / max(la, lb) where `with_lambda`. The mean over b's components into *score; where
 * component is not NULL, component[r] (b's R) receives the score of b's component r. */
enum status ktensor_score(const struct ktensor *a, const struct ktensor *b, int with_lambda,
                          double *score, double *component, struct error *error);

#endif
