/* Random signs, and the mean of what they give. For an array D of order N and independent vectors
 * s_3, ..., s_N of random signs, the square of || D x_3 s_3' ... x_N s_N' || has the mean ||D||^2,
 * since the mean of s_n(i) s_n(j) is 1 for i = j and else 0 (M. F. Hutchinson: A stochastic
 * estimator of the trace of the influence matrix for Laplacian smoothing splines, Communications in
 * Statistics - Simulation and Computation 18, 1989, for order 2). */
#ifndef BLCO_CORE_PROBES_H
#define BLCO_CORE_PROBES_H

#include <stdint.h>

/* s (R x R) = entries 1 and -1: the signs of mode n in a probe. The same on every rank and machine;
 * those of other modes and probes are independent of these. */
void core_probes_signs(double *s, uint64_t rank, int n, uint64_t probe);

/* The mean of numbers that come one after the other. Zero: no number yet. */
struct core_mean {
    uint64_t count;
    double mean;
    double spread; /* the sum of the squared distances from the mean */
};

void core_mean_add(struct core_mean *m, double x);

/* The standard error of the mean of two numbers or more. */
double core_mean_error(const struct core_mean *m);

#endif
