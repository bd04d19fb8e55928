#include "als/split_half.h"

#include <math.h>

#include "base/memory.h"
#include "ranks/half_tensor.h"

enum status split_half_check(struct run_list *list, const struct rank_tensor *t,
                             struct error *error)
{
    const struct halves *h = &list->halves;
    if (h->mode == 0)
        return STATUS_OK;
    if (h->mode > t->shape.order)
        return error_set(error, STATUS_INPUT, "--split-half: mode %d, but the tensor has %d",
                         h->mode, t->shape.order);
    if (t->shape.order == 1)
        return error_set(error, STATUS_INPUT,
                         "--split-half: the halves are compared in the other modes, but the tensor "
                         "has one mode");
    TRY(half_tensor_count(t, h, list->nonzeros, error));
    if (list->nonzeros[0] > 0 && list->nonzeros[1] > 0)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "--split-half %d: one half has no nonzeros, expected some in both; %d:%ju "
                     "divides the slices in another way",
                     h->mode, h->mode, (uintmax_t)h->seed + 1);
}

enum status split_half_compare(struct split_half *s, struct runs *runs, const struct ktensor *model,
                               struct error *error)
{
    struct ktensor half[2] = {{.rank = 0}, {.rank = 0}};
    bool modes[MAX_ORDER];
    *s = (struct split_half){.halves = runs->list.halves,
                             .nonzeros = {runs->list.nonzeros[0], runs->list.nonzeros[1]},
                             .starts = {runs->starts[1], runs->starts[2]}};
    if (s->halves.mode == 0 || runs_ended(runs))
        return STATUS_OK;
    s->state = HALVES_BREAKDOWN;
    if (s->starts[0].modelled == 0 || s->starts[1].modelled == 0)
        return STATUS_OK;
    s->state = HALVES_COMPARED;
    for (int n = 0; n < MAX_ORDER; n++)
        modes[n] = n != s->halves.mode - 1;
    for (int k = 0; k < 2; k++)
        TRY_OR(done, runs_take_best(runs, k + 1, &half[k], error));
    s->component = memory_zeros(model->rank, sizeof *s->component, error);
    if (!s->component)
        goto done;
    TRY_OR(done, ktensor_match(&s->match, &half[0], &half[1], false, modes, error));
    for (int k = 0; k < 2; k++) {
        struct ktensor_match match = {0};
        TRY_OR(done, ktensor_match(&match, model, &half[k], false, modes, error));
        for (uint64_t r = 0; r < model->rank; r++) { /* all models have as many components */
            s->component[r].with[k] = match.pair[r].score;
            if (k == 0)
                s->component[r].pair = match.pair[r].b;
        }
        ktensor_match_free(&match);
    }
    for (uint64_t r = 0; r < model->rank; r++) {
        struct half_partners *of = &s->component[r];
        of->score = fmin(s->match.pair[of->pair].score, fmin(of->with[0], of->with[1]));
        s->alike += of->score >= HALVES_ALIKE;
        if (of->score < s->component[s->least].score)
            s->least = r;
    }
done:
    ktensor_free(&half[0]);
    ktensor_free(&half[1]);
    return error->status;
}

void split_half_free(struct split_half *s)
{
    ktensor_match_free(&s->match);
    memory_free(s->component);
    *s = (struct split_half){0};
}
