/* The terms of some nonzeros of a row (numerics/row_term.h, numerics/poisson_term.h), with the
 * vectors of the processor: division and logarithm once a nonzero. */
#ifndef BLCO_HOST_TERMS_H
#define BLCO_HOST_TERMS_H

#include <stdint.h>

#include "backend/host/host_systems_simd.h"

/* The numbers of a system. */
enum host_system_number {
    SYSTEM_KNOWN,  /* listed entries whose value is known */
    SYSTEM_MISFIT, /* of squares: struct host_row_totals, with the row as it was */
    SYSTEM_SIZE,
    SYSTEM_LEAST, /* of counts: the least value above 0, which is no sum; 0: there is none */
    SYSTEM_NUMBERS
};

/* The lesser of two SYSTEM_LEAST; of a value, too, which may be 0 or unknown. */
static inline double host_system_least(double least, double b)
{
    return b > 0 && !(least > 0 && least < b) ? b : least;
}

/* Sums over the listed entries, of the model as it stands. */
struct host_value_sums {
    double model_sq; /* of squares: of m^2, where the value is known    */
    double model;    /* of counts: of (v - h) m                         */
    double misfit;   /* of counts: of v (m - x - x log(m / x)) - h m    */
};

/* A block of nonzeros, of one row or several: the values m of the model, and what follows from them
 * and the values of the tensor. */
struct host_terms {
    double m[HOST_SYSTEM_BLOCK], c[HOST_SYSTEM_BLOCK], w[HOST_SYSTEM_BLOCK], q[HOST_SYSTEM_BLOCK];
    double misfit[HOST_SYSTEM_BLOCK];
};

/* c, w and misfits of `count` nonzeros with these values, from m. */
void host_terms_squares(struct host_terms *t, const double *value, uint64_t count, double unlisted);

/* Adds nonzeros of a row to the numbers of its system. */
void host_terms_sum_squares(const double *misfit, const double *value, uint64_t count,
                            double *number);

/* c, w and q of counts, and their numbers. */
void host_terms_counts(struct host_terms *t, const double *value, uint64_t count, double unlisted);
void host_terms_sum_counts(const double *value, uint64_t count, double *number);

/* Adds counts to `model` and `misfit` of the sums. */
void host_terms_misfits(struct host_terms *t, const double *value, uint64_t count, double unlisted,
                        struct host_value_sums *sums);

/* The sum of m^2 where the value is known. */
double host_terms_model_sq(const struct host_terms *t, const double *value, uint64_t count);

#endif
