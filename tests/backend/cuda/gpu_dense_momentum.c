/* The steps between sweeps on the device: the decision in the bits of the host, the extrapolated
 * rows against plain loops. */
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
        struct momentum host = momentum_start(MOMENTUM_FALL_DOUBLE, 0);
        struct dense_momentum got = {.state = host};
        struct dense_momentum *m = uploaded(&got, sizeof got);
        for (int i = 0; i < SWEEPS; i++) {
            const struct dense_fit_terms terms = some_terms(i, &seed);
            struct dense_fit_terms *there = uploaded(&terms, sizeof terms);
            const struct dense_momentum_fit fit = {.terms = there,
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

/* lambda is kept, but not that of a sweep that is taken back; where something has halted, nothing
 * is. */
static void test_kept_weights(void **state)
{
    (void)state;
    const double lambda[3] = {3, 1, 2}, older[3] = {7, 8, 9};
    const struct dense_fit_terms terms = {0.3, 0.3, 0.3, 0.3};
    for (int halted = 0; halted < 2; halted++)
        for (int falls = 0; falls < 2; falls++) {
            double got[3];
            const struct dense_momentum before = {
                .state = {.t = 2, .objective = falls ? 0.9 : 0.1, .sweeps = 9, .extrapolated = 1}};
            struct dense_momentum after, *m = uploaded(&before, sizeof before);
            double *on_device = uploaded(lambda, sizeof lambda);
            double *kept = uploaded(older, sizeof older);
            int *halt = uploaded(&halted, sizeof halted);
            struct dense_fit_terms *there = uploaded(&terms, sizeof terms);
            const struct dense_momentum_fit fit = {
                .terms = there, .norm_sq = 1, .lambda = on_device, .rank = 3};
            good(dense_momentum_decide(&fit, m, kept, halt, NULL));
            fetch(got, kept, sizeof got);
            fetch(&after, m, sizeof after);
            assert_memory_equal(got, halted || falls ? older : lambda, sizeof got);
            assert_int_equal(after.state.sweeps, halted ? 9 : 10);
            assert_int_equal(after.state.taken_back, !halted && falls);
            good(cudaFree(m));
            good(cudaFree(on_device));
            good(cudaFree(kept));
            good(cudaFree(halt));
            good(cudaFree(there));
        }
}

/* Columns from `rank` on are zero. */
static void clear_padding(void *matrix, uint64_t rows, uint64_t rank, uint64_t ld,
                          enum precision precision)
{
    size_t bytes = precision_bytes(precision);
    for (uint64_t i = 0; i < rows; i++)
        memset((char *)matrix + (i * ld + rank) * bytes, 0, (ld - rank) * bytes);
}

static void check_rows(uint64_t rows, uint64_t rank, int loose, enum precision precision,
                       struct momentum_step step, int halted)
{
    const uint64_t ld = row_length(rank, precision, loose), bytes = precision_bytes(precision);
    void *a = random_matrix(rows, rank, ld, precision, 1);
    void *s = random_matrix(rows, rank, ld, precision, 2);
    double *norm_a = host_array(rank, sizeof *norm_a), *norm_s = host_array(rank, sizeof *norm_s);
    double *gram = host_array(rank * rank, sizeof *gram);
    const int clip = rank % 2 == 1;
    clear_padding(a, rows, rank, ld, precision);
    for (uint64_t r = 0; r < rank; r++) {
        norm_a[r] = 1.5 + (double)r;
        norm_s[r] = r == 1 ? 0 : 0.5 + (double)r; /* counts as 1 */
        for (uint64_t q = 0; q < rank; q++)
            gram[r * rank + q] = r == q && r != 2;
    }
    struct dense_extrapolate_args args = {.a = uploaded(a, rows * ld * bytes),
                                          .s = uploaded(s, rows * ld * bytes),
                                          .rows = rows,
                                          .ld = (uint32_t)ld,
                                          .rank = (uint32_t)rank,
                                          .norm_a = uploaded(norm_a, rank * sizeof *norm_a),
                                          .gram_a = uploaded(gram, rank * rank * sizeof *gram),
                                          .norm_s = uploaded(norm_s, rank * sizeof *norm_s),
                                          .clip = clip,
                                          .step = uploaded(&step, sizeof step),
                                          .halt = uploaded(&halted, sizeof halted)};
    good(dense_extrapolate(&args, precision, NULL));
    void *got = downloaded(args.s, rows * ld, bytes);
    if (halted || step.now == 0)
        assert_memory_equal(got, s, rows * ld * bytes);
    else if (step.before == 0)
        assert_memory_equal(got, a, rows * ld * bytes);
    else
        for (uint64_t e = 0; e < rows * ld; e++) {
            const uint64_t r = e % ld;
            double y = 0;
            if (r < rank && r != 2)
                y = step.now / norm_a[r] * entry(a, e, precision) +
                    step.before / (norm_s[r] != 0 ? norm_s[r] : 1) * entry(s, e, precision);
            y = clip && y < 0 ? 0 : y;
            assert_true(fabs(entry(got, e, precision) - y) <=
                        (precision == PRECISION_SINGLE ? 1e-6 : 1e-14));
        }
    void *const arrays[] = {(void *)args.a,      args.s,
                            (void *)args.norm_a, (void *)args.gram_a,
                            (void *)args.norm_s, (void *)args.step,
                            (void *)args.halt};
    for (size_t i = 0; i < COUNT(arrays); i++)
        good(cudaFree(arrays[i]));
    free(got);
    memory_free(a);
    memory_free(s);
    memory_free(norm_a);
    memory_free(norm_s);
    memory_free(gram);
}

static void test_rows(void **state)
{
    (void)state;
    static const struct momentum_step steps[] = {{1.25, -0.25}, {1, -0.0}, {0, 1}};
    static const uint64_t widest[] = {1, 2, 3, 8, 33, 65, 200, 1030};
    for (size_t r = 0; r < COUNT(widest); r++)
        for (int single = 0; single < 2; single++)
            for (size_t i = 0; i < COUNT(steps); i++)
                for (int halted = 0; halted < 2; halted++)
                    check_rows(r % 2 ? 3001 : 7, widest[r], single,
                               single ? PRECISION_SINGLE : PRECISION_DOUBLE, steps[i], halted);
}

/* Norms and Gram follow from raw, from A, or stay. */
static void test_gram(void **state)
{
    (void)state;
    static const struct momentum_step steps[] = {{1.25, -0.25}, {1, 0}, {0, 1}};
    enum { RANK = 3, SIZE = RANK * RANK };
    const double raw[SIZE] = {4, 2, 0, 2, 9, 0, 0, 0, 0}, norm_a[RANK] = {1, 2, 3};
    const double gram_a[SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const double norm_s[RANK] = {10, 20, 30}, gram_s[SIZE] = {11, 12, 13, 14, 15, 16, 17, 18, 19};
    const double unit[SIZE] = {1, 2.0 / 2 / 3, 0, 2.0 / 2 / 3, 1, 0, 0, 0, 0};
    const double norm[RANK] = {2, 3, 0};
    for (int i = 0; i < 3; i++)
        for (int halted = 0; halted < 2; halted++) {
            double got_norm[RANK], got_gram[SIZE];
            void *const there[] = {
                uploaded(raw, sizeof raw),       uploaded(norm_a, sizeof norm_a),
                uploaded(gram_a, sizeof gram_a), uploaded(norm_s, sizeof norm_s),
                uploaded(gram_s, sizeof gram_s), uploaded(&steps[i], sizeof steps[i]),
                uploaded(&halted, sizeof halted)};
            good(dense_extrapolated_gram(there[0], RANK, there[1], there[2], there[3], there[4],
                                         there[5], there[6], NULL));
            fetch(got_norm, there[3], sizeof got_norm);
            fetch(got_gram, there[4], sizeof got_gram);
            bool stays = halted || i == 2;
            assert_memory_equal(got_norm, stays ? norm_s : i == 1 ? norm_a : norm, sizeof got_norm);
            assert_memory_equal(got_gram, stays ? gram_s : i == 1 ? gram_a : unit, sizeof got_gram);
            for (size_t k = 0; k < COUNT(there); k++)
                good(cudaFree(there[k]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_decisions),
                                       cmocka_unit_test(test_kept_weights),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_gram)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
