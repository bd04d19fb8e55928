#include "als/model_health.h"

#include <math.h>

#include "base/memory.h"

enum status weight_history_create(struct weight_history *h, uint64_t rank, struct error *error)
{
    *h = (struct weight_history){.rank = rank};
    h->recent = memory_array(rank, sizeof *h->recent, error);
    h->older = memory_array(rank, sizeof *h->older, error);
    if (error->status != STATUS_OK)
        weight_history_free(h);
    return error->status;
}

void weight_history_free(struct weight_history *h)
{
    memory_free(h->recent);
    memory_free(h->older);
    *h = (struct weight_history){0};
}

enum status weight_history_note(struct weight_history *h, struct backend *b, int iteration,
                                struct error *error)
{
    if ((iteration & (iteration - 1)) != 0)
        return STATUS_OK;
    double *oldest = h->older;
    h->older = h->recent;
    h->older_at = h->recent_at;
    h->recent = oldest;
    h->recent_at = iteration;
    return backend_weights(b, h->recent, error);
}

/* One model's numbers. */
struct examination {
    uint64_t rank;
    bool sorted;        /* the arranged model has descending weights        */
    double *congruence; /* (R x R)                                          */
    double *gram;       /* (R x R): of one mode                             */
    double *weight;     /* (R)                                              */
    double *norm;       /* (R): the product of the norms of the columns     */
    const double *then; /* (R): the weights after an earlier iteration      */
};

static enum status examine(struct examination *e, struct backend *b, struct error *error)
{
    uint64_t entries = e->rank * e->rank;
    e->congruence = memory_array(e->rank, e->rank * sizeof *e->congruence, error);
    e->gram = memory_array(e->rank, e->rank * sizeof *e->gram, error);
    e->weight = memory_array(e->rank, sizeof *e->weight, error);
    e->norm = memory_array(e->rank, sizeof *e->norm, error);
    TRY(error->status);
    TRY(backend_weights(b, e->weight, error));
    for (uint64_t i = 0; i < entries; i++)
        e->congruence[i] = 1;
    for (int n = 0; n < b->order; n++) {
        TRY(backend_gram(b, n, e->gram, error));
        for (uint64_t i = 0; i < entries; i++)
            e->congruence[i] *= e->gram[i];
    }
    for (uint64_t r = 0; r < e->rank; r++) /* columns of fixed modes may have any norm */
        e->norm[r] = sqrt(e->congruence[r * e->rank + r]);
    for (uint64_t i = 0; i < e->rank; i++)
        for (uint64_t j = 0; j < e->rank; j++)
            if (e->norm[i] > 0 && e->norm[j] > 0)
                e->congruence[i * e->rank + j] /= e->norm[i] * e->norm[j];
    return STATUS_OK;
}

/* The place of component r, from 1, in the arranged model. */
static uint64_t place_of(const struct examination *e, uint64_t r)
{
    uint64_t place = e->sorted ? 1 : r + 1;
    for (uint64_t s = 0; s < e->rank && e->sorted; s++)
        place += e->weight[s] > e->weight[r] || (e->weight[s] == e->weight[r] && s < r);
    return place;
}

static bool grows(const struct examination *e, uint64_t r)
{
    return e->weight[r] > HEALTH_GROWTH * e->then[r];
}

static void find_degenerate(struct model_health *health, const struct examination *e)
{
    for (uint64_t i = 0; i < e->rank; i++)
        for (uint64_t j = i + 1; j < e->rank; j++) {
            double congruence = e->congruence[i * e->rank + j];
            if (!(congruence < HEALTH_CONGRUENCE) || !grows(e, i) || !grows(e, j))
                continue;
            health->degenerate++;
            if (congruence >= health->congruence)
                continue;
            uint64_t a = place_of(e, i), b = place_of(e, j);
            health->congruence = congruence;
            health->pair[0] = a < b ? a : b;
            health->pair[1] = a < b ? b : a;
            health->growth = e->weight[i] / e->then[i] * (e->weight[j] / e->then[j]);
        }
}

enum status model_health(struct model_health *health, struct backend *b,
                         const struct weight_history *history, int iteration, struct error *error)
{
    struct examination e = {.rank = history->rank,
                            .sorted = !mode_rules_any(b->options.problem.rules.fixed)};
    bool recent = iteration > history->recent_at;
    *health = (struct model_health){.since = recent ? history->recent_at : history->older_at};
    e.then = recent ? history->recent : history->older;
    TRY_OR(done, examine(&e, b, error));
    double least = 0; /* a component of no more weight is zero; weights lack norms of fixed modes */
    for (uint64_t r = 0; r < e.rank; r++)
        least = fmax(least, HEALTH_DEAD * e.weight[r] * e.norm[r]);
    for (uint64_t r = 0; r < e.rank; r++)
        health->zero += !(e.weight[r] * e.norm[r] > least);
    if (health->since > 0)
        find_degenerate(health, &e);
    health->ridge = (1 + HEALTH_RESTED) * (1 + HEALTH_RESTED) * (1 + HEALTH_RESTED) / 54;
done:
    memory_free(e.congruence);
    memory_free(e.gram);
    memory_free(e.weight);
    memory_free(e.norm);
    return error->status;
}
