#include "als/momentum.h"

#include "problem/initial_guess.h"

#define SMALL_CHANGES 2 /* in a row that end a run: after one, momentum may still gather */

/* From now on, with what falls count in the precision of the factor matrices. */
static enum status accelerate(struct momentum_run *m, struct backend *b, struct error *error)
{
    m->state.precision = b->precision;
    return m->on ? backend_accelerate(b, &m->state, error) : STATUS_OK;
}

/* The second factor matrices of a checkpoint, which are the model's, as those of the backend. */
static enum status load_model(struct backend *b, const struct checkpoint *from, struct error *error)
{
    struct ktensor k;
    if (ktensor_create_part(&k, &b->ranks->part, from->about.problem.rank, error) != STATUS_OK)
        return error->status;
    ktensor_copy_rows(&k, &from->second);
    enum status status = backend_resume(b, &k, &from->second_carried, error);
    ktensor_free(&k);
    return status;
}

static enum status resume(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                          const struct checkpoint *from, struct error *error)
{
    const struct checkpoint_about *about = &from->about;
    bool extrapolated = about->momentum.extrapolated;
    if (m->on && about->has_momentum) {
        m->state = about->momentum;
        m->small = about->small_changes;
    } else {
        m->state.sweeps = about->iterations;
    }
    if (extrapolated && load_model(b, from, error) != STATUS_OK)
        return error->status;
    if (extrapolated && !m->on)
        return STATUS_OK;
    m->stepped = extrapolated;
    if (extrapolated)
        backend_trade(b);
    return backend_resume(b, k, &from->carried, error);
}

static enum status load_start(struct backend *b, const struct ktensor *k,
                              const struct initial_guess *random, struct error *error)
{
    return random ? backend_randomise(b, guess_numbers(random->kind), random->seed, error)
                  : backend_begin(b, k, error);
}

enum status momentum_begin(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                           const struct initial_guess *random, const struct checkpoint *from,
                           struct error *error)
{
    *m = (struct momentum_run){.on = b->plan.request.momentum,
                               .state = momentum_start(b->precision, 0)};
    enum status status = from ? resume(m, b, k, from, error) : load_start(b, k, random, error);
    return status == STATUS_OK ? accelerate(m, b, error) : status;
}

bool momentum_keeps(struct momentum_run *m, const struct backend_fit *fit)
{
    if (!m->on)
        return true;
    m->step = momentum_next(&m->state, fit->objective, fit->noise);
    m->stepped = false;
    m->by_residual = fit->exact;
    return !m->state.taken_back;
}

double momentum_slack(const struct momentum_run *m)
{
    return momentum_fall(&m->state);
}

void momentum_note(struct momentum_run *m, bool small)
{
    m->small = small ? m->small + 1 : 0;
}

bool momentum_may_stop(const struct momentum_run *m)
{
    return !m->on || momentum_is_plain(m->state.sweeps - 1) || m->small >= SMALL_CHANGES;
}

enum status momentum_go_on(struct momentum_run *m, struct backend *b, bool converged,
                           struct error *error)
{
    bool again = m->begins_anew;
    m->begins_anew = false;
    if (!m->on || again)
        return STATUS_OK;
    m->stepped = !converged && !momentum_is_plain(m->state.sweeps);
    if (!m->stepped) {
        m->state.t = 1;
        m->state.extrapolated = 0;
    }
    if (m->by_residual && backend_accelerate(b, &m->state, error) != STATUS_OK)
        return error->status;
    return m->stepped ? backend_extrapolate(b, &m->step, error) : STATUS_OK;
}

enum status momentum_pause(struct momentum_run *m, struct backend *b, struct error *error)
{
    if (!m->on)
        return STATUS_OK;
    if (m->state.taken_back && !m->stepped && backend_extrapolate(b, &m->step, error) != STATUS_OK)
        return error->status;
    if (backend_accelerate(b, NULL, error) != STATUS_OK)
        return error->status;
    if (m->stepped && m->state.extrapolated)
        backend_trade(b);
    return STATUS_OK;
}

enum status momentum_restart(struct momentum_run *m, struct backend *b, struct error *error)
{
    m->state.t = 1;
    m->state.extrapolated = m->state.taken_back = 0;
    m->begins_anew = true;
    return accelerate(m, b, error);
}

void momentum_tell(const struct momentum_run *m, struct checkpoint_about *about)
{
    about->has_momentum = m->on;
    about->momentum = m->on ? m->state : (struct momentum){0};
    about->small_changes = m->on ? m->small : 0;
}

enum status momentum_end(struct momentum_run *m, struct backend *b, struct backend_fit *fit,
                         bool *again, struct error *error)
{
    int first = mode_rules_first(&b->options.problem.rules, b->order);
    *again = m->on && m->state.taken_back;
    if (!m->on || backend_accelerate(b, NULL, error) != STATUS_OK)
        return error->status;
    if (m->state.extrapolated)
        backend_trade(b);
    if (!*again)
        return STATUS_OK;
    if (backend_mttkrp(b, first, error) != STATUS_OK ||
        backend_update(b, first, error) != STATUS_OK)
        return error->status;
    return backend_fit(b, first, fit, error);
}
