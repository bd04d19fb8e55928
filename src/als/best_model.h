/* The best model of a run so far, where the next sweep could lose it: where the fit of a sweep is
 * blind (fit_is_blind), a sweep may fall by about that noise, and neither plain sweeps nor
 * accelerated ones come back by themselves. The copy is in the run's own ktensor, which waits for
 * the result anyway; beside it are the scales and Grams that backend_save gives. Every rank keeps
 * its own rows. */
#ifndef BLCO_BEST_MODEL_H
#define BLCO_BEST_MODEL_H

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"

struct best_model {
    struct ktensor *k;      /* lambda and factor matrices as they stand (carried.h); borrowed    */
    struct carried carried; /* owned                                                             */
    int iteration;          /* after which the model was that of k; 0: there is no copy          */
    double fit;             /* of the model in k                                                 */
};

/* No copy; k, which has the backend's shape and rank, is written to when there is one. With `from`,
 * the copy is the one that the run of the checkpoint kept. The caller frees *best; it is
 * empty on failure. STATUS_MEMORY. */
enum status best_model_create(struct best_model *best, const struct backend *b, struct ktensor *k,
                              const struct checkpoint *from, struct error *error);

/* Accepts an empty one. */
void best_model_free(struct best_model *best);

/* After a sweep that was kept, and before anything else changes the backend: copies the model where
 * its fit is the best so far and `copy`, which says that the next sweep may lose it; without `copy`
 * a better fit drops the copy. Errors of backend_save. */
enum status best_model_note(struct best_model *best, struct backend *b, int iteration, double fit,
                            bool copy, struct error *error);

/* Whether the copy is better than a model of this fit, which rounding may have changed by noise. */
bool best_model_is_better(const struct best_model *best, double fit, double noise);

/* The copy becomes the backend's model. Errors of backend_resume. */
enum status best_model_restore(const struct best_model *best, struct backend *b,
                               struct error *error);

#endif
