#include "als/best_model.h"

#include "problem/initial_guess.h"

/* Copies the best model of the checkpoint, which may be that of its last iteration. */
static void copy_checkpoint(struct best_model *best, const struct backend *b,
                            const struct checkpoint *from)
{
    const struct checkpoint_about *about = &from->about;
    const enum checkpoint_model which =
        checkpoint_has_best(about) ? CHECKPOINT_BEST : checkpoint_last(about);
    if (which != CHECKPOINT_STATE) /* k has that already */
        ktensor_copy_rows(best->k, &from->model[which].rows);
    carried_copy(&best->carried, &from->model[which].carried, b->order, about->problem.rank);
    best->of = (struct model_score){.iteration = about->best_iteration,
                                    .fit = about->best_fit,
                                    .held = about->best_held,
                                    .noise = about->best_noise};
}

enum status best_model_create(struct best_model *best, const struct backend *b, struct ktensor *k,
                              const struct checkpoint *from, struct error *error)
{
    *best = (struct best_model){.k = k, .by_held = best->by_held};
    TRY(carried_create(&best->carried, b->order, k->rank, error));
    if (from && from->about.best_iteration > 0)
        copy_checkpoint(best, b, from);
    return STATUS_OK;
}

void best_model_free(struct best_model *best)
{
    carried_free(&best->carried);
    *best = (struct best_model){0};
}

enum status best_model_note(struct best_model *best, struct backend *b,
                            const struct model_score *score, bool copy, struct error *error)
{
    const bool better = best->by_held ? score->held < best->of.held : score->fit > best->of.fit;
    if (best->of.iteration > 0 && !better)
        return STATUS_OK;
    best->of.iteration = 0;
    if (!copy)
        return STATUS_OK;
    TRY(backend_save(b, best->k, &best->carried, error));
    best->of = *score;
    return STATUS_OK;
}

bool best_model_is_better(const struct best_model *best, const struct model_score *score)
{
    if (best->of.iteration == 0)
        return false;
    return best->by_held ? best->of.held < score->held
                         : best->of.fit - best->of.noise > score->fit + score->noise;
}

enum status best_model_restore(const struct best_model *best, struct backend *b,
                               struct error *error)
{
    return backend_resume(b, best->k, &best->carried, error);
}
