/* Runs in which a GPU streams the tensor, beside those that have it in memory. Include it after
 * cmocka.h, and support/rank_runs.h. */
#pragma once

#include <math.h>
#include <string.h>

#include "support/rank_runs.h"

/* The largest difference of two models' entries, beside the largest entry of their matrix. */
static inline double models_differ(const struct ktensor *a, const struct ktensor *b)
{
    double most = 0;
    for (int n = -1; n < a->shape.order; n++) {
        const double *x = n < 0 ? a->lambda : a->factor[n], *y = n < 0 ? b->lambda : b->factor[n];
        const uint64_t entries = a->rank * (n < 0 ? 1 : a->shape.dims[n]);
        double off = 0, largest = 0;
        for (uint64_t e = 0; e < entries; e++) {
            off = isnan(x[e] - y[e]) ? INFINITY : fmax(off, fabs(x[e] - y[e]));
            largest = fmax(largest, fabs(x[e]));
        }
        most = fmax(most, off > 0 ? off / largest : 0);
    }
    return most;
}

/* Some sweeps end with the same model and fit wherever the nonzeros are, and with the same bits
 * when they are repeated. `off`: rounding errors, since spans end elsewhere. */
static inline void assert_streams_alike(const struct coo *x, const struct backend_options *options,
                                        double off)
{
    const struct cpals_options als = {.max_iterations = 3};
    struct ktensor expected, found, again;
    under_test.flow = IN_MEMORY;
    const struct cpals_result in_memory = run_random(x, options, 5, &als, &expected);
    for (int flow = IN_BATCHES; flow < FLOWS; flow++) {
        under_test.flow = (enum flow)flow;
        const struct cpals_result streamed = run_random(x, options, 5, &als, &found);
        run_random(x, options, 5, &als, &again);
        const double differ = models_differ(&expected, &found);
        if (!(differ <= off))
            fail_msg("order %d, %ju nonzeros, rank %ju, flow %d: models differ by %g",
                     x->shape.order, (uintmax_t)x->nnz, (uintmax_t)options->problem.rank, flow,
                     differ);
        if (!(fabs(streamed.fit - in_memory.fit) <= off))
            fail_msg("order %d, flow %d: fit %.17g, in memory %.17g", x->shape.order, flow,
                     streamed.fit, in_memory.fit);
        assert_true(models_differ(&found, &again) == 0);
        ktensor_free(&found);
        ktensor_free(&again);
    }
    ktensor_free(&expected);
}

#define STREAMED_CASES     6
#define STREAMED_TWO_WORDS 4 /* the one of these whose coordinates take two words */

/* Rows of no nonzeros to thousands, some over many batches; coordinates of one word and of two. */
static inline void make_streamed_case(struct coo *x, int which)
{
    static const struct tensor_case cases[STREAMED_CASES] = {
        {2, {30, 400}, 3000, 0},
        {3, {3, 40, 700}, 6000, 1},
        {3, {50, 31, 40000}, 30000, 1},
        {4, {9, 1, 7, 20}, 700, 0},
        {5, {1 << 14, 1 << 14, 1 << 14, 1 << 14, 1 << 13}, 3000, 1},
        {6, {4, 3, 5, 2, 6, 4}, 700, 0}};
    const struct tensor_case *t = &cases[which];
    naive_random_coo(x, SHAPE(t->order, t->dims), t->nnz, 3 + (uint64_t)which, t->skewed);
}
