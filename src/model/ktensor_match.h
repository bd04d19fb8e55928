/* Which components of two models belong together, and how alike they are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/ktensor.h"

#define NO_PARTNER UINT64_MAX

/* A component of A and a component of B. The cosine of a mode is that of the angle between the
 * components' columns in this mode, from -1 to 1; 0 where a column is zero. */
struct ktensor_pair {
    uint64_t a, b;     /* the components' numbers, from 0                                  */
    double congruence; /* cosine of the angle between the components, weights' signs included:
                        * the product of the modes' cosines, -1 for opposite components    */
    double score;      /* |congruence|, with weights times the smaller |weight| / the larger one */
};

struct ktensor_match {
    bool with_weights;         /* whether weights count in scores                           */
    int order;                 /* N, the number of modes that are compared                  */
    int mode[MAX_ORDER];       /* (N) these modes, from 0, in ascending order               */
    uint64_t pairs;            /* the smaller one of the models' ranks                      */
    struct ktensor_pair *pair; /* (pairs) in ascending order of a; owned                    */
    double *cosine;            /* (pairs x N) of each pair and mode; owned                  */
    uint64_t rank_a, rank_b;
    double *weight_a, *weight_b;     /* (Ra), (Rb) lambda times the norms of the columns; owned   */
    uint64_t *partner_a, *partner_b; /* (Ra), (Rb) a component of the other model, or NO_PARTNER;
                                      * owned */
    double score;                    /* the factor match score: the mean of the pairs' scores */
    double congruence;               /* the mean of the pairs' |congruences|                      */
};

/* *match = the pairs of components whose scores have the largest sum that there is
 * (assignment_solve), each component in one pair at most. `score` is the factor match score (E.
 * Acar, D. M. Dunlavy, T. G. Kolda, M. Morup: Scalable tensor factorizations for incomplete data,
 * Chemometrics and Intelligent Laboratory Systems 106, 2011); with `with_weights`, weights
 * count, too. Compared are the modes whose flags modes[0..order) are set, at least one; NULL: all.
 * The columns of the others only count in the weights. Entries may be so large or so small that
 * their squares are not numbers. Takes memory for (N + 1) Ra Rb doubles. The caller frees *match,
 * which is empty on failure. STATUS_INPUT if the orders or the lengths of compared modes differ,
 * STATUS_MEMORY. */
enum status ktensor_match(struct ktensor_match *match, const struct ktensor *a,
                          const struct ktensor *b, bool with_weights, const bool *modes,
                          struct error *error);

/* Accepts an empty one. */
void ktensor_match_free(struct ktensor_match *match);

/* *score = the factor match score of two models of the same shape (Tensor Toolbox's `score`), whose
 * components ktensor_match matches. The score of a pair is the product over modes of
 * |cos| of the angle between the columns; if `with_lambda`, times 1 - |la - lb| / max(la, lb),
 * where la and lb are the components' |lambda| times the norms of their columns. *score is the mean
 * over b's components; a component without a partner counts 0. component (R of b) receives the
 * score of each of b's components; it may be NULL. STATUS_INPUT if the shapes differ,
 * STATUS_MEMORY. */
enum status ktensor_score(const struct ktensor *a, const struct ktensor *b, int with_lambda,
                          double *score, double *component, struct error *error);

/* The assignment problem: each row of a matrix of scores gets a column of its own so that the sum
 * of their scores is the largest possible. */

/* column (rows) = the column of each row. score (rows x columns, row-major) is finite, and
 * rows <= columns. By shortest augmenting paths, in rows^2 * columns steps at most (R. Jonker and
 * A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment
 * problems, Computing 38, 1987). The sum is the largest up to rounding. STATUS_MEMORY. */
enum status assignment_solve(const double *score, uint64_t rows, uint64_t columns, uint64_t *column,
                             struct error *error);
