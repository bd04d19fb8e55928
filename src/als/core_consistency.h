/* The core consistency of a CP model (R. Bro, H. A. L. Kiers: A new efficient method for
 * determining the number of components in PARAFAC models, Journal of Chemometrics 17, 2003): how
 * near the best core of the factor matrices is to the superdiagonal core T of ones that the CP
 * model takes for granted,
 *
 *   100 (1 - ||G - T||^2 / R),  G (R x ... x R) = X x_1 B_1' ... x_N B_N',  B_n' = A_n^+,
 *
 * where each factor matrix A_n has its share of the weights: lambda^(1/N). 100 is a CP model as it
 * should be; about 50 is doubtful; near 0 or below, components have no meaning of their own.
 *
 * No array with a cell for each cell of X is made. ||G - T||^2 = ||G||^2 - 2 sum of G's
 * superdiagonal + R, and an MTTKRP of the matrices B with some columns rotated gives, multiplied by
 * B of its mode, R^2 entries of G: column r of M combines column r of one mode with columns r + s,
 * r + t, ... of the others. All R^(N-2) rotations together give each entry of G once. (E. E.
 * Papalexakis, C. Faloutsos: Fast efficient and scalable core consistency diagnostic for the
 * PARAFAC decomposition for big sparse tensors, ICASSP 2015, go another way.)
 *
 * Where these are too many MTTKRPs, ||G - T||^2 is estimated (core_probes.h): all modes but two are
 * multiplied by random signs, for each column of the longer of the two by signs of its own, so that
 * an MTTKRP gives R independent parts of a probe. The estimate has no bias, and the probes tell its
 * standard error. The closer G is to T, the smaller the error: where G = T, each probe gives 0. */
#ifndef BLCO_CORE_CONSISTENCY_H
#define BLCO_CORE_CONSISTENCY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

#define CORE_PASSES 1024 /* MTTKRPs at most: rank 1024 of three modes, 32 of four, 10 of five */
#define CORE_PROBES 64   /* MTTKRPs of an estimate                                          */
#define CORE_TEXT   48   /* characters of core_consistency_text                             */

/* A core consistency of this or more is that of components that stand for themselves (Bro and Kiers
 * call one above 90 very trilinear, one around 50 problematic); below the second they do not. */
#define CORE_SOUND    80
#define CORE_DOUBTFUL 40

enum core_state {
    CORE_NOT_ASKED,
    CORE_KNOWN,
    CORE_FEW_MODES, /* one mode or two, of which any core is as good as any other         */
    CORE_TOO_LARGE, /* there are more than CORE_PASSES components                          */
    CORE_ZERO,      /* a component is zero                                                 */
    CORE_DEPENDENT, /* the columns of a factor matrix are dependent                        */
    CORE_OVERFLOW,  /* its numbers are more than a double holds                            */
    CORE_ENDED,     /* by a signal or the time limit, before it was known                  */
    CORE_STATES
};

struct core_consistency {
    enum core_state state;
    double percent; /* where it is known                                                       */
    bool estimated; /* from random probes ...                                                  */
    double error;   /* ... with this standard error of percent; else 0                         */
    int mode;       /* CORE_DEPENDENT: the first such mode, from 0                             */
};

/* text (size) = "98.5", or of an estimate "87 +- 3". Far below 0 its digits mean nothing. */
void core_consistency_text(const struct core_consistency *core, char *text, size_t size);

/* How many MTTKRPs the exact one takes; CORE_PASSES + 1 where that is more than CORE_PASSES. */
uint64_t core_consistency_passes(int order, uint64_t rank);

/* *core = that of the model in b, of which k has lambda and the rows that are here (backend_store).
 * Where the exact one takes more than `most` MTTKRPs, of at most CORE_PASSES, it is estimated. It
 * ends early when *interrupted, which may be NULL, turns nonzero, and at `deadline`, a time of
 * clock_now, unless that is 0. On several ranks each rank calls it and gets the same bits.
 * Afterwards b has no model; k is unchanged. `progress` may be NULL. STATUS_MEMORY; errors of
 * backend_load, backend_mttkrp and symmetric_eigen. */
enum status core_consistency(struct core_consistency *core, struct backend *b,
                             const struct ktensor *k, uint64_t most,
                             const volatile sig_atomic_t *interrupted, double deadline,
                             struct progress *progress, struct error *error);

#endif
