#include "als/split_half.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"

#define PATIENCE 10 /* times as many iterations as the whole are allowed to a half */

enum status split_half_create(struct split_half *s, const struct halves *halves, int asked,
                              uint64_t seed, const struct split_half *first, struct error *error)
{
    *s = (struct split_half){.halves = *halves};
    for (int k = 0; k < 2 && halves->mode > 0; k++) {
        const uint64_t first_seed = seed + (uint64_t)(k + 1) * (uint64_t)asked;
        struct ktensor *models = first ? first->starts[k].model : NULL;
        TRY(starts_create(&s->starts[k], asked, first_seed, models, error));
    }
    return STATUS_OK;
}

enum status split_half_check(struct split_half *s, const struct rank_tensor *t, struct error *error)
{
    const int mode = s->halves.mode;
    if (mode == 0)
        return STATUS_OK;
    if (mode > t->shape.order)
        return error_set(error, STATUS_INPUT, "--split-half: mode %d, but the tensor has %d", mode,
                         t->shape.order);
    if (t->shape.order == 1)
        return error_set(error, STATUS_INPUT,
                         "--split-half: the halves are compared in the other modes, but the tensor "
                         "has one mode");
    TRY(half_tensor_count(t, &s->halves, s->nonzeros, error));
    if (s->nonzeros[0] > 0 && s->nonzeros[1] > 0)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "--split-half %d: one half has no nonzeros, expected some in both; %d:%ju "
                     "divides the slices in another way",
                     mode, mode, (uintmax_t)s->halves.seed + 1);
}

/* The run of a half leaves out what is about the run of the whole. A half that has not converged
 * proves nothing, and with fewer slices ALS often takes longer. */
static struct decomposition of_half(const struct decomposition *d)
{
    struct decomposition of = *d;
    if (of.als.tolerance > 0)
        of.als.max_iterations =
            of.als.max_iterations < INT_MAX / PATIENCE ? of.als.max_iterations * PATIENCE : INT_MAX;
    of.als.saving = NULL;
    of.als.resume = NULL;
    of.als.trace = NULL;
    of.als.early_stop = 0;
    of.als.core_consistency = false;
    of.opened = NULL;
    of.choose_ridge = false;
    of.spread = false;
    return of;
}

/* The nonzeros of the whole stay in memory beside those of the half. */
static struct backend_options options_of_half(const struct backend_options *options,
                                              const struct rank_tensor *t)
{
    struct backend_options of = *options;
    const uint64_t whole = coo_bytes(t->shape.order, t->input.x.nnz);
    of.spends = true;
    if (of.host_memory > 0)
        of.host_memory = of.host_memory > whole ? of.host_memory - whole : 1;
    return of;
}

static void note_half(const struct split_half *s, int k, struct progress *progress)
{
    const struct halves *h = &s->halves;
    char which[64];
    if (h->seed > 0)
        snprintf(which, sizeof which, "seed %ju", (uintmax_t)h->seed);
    else
        snprintf(which, sizeof which, "slices %d, %d, ...", k + 1, k + 3);
    progress_note(progress, "half %d of mode %d (%s): %ju nonzeros", k + 1, h->mode, which,
                  (uintmax_t)s->nonzeros[k]);
}

/* What the runs of both halves have in common. */
struct work {
    struct split_half *s;
    const struct rank_tensor *whole;
    const struct backend_kind *kind;
    struct backend_options options;
    struct decomposition d;
};

/* Makes the models of one half. That none of its starts has one is no failure. */
static enum status decompose_half(struct work *w, struct rank_tensor *half, struct starts *starts,
                                  struct error *error)
{
    struct rank_report report;
    struct backend b;
    TRY(backend_prepare(&b, w->kind, half, &w->options, w->d.progress, error));
    decompose(&b, half, &w->d, starts, &report, error);
    if (error->status == STATUS_NUMERICAL && starts->made > 0 && starts->modelled == 0)
        *error = (struct error){0};
    return error->status;
}

