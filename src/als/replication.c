#include "als/replication.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "ranks/replicate_tensor.h"

/* Refuses a part without nonzeros; *nonzeros = those of each replicate instead of each part. */
static enum status check_parts(const struct slice_parts *s, uint64_t nonzeros[MOST_REPLICATES],
                               struct error *error)
{
    uint64_t without[MOST_REPLICATES];
    for (int k = 0; k < slice_parts_replicates(s); k++) {
        const int first = slice_parts_division(s, k) * s->parts;
        without[k] = 0;
        for (int part = 0; part < s->parts; part++)
            without[k] += part != slice_parts_left_out(s, k) ? nonzeros[first + part] : 0;
        if (nonzeros[k] > 0)
            continue;
        return slice_parts_are_halves(s)
                   ? error_set(error, STATUS_INPUT,
                               "--split-half %d: one half has no nonzeros, expected some in both; "
                               "%d:%ju divides the slices in another way",
                               s->mode, s->mode, (uintmax_t)s->seed + 1)
                   : error_set(error, STATUS_INPUT,
                               "--replicate %d:%d: part %d of division %d has no nonzeros, "
                               "expected some in each; fewer parts have more slices each",
                               s->mode, s->parts, k - first + 1, first / s->parts + 1);
    }
    memory_copy(nonzeros, without, sizeof without);
    return STATUS_OK;
}

