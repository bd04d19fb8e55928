#include "backend/backend_problem.h"

#include <math.h>

#include "numerics/poisson_term.h"

/* By what a ridge of this scale is multiplied here: of a tensor divided by 2^e, a balanced one is
 * 2^(e (2/N - 2)) times as large. */
static double ridge_unit(const struct backend_problem *p)
{
    return p->asked->ridge_scale == RIDGE_BALANCED ? exp2(p->exponent * (2.0 / p->order - 2)) : 1;
}

struct row_rules backend_row_rules(const struct backend_problem *p, int mode,
                                   enum precision precision)
{
    const struct problem *asked = p->asked;
    const bool rates = problem_has_rates(asked), single = precision == PRECISION_SINGLE;
    const bool balanced = asked->ridge_scale == RIDGE_BALANCED;
    return (struct row_rules){.ridge = asked->rules.ridge[mode] * p->count.ridge * ridge_unit(p),
                              .power = balanced ? 2.0 * (p->order - 1) / p->order : 0,
                              .counted = asked->ridge_scale == RIDGE_COUNTED,
                              .nonneg = asked->rules.nonneg[mode],
                              .prox = {rates ? POISSON_KEEPS : 0},
                              .unlisted = p->count.weight,
                              .rates = rates,
                              .kind = loss_of(asked->loss)->kind,
                              .matrix = problem_has_matrices(asked),
                              .weighed = rates && asked->unlisted.weighed,
                              .count = exp2(-p->exponent),
                              .floor = single ? POISSON_FLOOR_SINGLE : POISSON_FLOOR};
}

double backend_penalty_power(const struct backend_problem *p)
{
    return p->asked->ridge_scale == RIDGE_BALANCED ? 2.0 / p->order : 2;
}

double backend_penalty(const struct backend_problem *p, int mode, double sum, double counted)
{
    const struct mode_rules *rules = &p->asked->rules;
    double ridge = 0;
    if (p->asked->ridge_scale == RIDGE_COUNTED)
        return counted;
    for (int n = 0; n < p->order; n++)
        ridge += rules->ridge[n];
    ridge = p->asked->ridge_scale == RIDGE_BALANCED ? ridge * ridge_unit(p) : rules->ridge[mode];
    return ridge_penalty(p->count.ridge * ridge, sum);
}

double backend_penalty_of(const struct backend_problem *p, int mode, const double *lambda,
                          double counted)
{
    const double power = backend_penalty_power(p);
    double sum = 0;
    for (uint64_t r = 0; r < p->asked->rank; r++)
        sum += power == 2 ? lambda[r] * lambda[r] : pow(lambda[r], power);
    return backend_penalty(p, mode, sum, counted);
}