static enum status run_half(struct work *w, int k, struct error *error)
{
    struct rank_tensor half = {0};
    note_half(w->s, k, w->d.progress);
    TRY_OR(done, half_tensor_take(&half, w->whole, &w->s->halves, k, error));
    decompose_half(w, &half, &w->s->starts[k], error);
done:
    half_tensor_free(&half);
    return error->status;
}

static enum split_half_state state_of(const struct split_half *s)
{
    if (split_half_ended(s))
        return HALVES_ENDED;
    return s->starts[0].modelled > 0 && s->starts[1].modelled > 0 ? HALVES_COMPARED
                                                                  : HALVES_BREAKDOWN;
}

enum status split_half_run(struct split_half *s, const struct rank_tensor *t,
                           const struct backend_kind *kind, const struct backend_options *options,
                           const struct decomposition *d, struct error *error)
{
    struct work w = {
        .s = s, .whole = t, .kind = kind, .options = options_of_half(options, t), .d = of_half(d)};
    TRY(run_half(&w, 0, error));
    if (s->starts[0].modelled > 0 && !split_half_ended(s))
        TRY(run_half(&w, 1, error));
    s->state = state_of(s);
    return comm_end_phase(t->comm, error); /* the models are complete when all ranks are here */
}

/* Finds the partners of the components of the whole in half k, once s->match is made. */
static enum status find_partners(struct split_half *s, const struct ktensor *whole,
                                 const struct ktensor *half, int k, const bool *modes,
                                 struct error *error)
{
    struct ktensor_match match = {0};
    TRY(ktensor_match(&match, whole, half, false, modes, error));
    for (uint64_t r = 0; r < whole->rank; r++) { /* all models have as many components */
        struct half_partners *of = &s->component[r];
        of->with[k] = match.pair[r].score;
        if (k == 0)
            of->pair = match.pair[r].b;
    }
    ktensor_match_free(&match);
    return STATUS_OK;
}

static void count_alike(struct split_half *s, uint64_t rank)
{
    s->least = s->alike = 0;
    for (uint64_t r = 0; r < rank; r++) {
        struct half_partners *of = &s->component[r];
        of->score = fmin(s->match.pair[of->pair].score, fmin(of->with[0], of->with[1]));
        s->alike += of->score >= HALVES_ALIKE;
        if (of->score < s->component[s->least].score)
            s->least = r;
    }
}

enum status split_half_compare(struct split_half *s, const struct ktensor *model,
                               struct error *error)
{
    struct ktensor half[2] = {{.rank = 0}, {.rank = 0}};
    bool modes[MAX_ORDER];
    if (s->state != HALVES_COMPARED)
        return STATUS_OK;
    for (int n = 0; n < MAX_ORDER; n++)
        modes[n] = n != s->halves.mode - 1;
    for (int k = 0; k < 2; k++)
        TRY_OR(done, starts_take_best(&s->starts[k], &half[k], error));
    s->component = memory_zeros(model->rank, sizeof *s->component, error);
    if (!s->component)
        goto done;
    TRY_OR(done, ktensor_match(&s->match, &half[0], &half[1], false, modes, error));
    for (int k = 0; k < 2; k++)
        TRY_OR(done, find_partners(s, model, &half[k], k, modes, error));
    count_alike(s, model->rank);
done:
    ktensor_free(&half[0]);
    ktensor_free(&half[1]);
    return error->status;
}

bool split_half_ended(const struct split_half *s)
{
    return starts_ended(&s->starts[0]) || starts_ended(&s->starts[1]);
}

int split_half_interrupted(const struct split_half *s)
{
    int signal = 0;
    for (int k = 0; k < 2; k++)
        if (s->starts[k].made > 0)
            signal = s->starts[k].start[s->starts[k].made - 1].result.interrupted;
    return signal;
}

void split_half_free(struct split_half *s)
{
    starts_free(&s->starts[0]);
    starts_free(&s->starts[1]);
    ktensor_match_free(&s->match);
    memory_free(s->component);
    *s = (struct split_half){0};
}
