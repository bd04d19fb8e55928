#include "model/ktensor.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/factor_columns.h"

/* One of the two models that are compared. */
struct side {
    const struct ktensor *model;
    struct column *column; /* (R) the columns of the present mode       */
    double *norm;          /* (R) their norms                           */
    double *weight;        /* (R) |lambda| times the norms of all modes */
    int *matched;          /* (R) whether the component has its partner */
};

static enum status side_create(struct side *s, const struct ktensor *k, struct error *error)
{
    s->model = k;
    if (!(s->column = memory_array(k->rank, sizeof *s->column, error)) ||
        !(s->norm = memory_array(k->rank, sizeof *s->norm, error)) ||
        !(s->weight = memory_array(k->rank, sizeof *s->weight, error)) ||
        !(s->matched = memory_zeros(k->rank, sizeof *s->matched, error)))
        return error->status;
    for (uint64_t r = 0; r < k->rank; r++)
        s->weight[r] = fabs(k->lambda[r]);
    return STATUS_OK;
}

static enum status side_take_mode(struct side *s, int n, struct error *error)
{
    const struct ktensor *k = s->model;
    enum status status =
        factor_columns_measure(k->factor[n], k->shape.dims[n], k->rank, 0, s->column, error);
    for (uint64_t r = 0; r < k->rank && status == STATUS_OK; r++) {
        s->norm[r] = column_norm(&s->column[r]);
        s->weight[r] *= s->norm[r];
    }
    return status;
}

static void side_free(struct side *s)
{
    memory_free(s->column);
    memory_free(s->norm);
    memory_free(s->weight);
    memory_free(s->matched);
}

/* match (Ra x Rb) receives the products over modes of |cos| of a's and b's columns. */
static enum status cosines(struct side *a, struct side *b, double *product, double *match,
                           struct error *error)
{
    const struct ktensor *ka = a->model, *kb = b->model;
    for (uint64_t i = 0; i < ka->rank * kb->rank; i++)
        match[i] = 1;
    for (int n = 0; n < ka->shape.order; n++) {
        if (side_take_mode(a, n, error) != STATUS_OK || side_take_mode(b, n, error) != STATUS_OK ||
            factor_columns_products(ka->factor[n], ka->rank, kb->factor[n], kb->rank,
                                    ka->shape.dims[n], product, error) != STATUS_OK)
            return error->status;
        for (uint64_t r = 0; r < ka->rank; r++)
            for (uint64_t s = 0; s < kb->rank; s++) {
                double norms = a->norm[r] * b->norm[s];
                uint64_t at = r * kb->rank + s;
                match[at] *= norms > 0 ? fmin(fabs(product[at]) / norms, 1) : 0;
            }
    }
    return STATUS_OK;
}

static void penalise_weights(const struct side *a, const struct side *b, double *match)
{
    for (uint64_t r = 0; r < a->model->rank; r++)
        for (uint64_t s = 0; s < b->model->rank; s++) {
            double larger = fmax(a->weight[r], b->weight[s]);
            if (larger > 0)
                match[r * b->model->rank + s] *= 1 - fabs(a->weight[r] - b->weight[s]) / larger;
        }
}

/* Matches the best pair of unmatched components until one model has none left. Returns the sum of
 * the pairs' scores. component (R of b) may be NULL. */
static double match_greedily(struct side *a, struct side *b, const double *match, double *component)
{
    uint64_t rank_a = a->model->rank, rank_b = b->model->rank;
    double sum = 0;
    for (uint64_t pair = 0; pair < rank_a && pair < rank_b; pair++) {
        double best = -1;
        uint64_t best_r = 0, best_s = 0;
        for (uint64_t r = 0; r < rank_a; r++)
            for (uint64_t s = 0; s < rank_b && !a->matched[r]; s++)
                if (!b->matched[s] && match[r * rank_b + s] > best) {
                    best = match[r * rank_b + s];
                    best_r = r;
                    best_s = s;
                }
        if (best < 0) /* only NaN are left */
            break;
        a->matched[best_r] = b->matched[best_s] = 1;
        sum += best;
        if (component)
            component[best_s] = best;
    }
    return sum;
}

static enum status check_shapes(const struct ktensor *a, const struct ktensor *b,
                                struct error *error)
{
    if (a->shape.order != b->shape.order)
        return error_set(error, STATUS_INPUT,
                         "a model of %d modes and one of %d cannot be compared", a->shape.order,
                         b->shape.order);
    for (int n = 0; n < a->shape.order; n++)
        if (a->shape.dims[n] != b->shape.dims[n])
            return error_set(
                error, STATUS_INPUT, "mode %d: a length of %llu and one of %llu cannot be compared",
                n + 1, (unsigned long long)a->shape.dims[n], (unsigned long long)b->shape.dims[n]);
    return STATUS_OK;
}

enum status ktensor_score(const struct ktensor *a, const struct ktensor *b, int with_lambda,
                          double *score, double *component, struct error *error)
{
    if (check_shapes(a, b, error) != STATUS_OK)
        return error->status;

    struct side sa = {0}, sb = {0};
    double *product = NULL, *match = NULL;
    if (side_create(&sa, a, error) != STATUS_OK || side_create(&sb, b, error) != STATUS_OK ||
        !(product = memory_array(a->rank, b->rank * sizeof *product, error)) ||
        !(match = memory_array(a->rank, b->rank * sizeof *match, error)) ||
        cosines(&sa, &sb, product, match, error) != STATUS_OK)
        goto end;
    if (with_lambda)
        penalise_weights(&sa, &sb, match);
    if (component)
        memset(component, 0, b->rank * sizeof *component);
    *score = match_greedily(&sa, &sb, match, component) / (double)b->rank;
end:
    memory_free(product);
    memory_free(match);
    side_free(&sa);
    side_free(&sb);
    return error->status;
}
