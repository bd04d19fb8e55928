/* The simplest model of a tensor of counts, with which a fit compares: it is for a Poisson
 * likelihood what the norm is for squares. */
#pragma once

#include "formats/blco/blco_file.h"
#include "problem/loss.h"
#include "ranks/rank_rows.h"

struct count_null {
    double total;    /* the sum of all values, or of equal rates that explain them      */
    double mean;     /* their mean over the entries that count, each by its weight    */
    double deviance; /* half of the null model's deviance: the sum of its misfits
                      * (numerics/poisson_term.h)                                      */
    double perfect;  /* the log-likelihood of the saturated model: of counts, whose rates are the
                      * values themselves, the sum of x log x - x - log gamma(x + 1)   */
};

/* How entries count: what the loss is, and weights as in numerics/poisson_term.h. */
struct count_weights {
    const struct loss *loss; /* of rates */
    bool weighed;            /* else all entries count alike */
    double unlisted;         /* h                            */
    int exponent; /* the values are those of the tensor divided by 2^exponent; `perfect` is that
                   * of the tensor                                                  */
};

/* *null of the tensor of all ranks, of which x is this rank's part. With `file`, which one rank
 * gives, x has only the shape, and the nonzeros are read from the file some at a time. Where all
 * entries count alike, and the loss has such a null model, it is the product of the margins (the
 * sums over slices): independent modes. Otherwise all its rates are equal. Where the tensor is
 * nearly such a model itself, `deviance` is `total`, so that it can be divided by. STATUS_INPUT
 * where the loss does not take a value, or all are zero; STATUS_MEMORY; failures of other ranks. */
enum status count_null_find(struct count_null *null, const struct coo *x,
                            const struct blco_file *file, const struct rank_rows *rows,
                            const struct count_weights *w, struct error *error);
