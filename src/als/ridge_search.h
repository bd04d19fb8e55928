/* Chooses the ridge with the least held-out error. Runs try 1 and 3 times powers of ten, first
 * upwards, else downwards, while the error falls by a thousandth and exceeds a thousandth of the
 * values. */
#ifndef BLCO_RIDGE_SEARCH_H
#define BLCO_RIDGE_SEARCH_H

#include <stdbool.h>

#include "problem/problem.h"

#define RIDGE_TRIALS 16 /* at most */

/* Empty without --ridge auto. */
struct ridge_search {
    int count;                  /* of ridges that were tried                        */
    double ridge[RIDGE_TRIALS]; /* (count)                                          */
    double held[RIDGE_TRIALS];  /* (count): the held-out error; infinite without a model */
    double best;                /* the ridge with the least held-out error so far   */
    double least;               /* that error                                       */
    double enough;              /* a held-out error below this is small enough      */
    int step;                   /* the place, among all ridges, of the one from which the search
                                 * goes on: 0 for 1, 1 for 3                             */
    int direction;              /* 1: upwards, -1: downwards                        */
    bool ended;                 /* no other ridge is to be tried                    */
};

/* Begins with a ridge that suits a model of entries of this size (root of the mean square) and a
 * tensor of this order. */
void ridge_search_begin(struct ridge_search *s, enum ridge_scale scale, double size, int order);

/* *ridge = the next one to try. False where the choice is made: s->best. */
bool ridge_search_next(const struct ridge_search *s, double *ridge);

/* Notes the held-out error of the ridge that ridge_search_next gave. */
void ridge_search_note(struct ridge_search *s, double ridge, double held);

/* Ends the search with this ridge. */
void ridge_search_end(struct ridge_search *s, double ridge);

#endif
