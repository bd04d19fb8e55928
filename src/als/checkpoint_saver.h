/* Saves checkpoints while ALS runs: decides when one is due, and writes it. One rank copies its
 * state, and a thread writes the copy while the iterations go on. Of several ranks, rank 0 writes
 * the rows of all before the next iteration begins. */
#pragma once

#include <signal.h>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"

/* The same on all ranks. Zero in a field: not asked for. */
struct checkpoint_options {
    const char *path; /* borrowed                                                            */
    double seconds;   /* between two checkpoints                                             */
    int iterations;   /* between two checkpoints                                             */
    double share;     /* largest part of the time that saving may take: `seconds` grow to that */

    /* How many checkpoints the user has asked for; borrowed; may be NULL. */
    const volatile sig_atomic_t *asked;

    struct checkpoint_about about; /* without what the iterations change                     */
};

/* A copy of the best model of a run so far, kept while the next sweep could lose it: where the fit
 * of a sweep is blind (fit_is_blind) or its systems are ill-conditioned (backend_fit_may_fall), the
 * fit may fall, and sweeps with or without momentum do not regain it by themselves. A run with
 * --early-stop goes by the held-out error, which any sweep may increase. The copy is in the run's
 * own ktensor, which is not needed before the end; beside it are the scales and Grams of
 * backend_save. Every rank keeps its own rows. */
struct best_model {
    struct ktensor *k;      /* lambda and factor matrices as the backend has them (struct carried);
                             * borrowed                                                          */
    struct carried carried; /* owned                                                             */
    bool by_holdout_error;  /* the best is that of the least held-out error, not of the best fit */
    struct model_score score; /* of the copy; iteration 0: there is no copy */
};

/* The caller fills the members up to last_iteration, from the start of the run, and calls
 * saver_close.
 */
struct saver {
    const struct checkpoint_options *options; /* NULL: nothing is saved                      */
    struct progress *progress;                /* may be NULL                                 */
    double last, cost;       /* when the last one began, by clock_now; seconds for which it held
                              * up the iterations                                            */
    int last_iteration;      /* of the last one that began, or that the run resumed from     */
    int asked;               /* *options->asked when the last one began                      */
    struct writing *writing; /* that a thread writes; NULL: none; owned                      */
    struct error error;      /* of the last one that ended; empty if it was written          */
    int saved;               /* the iteration of the last one that was written; 0: none      */
};

/* Whether this rank wants a checkpoint after so many iterations. */
bool saver_is_due(const struct saver *s, int iterations);

/* Saves the state of b after about->iterations iterations, and the best model if that is an earlier
 * one. Every rank of b->ranks calls it. If `is_last`, the checkpoint is written when saver_save
 * returns. A failure leaves the previous checkpoint untouched and stays in s->error, the same on
 * all ranks, and the run can go on. s->progress shows a warning; after a thread's failure, when the
 * next checkpoint is saved. */
void saver_save(struct saver *s, struct backend *b, const struct checkpoint_about *about,
                const struct best_model *best, bool is_last);

/* Waits for the thread, if there is one. */
void saver_close(struct saver *s);
