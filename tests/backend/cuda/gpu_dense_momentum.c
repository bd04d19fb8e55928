/* The decision between sweeps on the GPU, in the bits of the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/dense/dense_momentum.h"
#include "support/gpu_arrays.h"

#define SWEEPS 300

/* Terms of a sweep whose fit is near that of the sweeps before. */
static struct dense_fit_terms some_terms(int sweep, uint64_t *seed)
{
    double model_sq = 0.3 + 0.1 * sweep / SWEEPS + 1e-3 * random_entry(seed);
    return (struct dense_fit_terms){.inner = model_sq * (1 + 1e-9 * random_entry(seed)),
                                    .model_sq = model_sq,
                                    .inner_size = 1.7 * model_sq,
                                    .model_size = 2.3 * model_sq};
}

static void test_same_decisions(void **state)
{
    (void)state;
    enum { RANK = 300 };
    uint64_t seed = 1;
    double *lambda = random_matrix(1, RANK, RANK, PRECISION_DOUBLE, 2);
    double *on_device = uploaded(lambda, RANK * sizeof *lambda);
    double *kept = uploaded(NULL, RANK * sizeof *kept);
    int *halt = uploaded(&(int){0}, sizeof(int));
    for (int penalised = 0; penalised < 2; penalised++) {
        struct momentum host = momentum_start(PRECISION_DOUBLE, 0);
        struct dense_momentum got, *m = uploaded(NULL, sizeof got);
        for (int i = 0; i < SWEEPS; i++) {
            const struct dense_fit_terms terms = some_terms(i, &seed);
            struct dense_fit_terms *there = uploaded(&terms, sizeof terms);
            const struct dense_momentum_fit fit = {.before = host,
                                                   .terms = there,
                                                   .norm_sq = 1.25,
                                                   .epsilon = 1e-16,
                                                   .ridge = penalised ? 1e-4 : 0,
                                                   .lambda = on_device,
                                                   .rank = RANK};
            good(dense_momentum_decide(&fit, m, kept, halt, NULL));
            fetch(&got, m, sizeof got);
            const struct fit_terms same = {.norm_sq = 1.25,
                                           .inner = terms.inner,
                                           .model_sq = terms.model_sq,
                                           .inner_size = terms.inner_size,
                                           .model_size = terms.model_size,
                                           .epsilon = 1e-16,
                                           .penalty = got.penalty};
            const struct fit_numbers numbers = fit_of_terms(&same);
            const struct momentum_step step =
                momentum_next(&host, numbers.objective, numbers.noise);
            assert_memory_equal(&got.state, &host, sizeof host);
            assert_true(got.step.now == step.now && got.step.before == step.before);
            good(cudaFree(there));
        }
        assert_true(host.restarts > 5 && host.restarts < SWEEPS / 2);
        long double penalty = 0;
        for (int r = 0; r < RANK; r++)
            penalty += (penalised ? 1e-4L : 0) * (long double)lambda[r] * lambda[r];
        near(&got.penalty, &penalty, 1, 1e-14);
        good(cudaFree(m));
    }
    good(cudaFree(on_device));
    good(cudaFree(kept));
    good(cudaFree(halt));
    memory_free(lambda);
}

/* lambda is kept, but not that of a rejected sweep; where something has halted, nothing is written.
 */
static void test_kept_weights(void **state)
{
    (void)state;
    const double lambda[3] = {3, 1, 2}, older[3] = {7, 8, 9};
    const struct dense_fit_terms terms = {0.3, 0.3, 0.3, 0.3};
    for (int halted = 0; halted < 2; halted++)
        for (int falls = 0; falls < 2; falls++) {
            double got[3];
            const struct dense_momentum older_decision = {.state.sweeps = 8};
            struct dense_momentum after, *m = uploaded(&older_decision, sizeof older_decision);
            double *on_device = uploaded(lambda, sizeof lambda);
            double *kept = uploaded(older, sizeof older);
            int *halt = uploaded(&halted, sizeof halted);
            struct dense_fit_terms *there = uploaded(&terms, sizeof terms);
            const struct dense_momentum_fit fit = {
                .before = {.t = 2, .objective = falls ? 0.9 : 0.1, .sweeps = 9, .extrapolated = 1},
                .terms = there,
                .norm_sq = 1,
                .lambda = on_device,
                .rank = 3};
            good(dense_momentum_decide(&fit, m, kept, halt, NULL));
            fetch(got, kept, sizeof got);
            fetch(&after, m, sizeof after);
            assert_memory_equal(got, halted || falls ? older : lambda, sizeof got);
            assert_int_equal(after.state.sweeps, halted ? 8 : 10);
            assert_int_equal(after.state.rejected, !halted && falls);
            good(cudaFree(m));
            good(cudaFree(on_device));
            good(cudaFree(kept));
            good(cudaFree(halt));
            good(cudaFree(there));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_decisions),
                                       cmocka_unit_test(test_kept_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
