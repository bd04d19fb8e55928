/* A start of ALS from the leading left singular vectors of the unfoldings (nvecs), approximately,
 * by random sketches (N. Halko, P. G. Martinsson, J. A. Tropp: Finding structure with randomness,
 * SIAM Review 53, 2011).
 *
 * The sketch of an unfolding is X_(n) W with R random columns. With W the Khatri-Rao product of
 * random matrices, one for each other mode, the sketch is an MTTKRP, which works on every backend,
 * with streamed tensors and on several ranks. A second sketch takes random combinations of the
 * vectors that the first one has found in the other modes, a power iteration like the higher-order
 * orthogonal iteration (L. De Lathauwer, B. De Moor, J. Vandewalle, SIAM J. Matrix Anal. Appl. 21,
 * 2000). */
#ifndef BLCO_NVECS_H
#define BLCO_NVECS_H

#include "backend/backend.h"

#define NVECS_SKETCHES 2 /* each N MTTKRPs: as long as an iteration */

/* Column r of factor matrix n of k, which has the rows that are here, becomes the approximate r-th
 * left singular vector of X_(n), in descending order of singular values, and lambda becomes one. If
 * the unfolding has fewer than R singular values, the other columns are random combinations of the
 * vectors. In nonnegative modes, entries lose their signs. The same seed gives the same bits for
 * any number of threads. The model in b is undefined afterwards. Every rank
 * calls it. STATUS_MEMORY; errors of backend_load, backend_mttkrp and symmetric_eigen. */
enum status nvecs_start(struct ktensor *k, struct backend *b, uint64_t seed,
                        struct progress *progress, struct error *error);

#endif
