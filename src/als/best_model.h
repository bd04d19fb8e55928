/* A copy of the best model of a run so far, kept while the next sweep could lose it: where the fit
 * of a sweep is blind (fit_is_blind) or its systems are ill-conditioned (backend_fit_may_fall), the
 * fit may fall, and sweeps with or without momentum do not regain it by themselves. A run with
 * --early-stop goes by the held-out error, which any sweep may increase. The copy is in the run's
 * own ktensor, which is not needed before the end; beside it are the scales and Grams of
 * backend_save. Every rank keeps its own rows. */
#ifndef BLCO_BEST_MODEL_H
#define BLCO_BEST_MODEL_H

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"

/* An iteration, and how good its model is. */
struct model_score {
    int iteration;
    double fit;
    double held;  /* the held-out error; 0 where nothing is held out */
    double noise; /* by how much rounding may have changed the fit   */
    bool exact;   /* the fit is from the residual                    */
};

struct best_model {
    struct ktensor *k;      /* lambda and factor matrices as the backend has them (carried.h);
                             * borrowed                                                          */
    struct carried carried; /* owned                                                             */
    bool by_held;           /* the best is that of the least held-out error, not of the best fit */
    struct model_score of;  /* of the copy; iteration 0: there is no copy                        */
};

/* k has the backend's shape and rank, and receives the copies. best->by_held is set, all else is
 * filled. There is no copy yet, unless the checkpoint `from`, which may be NULL, has one. The
 * caller frees *best; it is empty on failure. STATUS_MEMORY. */
enum status best_model_create(struct best_model *best, const struct backend *b, struct ktensor *k,
                              const struct checkpoint *from, struct error *error);

/* Accepts an empty one. */
void best_model_free(struct best_model *best);

/* After an accepted sweep, before anything else changes the backend. If its model is the best so
 * far, copies it where the next sweep may lose it (`copy`), and otherwise drops the old copy.
 * Errors of backend_save. */
enum status best_model_note(struct best_model *best, struct backend *b,
                            const struct model_score *score, bool copy, struct error *error);

/* Whether the copy is better than a model with this score. Fits must differ by more than the noise
 * of both. */
bool best_model_is_better(const struct best_model *best, const struct model_score *score);

/* The copy becomes the backend's model. Errors of backend_resume. */
enum status best_model_restore(const struct best_model *best, struct backend *b,
                               struct error *error);

#endif
