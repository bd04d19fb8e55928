/* Saves checkpoints while ALS runs: when one is due, and how the ranks write it. A rank that is
 * alone copies its state, and a thread writes the copy while the iterations go on. Several ranks
 * write together, each its rows at their places in one file, before the next iteration begins. */
#ifndef BLCO_CHECKPOINT_SAVER_H
#define BLCO_CHECKPOINT_SAVER_H

#include <signal.h>

#include "als/best_model.h"
#include "backend/backend.h"
#include "checkpoint/checkpoint.h"

/* The same on all ranks. Zero is what a field has where the user does not ask for it. */
struct checkpoint_options {
    const char *path; /* borrowed                                                            */
    double seconds;   /* between two checkpoints                                             */
    int iterations;   /* between two checkpoints                                             */
    double share;     /* of the time that saving may take: `seconds` are stretched           */

    /* How many checkpoints the user has asked for; borrowed; may be NULL. */
    const volatile sig_atomic_t *asked;

    struct checkpoint_about about; /* but for what the iterations change                     */
};

struct saver {
    const struct checkpoint_options *options; /* NULL: nothing is saved                      */
    struct progress *progress;                /* NULL: nothing is told                       */
    double last, cost;       /* when the last one was begun, by clock_now; seconds that it took
                              * from the iterations                                          */
    int last_iteration;      /* of the last one that was begun, or that the run went on from */
    int asked;               /* *options->asked, when the last one was begun                 */
    struct writing *writing; /* by a thread; NULL: none; owned                               */
    struct error error;      /* of the last one that was ended; empty where it was written   */
    int saved;               /* the iteration of the last one that was written; 0: none      */
};

/* A saver for a run of which `iterations` iterations are made. `options` and `progress` may be
 * NULL; they are borrowed. The caller calls saver_close. */
void saver_open(struct saver *s, const struct checkpoint_options *options, int iterations,
                struct progress *progress);

/* Whether this rank wants a checkpoint after so many iterations. */
bool saver_is_due(const struct saver *s, int iterations);

/* Saves the state of b after about->iterations iterations, and the best model so far where that
 * is an earlier one; every rank of b->ranks calls it. The last checkpoint of a
 * run is there when saver_save returns. A failure leaves the checkpoint before untouched and is
 * kept in s->error, the same on all ranks: the run can go on. The user is warned, of a thread's
 * failure when the next checkpoint is saved. */
void saver_save(struct saver *s, struct backend *b, const struct checkpoint_about *about,
                const struct best_model *best, bool is_last);

/* Waits for the thread, if there is one. */
void saver_close(struct saver *s);

#endif
