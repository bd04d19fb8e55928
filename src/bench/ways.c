#include "bench/ways.h"

#include <limits.h>

const struct way ways[] = {
    {"plain, double", .precision = POLICY_DOUBLE},
    {"plain, auto", .precision = POLICY_AUTO},
    {"plain, single", .precision = POLICY_SINGLE},
    {"momentum, double", .precision = POLICY_DOUBLE, .acceleration = ACCELERATE_MOMENTUM},
    {"momentum, auto", .precision = POLICY_AUTO, .acceleration = ACCELERATE_MOMENTUM},
    {NULL, .precision = POLICY_DOUBLE}};

struct backend_options way_backend(const struct way *way, const struct backend_options *options)
{
    struct backend_options of = *options;
    of.problem.precision = way->precision;
    of.problem.acceleration = way->acceleration;
    return of;
}

bool way_possible(const struct way *way, const struct backend_kind *kind,
                  const struct backend_options *options)
{
    const struct plan_tensor smallest = {.shape = {1, {1}}, .nnz = 1};
    const struct backend_options of = way_backend(way, options);
    struct plan_request request;
    struct error unused = {0};
    return kind->request(&request, &smallest, &of, &unused) == STATUS_OK;
}

struct cpals_options way_options(const struct way *way, int iterations, double tolerance,
                                 struct fit_trace *trace)
{
    bool drowned = way->precision == POLICY_SINGLE && tolerance < WAY_LEAST_TOLERANCE;
    return (struct cpals_options){.max_iterations = iterations,
                                  .tolerance = drowned ? 0 : tolerance,
                                  .check_every = INT_MAX, /* the last one only */
                                  .trace = trace};
}
