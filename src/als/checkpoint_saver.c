#include "als/checkpoint_saver.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ranks/model_redistribute.h"
#include "base/clock.h"
#include "base/memory.h"
#include "ranks/checkpoint_together.h"

/* A checkpoint on its way into the file. */
struct writing {
    const char *path;
    struct checkpoint_about about;
    struct checkpoint_rows model[CHECKPOINT_MODELS]; /* consecutive rows */
    struct error error;
    pthread_t thread;
    atomic_bool is_done;
};

static void writing_free(struct writing *w)
{
    if (w)
        checkpoint_rows_free(w->model);
    memory_free(w);
}

void saver_open(struct saver *s, const struct checkpoint_options *options, int iterations,
                struct progress *progress)
{
    *s = (struct saver){.options = options,
                        .progress = progress,
                        .last = clock_now(),
                        .last_iteration = iterations};
}

bool saver_is_due(const struct saver *s, int iterations)
{
    const struct checkpoint_options *o = s->options;
    if (!o)
        return false;
    if (s->writing && !atomic_load(&s->writing->is_done)) /* the next iteration may ask again */
        return false;
    double wait = o->share > 0 && s->cost / o->share > o->seconds ? s->cost / o->share : o->seconds;
    return (o->asked && *o->asked != s->asked) ||
           (o->iterations > 0 && iterations - s->last_iteration >= o->iterations) ||
           (o->seconds > 0 && clock_now() - s->last >= wait);
}

/* Copies the best model so far. */
static void copy_best(struct ktensor *k, struct carried *carried, const struct best_model *best)
{
    memory_copy(k->lambda, best->k->lambda, k->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        memory_copy(k->factor[n], best->k->factor[n], k->shape.dims[n] * k->rank * sizeof(double));
    carried_copy(carried, &best->carried, k->shape.order, k->rank);
}

/* *model = consecutive rows, one range for each rank, of the best model, or of the backend's model
 * if that is NULL. */
static enum status take_rows(struct checkpoint_rows *model, struct backend *b,
                             const struct best_model *best, uint64_t rank, struct error *error)
{
    struct comm *c = b->ranks->all;
    struct ktensor part = {0};
    ktensor_create_part(&part, &b->ranks->part, rank, error);
    carried_create(&model->carried, b->order, rank, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    if (best)
        copy_best(&part, &model->carried, best);
    else
        backend_save(b, &part, &model->carried, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    if (c->size == 1) {
        model->rows = part;
        return STATUS_OK;
    }
    model_redistribute(&model->rows, &part, b->ranks, true, error);
done:
    ktensor_free(&part);
    return error->status;
}

/* Copies the models of the checkpoint. */
static enum status take_state(struct writing *w, struct backend *b, const struct best_model *best,
                              struct error *error)
{
    uint64_t rank = w->about.problem.rank;
    TRY(take_rows(&w->model[CHECKPOINT_STATE], b, NULL, rank, error));
    if (checkpoint_last(&w->about) == CHECKPOINT_PREVIOUS) {
        backend_swap(b);
        take_rows(&w->model[CHECKPOINT_PREVIOUS], b, NULL, rank, error);
        backend_swap(b);
        TRY(error->status);
    }
    if (!checkpoint_has_best(&w->about))
        return STATUS_OK;
    return take_rows(&w->model[CHECKPOINT_BEST], b, best, rank, error);
}

static enum status write_alone(struct writing *w, struct error *error)
{
    struct outfile file;
    struct checkpoint_pieces pieces = {0};
    TRY(outfile_open(&file, w->path, error));
    TRY_OR(done, checkpoint_write_rows(&file, &w->about, w->model, true, &pieces, error));
    TRY_OR(done, checkpoint_write_directory(&file, &w->about, &pieces, error));
    outfile_commit(&file, error);
done:
    memory_free(pieces.piece);
    outfile_discard(&file);
    return error->status;
}

static void *run_thread(void *argument)
{
    struct writing *w = argument;
    write_alone(w, &w->error);
    atomic_store(&w->is_done, true);
    return NULL;
}

static void note_end(struct saver *s, const struct error *error, int iterations)
{
    s->error = *error;
    if (error->status == STATUS_OK)
        s->saved = iterations;
    else
        progress_note(s->progress, "warning: no checkpoint of iteration %d: %s", iterations,
                      error->message);
}

/* Waits for the thread that writes. */
static void finish(struct saver *s)
{
    struct writing *w = s->writing;
    if (!w)
        return;
    pthread_join(w->thread, NULL);
    note_end(s, &w->error, w->about.iterations);
    writing_free(w);
    s->writing = NULL;
}

/* Lets a thread write; where none can be started, this one does. Takes over *w. */
static void write_beside(struct saver *s, struct writing *w)
{
    s->writing = w;
    if (pthread_create(&w->thread, NULL, run_thread, w) == 0)
        return;
    s->writing = NULL;
    write_alone(w, &w->error);
    note_end(s, &w->error, w->about.iterations);
    writing_free(w);
}

/* A copy of the state, which may be NULL or half made on failure. */
static struct writing *begin(const struct saver *s, struct backend *b,
                             const struct checkpoint_about *about, const struct best_model *best,
                             struct error *error)
{
    struct writing *w = memory_zeros(1, sizeof *w, error);
    if (comm_allreduce_error(b->ranks->all, error) != STATUS_OK)
        return w;
    w->path = s->options->path;
    w->about = *about;
    if (best->of.iteration > 0) {
        w->about.best_iteration = best->of.iteration;
        w->about.best_fit = best->of.fit;
        w->about.best_held = best->of.held;
        w->about.best_noise = best->of.noise;
        w->about.best_factors = best->carried.precision;
    }
    take_state(w, b, best, error);
    return w;
}

void saver_save(struct saver *s, struct backend *b, const struct checkpoint_about *about,
                const struct best_model *best, bool is_last)
{
    struct error error = {0};
    struct comm *c = b->ranks->all;
    finish(s);
    s->last = clock_now();
    s->last_iteration = about->iterations;
    s->asked = s->options->asked ? *s->options->asked : 0;
    struct writing *w = begin(s, b, about, best, &error);
    if (error.status == STATUS_OK && c->size > 1)
        checkpoint_write_together(w->path, &w->about, w->model, c, &error);
    if (error.status == STATUS_OK && c->size == 1) {
        write_beside(s, w);
    } else {
        note_end(s, &error, about->iterations);
        writing_free(w);
    }
    if (is_last)
        finish(s);
    s->cost = clock_now() - s->last;
}

void saver_close(struct saver *s)
{
    finish(s);
}
