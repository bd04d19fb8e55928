/* What a search for the largest values of a model in a slice goes through (unlisted_best.h): the
 * modes whose indices are not given, and bounds of the values that they can add. */
#ifndef BLCO_UNLISTED_MODES_H
#define BLCO_UNLISTED_MODES_H

#include "model/ktensor.h"
#include "report/unlisted_slice.h"

#define BUNDLE 64 /* rows of the longest mode that are multiplied together */

/* A mode whose index is not given. */
struct free_mode {
    int n; /* the mode */
    uint64_t length;
    const double *rows; /* (length x R); borrowed */
    double *least;      /* (R) extremes of the products of this mode's columns and all further */
    double *most;       /* (R) ones                                                             */
};

/* The rows of the last free mode in descending order of their norms, BUNDLE of them together. */
struct sorted_rows {
    uint64_t bundles;
    double *norm;    /* (bundles) of the first, longest row                   */
    uint32_t *index; /* (length) of each row in the factor matrix            */
    double *bundle;  /* (bundles x R x BUNDLE): the rows are columns; of the last, some are 0 */
};

/* An index of the first free mode, and the most that entries with it can have. */
struct outer {
    double bound;
    uint32_t index;
};

/* The longest free mode is the last, the others come before it in descending order of length. */
struct unlisted_modes {
    uint64_t rank;
    double *given; /* (R) the product of lambda and the rows of given indices; owned */
    bool zero;     /* all of them are 0, and so is the model in the slice; all below is empty */
    int count;
    struct free_mode mode[MAX_ORDER];
    struct sorted_rows last;
    struct outer *outer; /* (length of mode 0), that with the largest bound first, where there is
                          * more than one; owned */
    double *extremes;    /* of all free modes; owned */
};

/* Some mode of the slice has no given index. The caller frees *m, on failure too. STATUS_MEMORY. */
enum status unlisted_modes_create(struct unlisted_modes *m, const struct ktensor *k,
                                  const struct unlisted_slice *slice, struct error *error);

/* The entries of the slice, or UINT64_MAX. */
uint64_t unlisted_modes_entries(const struct unlisted_modes *m);

/* No value of the remaining free modes, multiplied by p (R), is larger. */
double free_mode_bound(const double *p, const struct free_mode *remaining, uint64_t rank);

/* Nor is the product of p and a row, of its norm and this, rounding included. */
double free_mode_norm(const double *p, uint64_t rank);

/* Accepts a zeroed one. */
void unlisted_modes_free(struct unlisted_modes *m);

#endif
