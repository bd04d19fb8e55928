/* The mean of a tensor's known entries, and shrunken means of its slices: the simplest model of
 * ratings. `blco cpd --values center:MODES` takes them off before it decomposes what is left, and
 * held-out errors are compared with theirs. */
#pragma once

#include "model/ktensor.h"
#include "problem/problem.h"
#include "ranks/rank_tensor.h"

/* The shrinkage where none is given: about the variance of a rating over that of users' or items'
 * means, in data sets of ratings 5 to 25 (Y. Koren, ACM Transactions on Knowledge Discovery from
 * Data 4, 2010, has 10 and 25). */
#define SLICE_SHRINKAGE 10

/* Their value at an entry is the mean plus the means of its slices, or, of rates, the mean times
 * these. All of a tensor are the same on all ranks, and independent of the number of threads. */
struct slice_means {
    struct shape shape;    /* of the whole tensor                                            */
    bool mode[MAX_ORDER];  /* the modes whose slices have means                              */
    double shrinkage;      /* k: the sum over a slice is divided by its number of entries + k;
                            * negative: the k with the least held-out error is to be chosen  */
    double mean;           /* of all known entries                                           */
    double *of[MAX_ORDER]; /* (dims[n]) of each mode that has them, else NULL; owned         */
    bool rates;            /* `of` has ratios                                                */
};

/* Held-out errors (struct holdout_error.value) of models without components. */
struct baseline {
    double mean;   /* of the mean of the other entries alone  */
    double slices; /* of the means of slices                  */
};

/* Finds the means of the known entries of *t that p->holdout does not hold out: mu, then of one
 * mode after the other, twice, b_i = the sum over slice i of x - mu - the means of other modes,
 * over its number of entries + k. Unlisted entries count as zeros of their weight. Of rates b_i is
 * (the sum over the slice + k mu) / (its number of entries + k), over mu.
 *
 * The caller sets m->mode and m->shrinkage and zeroes the rest. With `old`, mu and the means of the
 * modes that p->rules.fixed names are those of *old, which has these modes. k is chosen among 1, 3,
 * 10, 30, ..., as long as the error falls; without held-out entries it is SLICE_SHRINKAGE.
 * *baseline receives their errors, zero where nothing is held out.
 *
 * The nonzeros of *t have been read and its rows are not divided. Every rank calls it; the caller
 * frees *m, after a failure too. STATUS_MEMORY, failures of other ranks. */
enum status slice_means_find(struct slice_means *m, struct baseline *baseline,
                             const struct rank_tensor *t, const struct problem *p,
                             const struct slice_means *old, struct error *error);

/* Takes the means off all known entries of *t, as slice_means_find expects it. The fingerprint is
 * then that of the entries as they were, changed by the modes and k. Every rank calls it.
 * STATUS_INPUT where the mean is, or a value becomes, infinite, STATUS_MEMORY, failures of other
 * ranks. */
enum status slice_means_take_off(const struct slice_means *m, struct rank_tensor *t,
                                 struct error *error);

/* How many components slice_means_append adds. */
int slice_means_components(const struct slice_means *m);

/* Adds the means to a model, of which some rows or all are here, as its last components: the mean,
 * with columns of ones; then of each mode the means as its column, and ones in the others. Their
 * weights are the mean and ones. STATUS_MEMORY, which leaves *k as it was. */
enum status slice_means_append(struct ktensor *k, const struct slice_means *m, struct error *error);

/* Moves these components from *k, of which all rows are here but those of missing modes, to *m,
 * whose modes and shrinkage are set; nothing where no mode is. The caller frees *m, after a failure
 * too. STATUS_MEMORY. */
enum status slice_means_split(struct slice_means *m, struct ktensor *k, struct error *error);

/* Accepts an empty one. */
void slice_means_free(struct slice_means *m);
