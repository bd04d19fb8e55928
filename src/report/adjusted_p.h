/* P-values of many tests, adjusted for their number: that of the i-th smallest of N p-values is the
 * least p_j N / j over all j >= i, and bounds the share of false alarms among what is as strange
 * (Y. Benjamini, Y. Hochberg: *Controlling the false discovery rate*, Journal of the Royal
 * Statistical Society B 57, 1995). Only the smallest p-values are kept. All are natural logarithms,
 * so that those that no double has keep their order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct p_values {
    uint64_t most;    /* so many are kept, or twice as many, where there are more          */
    double *log_p;    /* (count; room) owned; ascending once they are adjusted             */
    double *adjusted; /* (count) owned; NULL before p_values_adjust                        */
    uint64_t count, room;
    uint64_t below_one; /* so many of those that were added are less than 1                */
    bool open;          /* p_values_leave was called                                       */
    double rest;        /* p-values that are not kept are at least this one                */
    double exact;       /* adjusted ones up to this one are exact; set by p_values_adjust  */
};

/* Begins without p-values. The caller calls p_values_free. */
void p_values_begin(struct p_values *p, uint64_t most);

/* Adds p-values, of which NaN are left out. STATUS_MEMORY. */
enum status p_values_add(struct p_values *p, const double *log_p, uint64_t count,
                         struct error *error);

/* Says that tests that are not added have at least this p-value, not 1. */
void p_values_leave(struct p_values *p, double log_p);

/* Adjusts for this number of tests, of which those that were added are some. An adjusted one of at
 * most p->exact is exact: the i-th p-value that is not kept is at least p->rest, and adds at least
 * p->rest N / i to what is compared, where i is at most the number of tests whose p-value may be
 * less than 1. Larger ones are upper bounds. STATUS_MEMORY. */
enum status p_values_adjust(struct p_values *p, double tests, struct error *error);

/* The adjusted one of a p-value that was added. */
double p_values_adjusted(const struct p_values *p, double log_p);

/* How many of those that were added have an adjusted one of at most `level`, which is no logarithm.
 */
uint64_t p_values_alarms(const struct p_values *p, double level);

/* Accepts a zeroed one. */
void p_values_free(struct p_values *p);
