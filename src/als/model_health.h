/* Whether components of a model cancel each other, or became zero, by its weights and Grams. R x R
 * work; no pass over rows or nonzeros.
 *
 * The congruence of two components is the product over the modes of the cosines of the angles
 * between their columns: the cosine of the angle between the components themselves. Components with
 * a congruence near -1 nearly cancel each other. If their weights go on growing, the tensor has no
 * best model of this rank, or the way to it is very long: such components are called degenerate and
 * are not meaningful on their own (J. B. Kruskal, R. A. Harshman, M. E. Lundy: How 3-MFA data can
 * cause degenerate PARAFAC solutions, among other relationships, Multiway Data Analysis, 1989). */
#pragma once

#include "backend/backend.h"

#define HEALTH_CONGRUENCE (-0.95) /* below it, components of growing weight are degenerate */
#define HEALTH_RESTED     (-0.9)  /* to which the ridge brings the congruence              */
#define HEALTH_DEAD                                                                                \
    1e-30                  /* of the largest weight: below it, a component is zero; of             \
                            * nonnegative ones a floor is left (numerics/nonneg.h) */
#define HEALTH_GROWTH 1.01 /* by which a weight has grown, at least                 */

struct model_health {
    uint64_t degenerate; /* pairs of components                                              */
    uint64_t pair[2];    /* the pair with the lowest congruence: numbers, from 1, in the arranged
                          * model                                                            */
    double congruence;   /* of that pair                                                     */
    double growth;       /* of that pair: the factor by which its weights' product grew ...  */
    int since;           /* ... since this iteration                                         */
    uint64_t zero;       /* components of weight zero                                        */
    double ridge;        /* a ridge that would help, see model_health                        */
};

/* The weights after two earlier iterations: the last ones whose numbers are powers of two. */
struct weight_history {
    uint64_t rank;
    double *recent, *older;  /* (R): after iterations recent_at and older_at; owned */
    int recent_at, older_at; /* 0: none                                             */
};

/* The caller frees *h; it is empty on failure. STATUS_MEMORY. */
enum status weight_history_create(struct weight_history *h, uint64_t rank, struct error *error);

/* Accepts an empty one. */
void weight_history_free(struct weight_history *h);

/* Call it after each iteration, from 1. Errors of backend_weights. */
enum status weight_history_note(struct weight_history *h, struct backend *b, int iteration,
                                struct error *error);

/* *health of the model in b, after `iteration`. Whether weights grow is known after the second
 * iteration.
 *
 * The ridge: each step solves A (V + ridge) = M and so minimises ||X - Y||^2 + ridge ||A||^2. V, of
 * unit columns, has ones on its diagonal, so that a ridge means the same for every tensor. Take the
 * tensor with no best model of rank 2, a o a o b + a o b o a + b o a o a, of norm t, and its models
 * (c o c o c - d o d o d) / (2 e) with c = a + e b, d = a - e b. Their components have a congruence
 * g with 1 + g = 6 e^2 and weights with ||A||^2 = t^2 / (1 + g), and the residual is e^2 b o b o b,
 * whose square is t^2 (1 + g)^2 / 108. The sum to be minimised is least where (1 + g)^3 = 54 ridge.
 * The ridge for HEALTH_RESTED keeps components from degenerating at little cost.
 *
 * STATUS_MEMORY; errors of backend_gram. */
enum status model_health(struct model_health *health, struct backend *b,
                         const struct weight_history *history, int iteration, struct error *error);
