/* How well a model predicts the entries that were held out (struct holdout_set). */
#pragma once

#include "backend/backend.h"
#include "ranks/holdout_places.h"
#include "ranks/rank_tensor.h"

/* The same on all ranks. With x the value of a held-out entry and m the model's there: */
struct holdout_error {
    uint64_t entries;    /* held out by all ranks; 0: none, and all else is 0              */
    enum loss_name loss; /* of the model                                                */
    double value; /* the held-out error: of squares the RMSE, of counts the mean deviance, where
                   * a rate counts as at least a thousandth of the mean count */
    double error; /* its standard error                                             */
    double rmse;  /* the root of the mean of (x - m)^2                              */
    double mae;   /* the mean of |x - m|                                            */
    double log_likelihood; /* of counts: that of all held-out entries                        */
    uint64_t unlisted; /* unlisted entries with which `auc` compares the others; 0: auc is not known
                        */
    double auc; /* the probability that m is larger at a held-out entry than at one that was not
                 * listed; equal ones count half                                             */
    double log_loss; /* of binary values, with `auc`: the mean of -log P over both kinds of entries
                      */
    struct place_scores places; /* of the whole model, which rank 0 alone has */
};

/* *e = that of the model of b; with `all` also the auc, for which each rank gathers the values of
 * all. Every rank calls it, between an update and the next step. Errors of backend_values;
 * STATUS_MEMORY. */
enum status holdout_error_find(struct holdout_error *e, struct backend *b,
                               const struct holdout_set *set, bool all, struct error *error);

/* The root of the mean square of the held-out values, of all ranks. Errors of comm_allreduce_sum.
 */
enum status holdout_error_size(double *size, const struct holdout_set *set, struct comm *c,
                               struct error *error);
