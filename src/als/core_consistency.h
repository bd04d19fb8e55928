/* The core consistency of a CP model (R. Bro, H. A. L. Kiers: A new efficient method for
 * determining the number of components in PARAFAC models, Journal of Chemometrics 17, 2003): how
 * near the best core of the factor matrices is to the superdiagonal core T of ones that the CP
 * model assumes,
 *
 *   100 (1 - ||G - T||^2 / R),  G (R x ... x R) = X x_1 B_1' ... x_N B_N',  B_n' = A_n^+,
 *
 * where each factor matrix A_n is multiplied by lambda^(1/N). 100 is an ideal CP model; about 50 is
 * doubtful; near 0 or below, no component is meaningful on its own.
 *
 * X stays sparse. ||G - T||^2 = ||G||^2 - 2 sum of G's superdiagonal + R. To get G, the columns of
 * the matrices B are rotated against each other: an MTTKRP, multiplied by B of its mode, gives R^2
 * entries of G, because column r of M combines column r of one mode with columns r + s, r + t, ...
 * of the others. All R^(N-2) rotations together give each entry of G once. (E. E. Papalexakis, C.
 * Faloutsos: Fast efficient and scalable core consistency diagnostic for the PARAFAC decomposition
 * for big sparse tensors, ICASSP 2015, use another method.)
 *
 * Where entries are unknown (NaN, not listed, held out), or unlisted zeros have a weight h, X is
 * what the model makes of them (imputation, as in H. A. L. Kiers: Weighted least squares fitting
 * using ordinary least squares algorithms, Psychometrika 62, 1997): M + W (X - M), with M the
 * values of the model and W the weights of the entries. The core of M is T, so that G = (1 - h) T +
 * the core of a sparse tensor, which lists the terms of numerics/row_term.h: x - (1 - h) m where
 * the value is known, h m where it is not. Counts are taken as squares.
 *
 * If these are too many MTTKRPs, ||G - T||^2 is estimated: all modes but two are multiplied by
 * random signs, with other signs for each column of the longer of the two, so that an MTTKRP gives
 * R independent parts of a probe. The estimate has no bias, and the spread of the probes gives its
 * standard error. The closer G is to T, the smaller the error: where G = T, each probe gives 0. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

#define CORE_PASSES 1024 /* MTTKRPs at most: rank 1024 of three modes, 32 of four, 10 of five */
#define CORE_PROBES 64   /* MTTKRPs of an estimate                                          */
#define CORE_TEXT   48   /* characters of core_consistency_text                             */

/* From CORE_SOUND on, each component is meaningful on its own; below CORE_DOUBTFUL none is. (Bro
 * and Kiers call a value above 90 very trilinear, one around 50 problematic.) */
#define CORE_SOUND    80
#define CORE_DOUBTFUL 40

enum core_state {
    CORE_NOT_ASKED,
    CORE_KNOWN,
    CORE_FEW_MODES, /* one mode or two: any core fits as well as any other                */
    CORE_TOO_LARGE, /* there are more than CORE_PASSES components                          */
    CORE_ZERO,      /* a component is zero                                                 */
    CORE_DEPENDENT, /* the columns of a factor matrix are dependent                        */
    CORE_OVERFLOW,  /* some number is larger than a double can be                          */
    CORE_ENDED,     /* a signal or the time limit came first                               */
    CORE_NO_ROOM,   /* memory has no room for the terms of the entries                     */
    CORE_STATES
};

struct core_consistency {
    enum core_state state;
    double percent; /* where it is known                                                       */
    bool estimated; /* from random probes ...                                                  */
    double error;   /* ... with this standard error of percent; else 0                         */
    double imputed; /* by the weights of the entries, the part of the tensor that is the model's  */
    int mode;       /* CORE_DEPENDENT: the first such mode, from 0                             */
};

/* Whether it is known, and of a tensor that is data for the most part: what the model makes of
 * unknown entries agrees with it, and moves every core towards T. */
bool core_consistency_tells(const struct core_consistency *core);

/* text (size) = "98.5", or for an estimate "87 +- 3". Far below 0 its digits mean nothing. */
void core_consistency_text(const struct core_consistency *core, char *text, size_t size);

/* How many MTTKRPs the exact one takes; CORE_PASSES + 1 where that is more than CORE_PASSES. */
uint64_t core_consistency_passes(int order, uint64_t rank);

/* How long the computation may take. Zero in a field: no limit of that kind, or CORE_PASSES. */
struct core_limits {
    uint64_t passes; /* estimate what takes more MTTKRPs than these, CORE_PASSES at most        */
    const volatile sig_atomic_t *interrupted; /* stop when this turns nonzero; borrowed         */
    double deadline;                          /* stop at this time of clock_now                 */
};

/* *core = that of the model in b. k has lambda and the rows that are here (backend_store). Every
 * rank calls it and gets the same bits. Afterwards b has no model; k is unchanged. `progress` may
 * be NULL. STATUS_MEMORY; errors of backend_load, backend_mttkrp and symmetric_eigen. */
enum status core_consistency(struct core_consistency *core, struct backend *b,
                             const struct ktensor *k, const struct core_limits *limits,
                             struct progress *progress, struct error *error);

/* An estimate has random signs, and the mean of what they give. For an array D of order N and
 * independent vectors s_3, ..., s_N of random signs, the square of || D x_3 s_3' ... x_N s_N' ||
 * has the mean ||D||^2, since the mean of s_n(i) s_n(j) is 1 for i = j and else 0 (M. F.
 * Hutchinson: A stochastic estimator of the trace of the influence matrix for Laplacian smoothing
 * splines, Communications in Statistics - Simulation and Computation 18, 1989, for order 2). */

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
