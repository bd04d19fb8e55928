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
    memory_free(h->recent, h->older);
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

/* The place of component r, from 1, in the arranged model. */
static uint64_t place_of(const double *weight, uint64_t rank, uint64_t r)
{
    uint64_t place = 1;
    for (uint64_t s = 0; s < rank; s++)
        place += weight[s] > weight[r] || (weight[s] == weight[r] && s < r);
    return place;
}

enum status model_health(struct model_health *health, struct backend *b,
                         const struct weight_history *history, int iteration, struct error *error)
{
    const uint64_t rank = history->rank, entries = rank * rank;
    const bool sorted = !mode_rules_any(b->options.problem.rules.fixed); /* by descending weights */
    const bool recent = iteration > history->recent_at;
    const double *then = recent ? history->recent : history->older; /* the weights of before */
    *health = (struct model_health){.since = recent ? history->recent_at : history->older_at};
    double *congruence = memory_array(rank, rank * sizeof *congruence, error);
    double *gram = memory_array(rank, rank * sizeof *gram, error); /* of one mode */
    double *weight = memory_array(rank, sizeof *weight, error);
    double *norm = memory_array(rank, sizeof *norm, error); /* the product of the columns' norms */
    TRY_OR(done, error->status);
    TRY_OR(done, backend_weights(b, weight, error));
    for (uint64_t i = 0; i < entries; i++)
        congruence[i] = 1;
    for (int n = 0; n < b->order; n++) {
        TRY_OR(done, backend_gram(b, n, gram, error));
        for (uint64_t i = 0; i < entries; i++)
            congruence[i] *= gram[i];
    }
    double least = 0; /* a component of no more weight is zero; weights lack norms of fixed modes */
    for (uint64_t r = 0; r < rank; r++) {
        norm[r] = sqrt(congruence[r * rank + r]); /* columns of fixed modes may have any norm */
        least = fmax(least, HEALTH_DEAD * weight[r] * norm[r]);
    }
    for (uint64_t r = 0; r < rank; r++)
        health->zero += !(weight[r] * norm[r] > least);
    for (uint64_t i = 0; health->since > 0 && i < rank; i++)
        for (uint64_t j = i + 1; j < rank; j++) {
            const double cosine = norm[i] > 0 && norm[j] > 0
                                      ? congruence[i * rank + j] / (norm[i] * norm[j])
                                      : congruence[i * rank + j];
            if (!(cosine < HEALTH_CONGRUENCE) || !(weight[i] > HEALTH_GROWTH * then[i]) ||
                !(weight[j] > HEALTH_GROWTH * then[j]))
                continue;
            health->degenerate++;
            if (cosine >= health->congruence)
                continue;
            const uint64_t a = sorted ? place_of(weight, rank, i) : i + 1;
            const uint64_t c = sorted ? place_of(weight, rank, j) : j + 1;
            health->congruence = cosine;
            health->pair[0] = a < c ? a : c;
            health->pair[1] = a < c ? c : a;
            health->growth = weight[i] / then[i] * (weight[j] / then[j]);
        }
    health->ridge = (1 + HEALTH_RESTED) * (1 + HEALTH_RESTED) * (1 + HEALTH_RESTED) / 54;
done:
    memory_free(congruence, gram, weight, norm);
    return error->status;
}