enum status replication_check(struct run_list *list, const struct rank_tensor *t,
                              struct error *error)
{
    const struct slice_parts *s = &list->parts;
    const bool halves = slice_parts_are_halves(s);
    const char *option = halves ? "--split-half" : "--replicate";
    if (s->mode == 0)
        return STATUS_OK;
    if (s->mode > t->shape.order)
        return error_set(error, STATUS_INPUT, "%s: mode %d, but the tensor has %d", option, s->mode,
                         t->shape.order);
    if (t->shape.order == 1)
        return error_set(error, STATUS_INPUT,
                         "%s: the %s are compared in the other modes, but the tensor has one mode",
                         option, halves ? "halves" : "replicates");
    if (!halves && (uint64_t)s->parts > t->shape.dims[s->mode - 1])
        return error_set(
            error, STATUS_INPUT,
            "--replicate %d:%d: mode %d has %ju slices, expected at most as many parts", s->mode,
            s->parts, s->mode, (uintmax_t)t->shape.dims[s->mode - 1]);
    TRY(replicate_tensor_count(t, s, list->nonzeros, error));
    return check_parts(s, list->nonzeros, error);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of x (count), which is sorted. */
static double median_of(double *x, size_t count)
{
    qsort(x, count, sizeof *x, ascending);
    return (x[(count - 1) / 2] + x[count / 2]) / 2;
}

/* *match = the pairs of components of two models in all modes but that of the parts. Component i of
 * a is in pair i, since b has as many. The caller frees *match. */
static enum status match_models(const struct replication *s, struct ktensor_match *match,
                                const struct ktensor *a, const struct ktensor *b,
                                struct error *error)
{
    bool modes[MAX_ORDER];
    for (int n = 0; n < MAX_ORDER; n++)
        modes[n] = n != s->parts.mode - 1;
    return ktensor_match(match, a, b, false, modes, error);
}

/* partner (R) = the partners of the components of the whole in replicate k, from 0; their scores go
 * to s->with, and to least (R) where they are less. */
static enum status find_partners(struct replication *s, const struct ktensor *model,
                                 const struct ktensor *replicate, int k, uint64_t *partner,
                                 double *least, struct error *error)
{
    struct ktensor_match match = {0};
    TRY(match_models(s, &match, model, replicate, error));
    s->order = match.order;
    memory_copy(s->mode, match.mode, sizeof s->mode);
    for (uint64_t r = 0; r < s->rank; r++) {
        const double score = match.pair[r].score;
        partner[r] = match.pair[r].b;
        s->with[r * (uint64_t)s->replicates + (uint64_t)k] = score;
        least[r] = fmin(least[r], score);
    }
    ktensor_match_free(&match);
    return STATUS_OK;
}

/* Compares the models of two replicates. partner (R): the partners in a of the components of the
 * whole; the scores of the pairs that they are in go to least (R) where they are less. */
static enum status compare_replicates(struct replication *s, const struct ktensor *a,
                                      const struct ktensor *b, const uint64_t *partner,
                                      double *least, struct error *error)
{
    struct ktensor_match match = {0};
    TRY(match_models(s, &match, a, b, error));
    for (uint64_t r = 0; r < s->rank; r++) {
        struct replicated_component *component = &s->component[r];
        const double score = match.pair[partner[r]].score;
        least[r] = fmin(least[r], score);
        for (int i = 0; score < component->pair && i < s->order; i++)
            component->cosine[i] =
                fabs(match.cosine[partner[r] * (uint64_t)s->order + (uint64_t)i]);
        component->pair = fmin(component->pair, score);
    }
    s->score[s->pairs++] = match.score;
    ktensor_match_free(&match);
    return STATUS_OK;
}

/* Judges the components by their least scores in each division, least (divisions x R), and the
 * scores of all pairs. scratch: room for all of these. */
static void judge(struct replication *s, const double *least, int divisions, double *scratch)
{
    for (uint64_t r = 0; r < s->rank; r++) {
        struct replicated_component *component = &s->component[r];
        for (int d = 0; d < divisions; d++)
            scratch[d] = least[(uint64_t)d * s->rank + r];
        component->score = median_of(scratch, (size_t)divisions);
        memory_copy(scratch, s->with + r * (uint64_t)s->replicates,
                    (size_t)s->made * sizeof *scratch);
        component->median = median_of(scratch, (size_t)s->made);
        s->alike += component->score >= REPLICATES_ALIKE;
        if (component->score < s->component[s->weakest].score)
            s->weakest = r;
    }
    memory_copy(scratch, s->score, s->pairs * sizeof *scratch);
    s->median = median_of(scratch, s->pairs);
    s->least = scratch[0];
    s->greatest = scratch[s->pairs - 1];
}

/* Whether a replicate has all its starts, and a model. */
static bool was_made(const struct starts *s)
{
    const enum cpals_stop last = s->made > 0 ? s->start[s->made - 1].result.stop : CPALS_GOES_ON;
    return starts_complete(s) && s->modelled > 0 && last != CPALS_INTERRUPTED &&
           last != CPALS_TIME_LIMIT;
}

enum status replication_compare(struct replication *s, struct runs *runs,
                                const struct ktensor *model, struct error *error)
{
    const struct slice_parts *parts = &runs->list.parts;
    const int replicates = slice_parts_replicates(parts);
    *s = (struct replication){.parts = *parts,
                              .replicates = replicates,
                              .nonzeros = runs->list.nonzeros,
                              .starts = runs->starts + 1,
                              .least = NAN,
                              .median = NAN,
                              .greatest = NAN};
    while (s->made < replicates && was_made(&s->starts[s->made]))
        s->made++;
    s->state = s->made == replicates ? REPLICATION_WHOLE
               : runs_ended(runs)    ? REPLICATION_ENDED
                                     : REPLICATION_BREAKDOWN;
    if (s->made < 2) /* no two of one division */
        return STATUS_OK;
    const int divisions = (s->made + parts->parts - 2) / parts->parts;    /* with two or more */
    const size_t most = (size_t)s->made * (size_t)(parts->parts - 1) + 1; /* pairs, replicates */
    const uint64_t rank = model->rank;
    s->rank = rank;
    struct ktensor *replicate = memory_zeros((size_t)s->made, sizeof *replicate, error);
    uint64_t *partner = memory_array((size_t)s->made * rank, sizeof *partner, error);
    double *least = memory_array((size_t)(divisions + 1) * rank, sizeof *least, error);
    double *scratch = memory_array(most, sizeof *scratch, error);
    s->score = memory_array(most, sizeof *s->score, error);
    s->component = memory_zeros(rank, sizeof *s->component, error);
    s->with = memory_zeros(rank * (uint64_t)replicates, sizeof *s->with, error);
    TRY_OR(done, error->status);
    for (uint64_t i = 0; i < (uint64_t)(divisions + 1) * rank; i++)
        least[i] = INFINITY;
    for (uint64_t r = 0; r < rank; r++)
        s->component[r].pair = INFINITY;
    for (int k = 0; k < s->made; k++) {
        const int division = slice_parts_division(parts, k);
        double *here = least + (uint64_t)division * rank;
        TRY_OR(done, runs_take_best(runs, k + 1, &replicate[k], error));
        TRY_OR(done, find_partners(s, model, &replicate[k], k, partner + (uint64_t)k * rank, here,
                                   error));
    }
    for (int a = 0; a < s->made; a++) {
        const int division = slice_parts_division(parts, a);
        for (int b = a + 1; b < s->made && slice_parts_division(parts, b) == division; b++)
            TRY_OR(done,
                   compare_replicates(s, &replicate[a], &replicate[b], partner + (uint64_t)a * rank,
                                      least + (uint64_t)division * rank, error));
    }
    judge(s, least, divisions, scratch);
done:
    for (int k = 0; replicate && k < s->made; k++)
        ktensor_free(&replicate[k]);
    memory_free(replicate, partner, least, scratch);
    return error->status;
}

void replication_free(struct replication *s)
{
    memory_free(s->score, s->component, s->with);
    *s = (struct replication){0};
}
