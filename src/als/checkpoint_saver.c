#include "als/checkpoint_saver.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ranks/model_collect.h"

/* A checkpoint on its way into the file. */
struct writing {
    const char *path;
    struct checkpoint_about about;
    struct checkpoint_rows model[CHECKPOINT_MODELS]; /* the rows of this rank */
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

/* *model = a copy of the rows that this rank has of a model, which the caller frees. */
static enum status take_rows(struct checkpoint_rows *model, struct backend *b,
                             enum checkpoint_model which, const struct best_model *best,
                             struct error *error)
{
    const uint64_t rank = b->options.problem.rank;
    struct ktensor *k = &model->rows;
    ktensor_create_part(k, &b->ranks->part, rank, error);
    carried_create(&model->carried, b->order, rank, error);
    TRY(comm_allreduce_error(b->ranks->all, error));
    if (which == CHECKPOINT_BEST) {
        memory_copy(k->lambda, best->k->lambda, rank * sizeof *k->lambda);
        for (int n = 0; n < k->shape.order; n++)
            memory_copy(k->factor[n], best->k->factor[n], k->shape.dims[n] * rank * sizeof(double));
        carried_copy(&model->carried, &best->carried, k->shape.order, rank);
        return STATUS_OK;
    }
    if (which == CHECKPOINT_PREVIOUS)
        backend_swap(b);
    backend_save(b, k, &model->carried, error);
    if (which == CHECKPOINT_PREVIOUS)
        backend_swap(b);
    return comm_allreduce_error(b->ranks->all, error);
}

/* Rank 0 writes a model, of which *model has this rank's rows. */
static enum status write_rows(struct checkpoint_output *o, enum checkpoint_model which,
                              const struct checkpoint_rows *model, const struct rank_rows *ranks,
                              struct error *error)
{
    struct model_rows rows;
    struct ktensor whole = model->rows;
    const struct ktensor_source from = {&whole, model_rows_bring, &rows};
    whole.shape = ranks->part.whole;
    TRY_OR(done, model_rows_open(&rows, &model->rows, ranks, error));
    if (ranks->all->rank == 0)
        checkpoint_output_put(o, which, &from, &model->carried, error);
    model_rows_end(&rows, error);
done:
    model_rows_close(&rows);
    return comm_allreduce_error(ranks->all, error);
}

/* Writes all models: the copies that there are (b is NULL), or, with other ranks, one model after
 * the other, so that no rank has copies of several. */
static enum status write_models(struct writing *w, struct backend *b, const struct best_model *best,
                                struct error *error)
{
    struct comm *c = b ? b->ranks->all : NULL;
    struct outfile file = {.fd = -1};
    struct checkpoint_output o = {0};
    if ((!c || c->rank == 0) && outfile_open(&file, w->path, error) == STATUS_OK)
        checkpoint_output_begin(&o, &file, &w->about, error);
    TRY_OR(done, c ? comm_allreduce_error(c, error) : error->status);
    for (enum checkpoint_model m = 0; m < CHECKPOINT_MODELS; m++) {
        struct checkpoint_rows *model = &w->model[m];
        if (!checkpoint_has(&w->about, m))
            continue;
        if (!c) {
            const struct ktensor_source rows = {.k = &model->rows};
            TRY_OR(done, checkpoint_output_put(&o, m, &rows, &model->carried, error));
            continue;
        }
        TRY_OR(done, take_rows(model, b, m, best, error));
        TRY_OR(done, write_rows(&o, m, model, b->ranks, error));
        checkpoint_rows_free(w->model);
    }
    if ((!c || c->rank == 0) && checkpoint_output_end(&o, error) == STATUS_OK)
        outfile_commit(&file, error);
    if (c)
        comm_allreduce_error(c, error);
done:
    checkpoint_output_free(&o);
    outfile_discard(&file);
    return error->status;
}

static void *run_thread(void *argument)
{
    struct writing *w = argument;
    write_models(w, NULL, NULL, &w->error);
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

void saver_close(struct saver *s)
{
    struct writing *w = s->writing;
    if (!w)
        return;
    pthread_join(w->thread, NULL);
    note_end(s, &w->error, w->about.iterations);
    writing_free(w);
    s->writing = NULL;
}

void saver_save(struct saver *s, struct backend *b, const struct checkpoint_about *about,
                const struct best_model *best, bool is_last)
{
    struct error error = {0};
    struct comm *c = b->ranks->all;
    saver_close(s);
    s->last = clock_now();
    s->last_iteration = about->iterations;
    s->asked = s->options->asked ? *s->options->asked : 0;
    struct writing *w = memory_zeros(1, sizeof *w, &error);
    TRY_OR(done, comm_allreduce_error(c, &error));
    w->path = s->options->path;
    w->about = *about;
    if (best->score.iteration > 0) {
        w->about.best = best->score;
        w->about.best_factors = best->carried.precision;
    }
    if (c->size > 1)
        write_models(w, b, best, &error);
    for (enum checkpoint_model m = 0; c->size == 1 && m < CHECKPOINT_MODELS; m++)
        if (checkpoint_has(&w->about, m))
            TRY_OR(done, take_rows(&w->model[m], b, m, best, &error));
done:
    if (error.status == STATUS_OK && c->size == 1) {
        if (pthread_create(&w->thread, NULL, run_thread, w) == 0)
            s->writing = w;
        else
            write_models(w, NULL, NULL, &error);
    }
    if (!s->writing) {
        note_end(s, &error, about->iterations);
        writing_free(w);
    }
    if (is_last)
        saver_close(s);
    s->cost = clock_now() - s->last;
}
