/* Momentum compared with plain ALS on a table of tensors that are hard for ALS. BLCO_TABLE is their
 * number (make table: 1000). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/degenerate_tensors.h"
#include "support/rank_runs.h"

#define TENSORS 48
#define BELOW   1e-3 /* by which momentum may end below plain ALS, at most */

static int tensors_of_table(void)
{
    const char *asked = getenv("BLCO_TABLE");
    return asked ? atoi(asked) : TENSORS;
}

static double best_of(const struct fit_trace *trace)
{
    double best = 0;
    for (size_t i = 0; i < trace->count; i++)
        best = fmax(best, trace->fit[i]);
    return best;
}

/* The fit of the model that the run ends with, which is its residual's, and the best of all
 * iterations, each from the residual: rounding may have hidden a fall of the noise of two fits. */
static double end_of(const struct coo *x, uint64_t rank, bool momentum, double tolerance, int most,
                     int number)
{
    struct fit_trace trace = {0};
    struct ktensor k;
    const struct backend_options options = {.problem.rank = rank,
                                            .problem.acceleration =
                                                momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF};
    const struct cpals_options als = {
        .max_iterations = most, .tolerance = tolerance, .check_every = 1, .trace = &trace};
    struct cpals_result result = run_random(x, &options, (uint64_t)number + 1, &als, &k);
    const double best = best_of(&trace), model = (double)naive_fit(x, &k);
    if (!(fabs(model - result.fit) < 1e-6 && result.fit > best - 2 * FIT_BLIND_DOUBLE))
        fail_msg("tensor %d, %s, tolerance %g: fit %.9f, of the model %.9f, best %.9f", number,
                 momentum ? "momentum" : "plain", tolerance, result.fit, model, best);
    fit_trace_free(&trace);
    ktensor_free(&k);
    return result.fit;
}

/* Momentum may end below plain ALS on one of `so_many` tensors. */
static void compare_ends(double tolerance, int most, int step, int so_many)
{
    const int tensors = tensors_of_table(), compared = (tensors + step - 1) / step;
    int above = 0, worse = 0;
    for (int number = 0; number < tensors; number += step) {
        struct coo x;
        const uint64_t rank = degenerate_tensor(&x, number);
        const double plain = end_of(&x, rank, false, tolerance, most, number);
        const double fit = end_of(&x, rank, true, tolerance, most, number);
        above += fit > plain + BELOW;
        worse += fit < plain - BELOW;
        if (fit < plain - BELOW)
            printf("tensor %d: %.6f, plain ALS %.6f\n", number, fit, plain);
        coo_free(&x);
    }
    printf("tolerance %g: of %d tensors, momentum ends above plain ALS on %d, below on %d\n",
           tolerance, compared, above, worse);
    assert_true(so_many * worse <= compared && above >= worse);
}

/* Ranks meet slowly, and sanitizers take long: they take fewer of the tensors. */
static int step_of_ranks(void)
{
    return under_test.ranks > 1 || SANITIZED ? 11 : 1;
}

static void test_default_tolerance(void **state)
{
    use_ranks(state);
    compare_ends(1e-5, 300, step_of_ranks(), 50);
}

/* Long runs go on from optimum to optimum, which are better ones or, less often, worse ones. */
static void test_long_runs(void **state)
{
    use_ranks(state);
    compare_ends(0, 1000, 5 * step_of_ranks(), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS_OF(test_default_tolerance, backend_host, 1),
        ON_RANKS_OF(test_default_tolerance, backend_host, 2),
        ON_RANKS_OF(test_default_tolerance, backend_cuda, 1),
        ON_RANKS_OF(test_default_tolerance, backend_cuda, 2),
        ON_RANKS_OF(test_long_runs, backend_host, 1),
        ON_RANKS_OF(test_long_runs, backend_host, 3),
        ON_RANKS_OF(test_long_runs, backend_cuda, 1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
