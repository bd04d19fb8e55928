#include "model/ktensor.h"

#include "model/ktensor_match.h"

enum status ktensor_score(const struct ktensor *a, const struct ktensor *b, int with_lambda,
                          double *score, double *component, struct error *error)
{
    struct ktensor_match match;
    if (ktensor_match(&match, a, b, with_lambda, error) != STATUS_OK)
        return error->status;
    *score = match.score * (double)match.pairs / (double)b->rank;
    for (uint64_t s = 0; component && s < b->rank; s++)
        component[s] = 0;
    for (uint64_t p = 0; component && p < match.pairs; p++)
        component[match.pair[p].b] = match.pair[p].score;
    ktensor_match_free(&match);
    return STATUS_OK;
}
