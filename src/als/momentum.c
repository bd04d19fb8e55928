#include "als/momentum.h"

#include <math.h>

#include "problem/initial_guess.h"

#define SMALL_CHANGES 2 /* in a row that end a run: after one, momentum may still gain speed */

/* Loads the model after the last iteration of a checkpoint. */
static enum status load_model(struct backend *b, const struct checkpoint *from, struct error *error)
{
    struct ktensor k;
    const struct checkpoint_rows *model = &from->model[checkpoint_last(&from->about)];
    TRY(ktensor_create_part(&k, &b->ranks->part, from->about.problem.rank, error));
    ktensor_copy_rows(&k, &model->rows);
    backend_resume(b, &k, &model->carried, error);
    ktensor_free(&k);
    return error->status;
}

static enum status resume(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                          const struct checkpoint *from, struct error *error)
{
    const struct checkpoint_about *about = &from->about;
    const struct carried *carried = &from->model[CHECKPOINT_STATE].carried;
    if (m->on && about->has_momentum) {
        m->state = about->momentum;
    } else {
        m->state.sweeps = about->iterations;
    }
    m->small = about->small_changes;
    m->stepped = true;
    if (!about->momentum.extrapolated)
        return backend_resume(b, k, carried, error);
    TRY(load_model(b, from, error));
    if (!m->on)
        return STATUS_OK;
    backend_swap(b);
    return backend_resume(b, k, carried, error);
}

static enum status load_start(struct backend *b, const struct ktensor *k,
                              const struct initial_guess *random, struct error *error)
{
    if (random)
        return backend_randomise(b, guess_numbers(random->kind), random->seed, error);
    return backend_begin(b, k, error);
}

enum status momentum_begin(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                           const struct initial_guess *random, const struct checkpoint *from,
                           struct error *error)
{
    *m = (struct momentum_run){.on = b->plan.request.momentum,
                               .state = momentum_start(b->precision, 0),
                               .counts = b->options.problem.loss == LOSS_POISSON};
    if (from)
        resume(m, b, k, from, error);
    else
        load_start(b, k, random, error);
    m->state.precision = b->precision;
    m->state.fast = problem_has_fast_momentum(&b->options.problem) ? INFINITY : MOMENTUM_FAST;
    return error->status;
}

const struct momentum *momentum_state(const struct momentum_run *m)
{
    return m->on ? &m->state : NULL;
}

bool momentum_accepts(struct momentum_run *m, const struct backend_fit *fit)
{
    if (!m->on)
        return true;
    m->state = fit->momentum;
    m->step = fit->step;
    m->stepped = false;
    return !m->state.rejected;
}

void momentum_pass(struct momentum_run *m)
{
    m->state.sweeps++;
    m->stepped = true;
}

void momentum_note(struct momentum_run *m, bool small)
{
    m->small = small ? m->small + 1 : 0;
}

bool momentum_may_stop(const struct momentum_run *m)
{
    const bool plain = !m->on || momentum_is_plain(m->state.sweeps - 1);
    return m->small >= SMALL_CHANGES || (plain && !m->counts);
}

enum status momentum_go_on(struct momentum_run *m, struct backend *b, bool converged,
                           struct error *error)
{
    if (!m->on || m->stepped)
        return STATUS_OK;
    m->stepped = !converged && !momentum_is_plain(m->state.sweeps);
    if (m->stepped)
        return backend_extrapolate(b, &m->step, error);
    m->state.t = 1;
    m->state.extrapolated = 0;
    return STATUS_OK;
}

enum status momentum_pause(struct momentum_run *m, struct backend *b, struct error *error)
{
    if (!m->on)
        return STATUS_OK;
    if (m->state.rejected && !m->stepped)
        return backend_extrapolate(b, &m->step, error);
    if (m->state.extrapolated && m->stepped)
        backend_swap(b);
    return STATUS_OK;
}

void momentum_begin_anew(struct momentum_run *m, const struct backend *b)
{
    m->state.precision = b->precision;
    m->state.t = 1;
    m->state.extrapolated = m->state.rejected = 0;
    m->stepped = true;
}

void momentum_tell(const struct momentum_run *m, struct checkpoint_about *about)
{
    about->has_momentum = m->on;
    about->momentum = m->on ? m->state : (struct momentum){0};
    about->small_changes = m->small;
}

enum status momentum_end(struct momentum_run *m, struct backend *b, struct backend_fit *fit,
                         bool *again, struct error *error)
{
    const int first = mode_rules_first(&b->options.problem.rules, b->order);
    *again = m->on && m->state.rejected;
    TRY(momentum_pause(m, b, error));
    if (!*again)
        return STATUS_OK;
    TRY(backend_mttkrp(b, first, error));
    TRY(backend_update(b, first, error));
    return backend_fit(b, first, NULL, fit, error);
}
