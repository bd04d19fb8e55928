/* Decomposes a rank's part of a tensor: makes the runs of ALS that are asked for, one after the
 * other, and collects the rows of each model from the ranks. */
#pragma once

#include "als/runs.h"
#include "backend/backend.h"

/* The options of a decomposition, the same on all ranks except for the progress. */
struct decomposition {
    struct cpals_options als; /* the trace counts on rank 0 alone                               */
    void (*opened)(void *context, struct backend *b); /* called when the backend is open; may be
                                                       * NULL                                     */
    void *context;
    bool spread;               /* rank 0 does not collect the model; then there are no replicates */
    struct progress *progress; /* NULL: this rank shows nothing                                   */
};

/* Statistics of one rank. */
struct rank_report {
    uint64_t nnz; /* of the rank's part                                                          */
    double replicates; /* seconds of all that the replicates take                                 */
    double operation[OP_COUNT][MAX_ORDER]; /* seconds of each operation and mode, as booked       */
    double communication; /* seconds of iterations in which rows and sums moved, waiting included */
    char kernel[MAX_ORDER]
               [96]; /* [n]: the kernel of mode n's MTTKRP; empty where there is no choice */
};

/* Makes the runs of s (runs_next) on *b, which backend_prepare has prepared for *t; those on the
 * replicates of t on *b opened anew, with the same options, but for what speaks of
 * the whole: without checkpoint, trace, core consistency and held-out entries, and with more
 * iterations until they converge. Every rank of t calls it with an s of its own. If
 * b->options.spends, the nonzeros of t are freed when the backend is open; grid, part and rows
 * stay. *b is closed in the end, after a failure too.
 *
 * s->model receives the models, arranged (ktensor_arrange). If d->spread, they have the rows
 * that the rank has (t->rows.part), which borrow their numbers from *t; there is one start then.
 * Otherwise models are whole: ranks that share memory (struct comm) have one s->model in common;
 * else rank 0 gets them, and the models of the others have no rows. They are complete when all
 * ranks that share them have returned.
 *
 * *report is about the runs on the whole tensor, but for the seconds of the replicates. If no start
 * on it has a model, all ranks return that failure, as one of backend_prepare (comm_end_phase); any
 * other failure ends the other ranks (comm_abort). Errors of backend_prepare, backend_build,
 * cpals_iterate, cpals_store, nvecs_start and runs_check; or the failure of another rank. */
enum status decompose(struct backend *b, struct rank_tensor *t, const struct decomposition *d,
                      struct runs *s, struct rank_report *report, struct error *error);

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

#define NVECS_SKETCHES 2 /* each N MTTKRPs: as long as an iteration */

/* Column r of factor matrix n of k, which has the rows that are here, becomes the approximate r-th
 * left singular vector of X_(n), in descending order of singular values, and lambda becomes one. If
 * the unfolding has fewer than R singular values, the other columns are random combinations of the
 * vectors. In nonnegative modes, entries lose their signs. The same seed gives the same bits for
 * any number of threads. The model in b is undefined afterwards. Every rank
 * calls it. STATUS_MEMORY; errors of backend_load, backend_mttkrp and symmetric_eigen. */
enum status nvecs_start(struct ktensor *k, struct backend *b, uint64_t seed,
                        struct progress *progress, struct error *error);
