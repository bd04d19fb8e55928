/* Known answers of CP-ALS, on one rank and on several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/ktensor_match.h"
#include "selftest/known_tensors.h"
#include "support/rank_runs.h"

/* The model from one random start is left in *k, which the caller frees. */
static struct cpals_result run(const struct coo *x, uint64_t rank, uint64_t seed, int iterations,
                               double tolerance, struct ktensor *k)
{
    const struct backend_options options = {.problem.rank = rank};
    const struct cpals_options als = {.max_iterations = iterations, .tolerance = tolerance};
    return run_random(x, &options, seed, &als, k);
}

/* The best fit of random starts is `expected`. Several ranks, which take longer, stop at the first
 * start that finds the best: one rank shows that no other start finds a better one. */
static void check_best_fit(const struct coo *x, uint64_t rank, int seeds, int iterations,
                           double expected, double tolerance)
{
    double best = 0.0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct ktensor k;
        double fit = run(x, rank, (uint64_t)seed, iterations, 1e-12, &k).fit;
        best = fit > best ? fit : best;
        ktensor_free(&k);
        if (under_test.ranks > 1 && best > expected - tolerance)
            break;
    }
    assert_true(fabs(best - expected) < tolerance);
}

static void create_coo(struct coo *x, const struct shape *shape, uint64_t nnz)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, SHAPE(shape->order, shape->dims), nnz, &error), STATUS_OK);
}

/* The amino acid fluorescence data (Bro 1997), 5 x 201 x 61, one-based text. */
static void load_amino_acids(struct coo *x)
{
    const char *folder = getenv("BLCO_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/aminoacid.tns", folder ? folder : "");
    FILE *file = folder ? fopen(path, "r") : NULL;
    if (!file)
        skip();
    const uint64_t dims[] = {5, 201, 61};
    create_coo(x, SHAPE(3, dims), 5 * 201 * 61);
    char line[256];
    uint64_t kept = 0;
    unsigned i, j, k;
    double value;
    while (fgets(line, sizeof line, file) && kept < x->nnz) {
        if (sscanf(line, "%u %u %u %lf", &i, &j, &k, &value) != 4 || value == 0.0)
            continue;
        x->index[0][kept] = i - 1;
        x->index[1][kept] = j - 1;
        x->index[2][kept] = k - 1;
        x->value[kept++] = value;
    }
    fclose(file);
    assert_int_equal(kept, 61305 - 23);
    x->nnz = kept;
    assert_true(fabs(sqrt(coo_norm_sq(x)) - 47991.95013208927) < 1e-7);
}

/* A_n(i,r) = 1 + ((i + o_r) mod I_n): a start that every program can make. */
static void start_amino_acids(struct ktensor *k, const struct coo *x)
{
    static const uint64_t offset[3][3] = {{0, 1, 2}, {0, 49, 89}, {0, 14, 29}};
    struct error error = {0};
    assert_int_equal(ktensor_create(k, SHAPE(3, x->shape.dims), 3, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < x->shape.dims[n]; i++)
            for (uint64_t r = 0; r < 3; r++)
                k->factor[n][i * 3 + r] = (double)(1 + (i + offset[n][r]) % x->shape.dims[n]);
}

static struct cpals_result run_amino_acids(const struct coo *x, int iterations, double tolerance,
                                           enum conflict conflict, struct ktensor *k)
{
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.problem.rank = 3, .conflict = conflict};
    struct cpals_options options = {.max_iterations = iterations, .tolerance = tolerance};
    start_amino_acids(k, x);
    assert_int_equal(run_from(x, k, &machine, &options, &result, &error), STATUS_OK);
    return result;
}

static void test_amino_acids(void **state)
{
    use_ranks(state);
    static const double lambda[] = {33588.1024, 23381.6020, 21188.3014};
    struct coo x;
    load_amino_acids(&x);
    for (enum conflict c = CONFLICT_AUTO; c <= CONFLICT_REGISTER; c++) {
        struct ktensor k;
        struct cpals_result result = run_amino_acids(&x, 500, 1e-5, c, &k);
        assert_int_equal(result.iterations, 74);
        assert_int_equal(result.stop, CPALS_CONVERGED);
        assert_true(fabs(result.fit - 0.974895804114) < 1e-11);
        assert_true(fabs(result.change) < 1e-5);
        assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-11L);
        for (int r = 0; r < 3; r++)
            assert_true(fabs(k.lambda[r] - lambda[r]) < 1e-4);
        ktensor_free(&k);
    }
    coo_free(&x);
}

static void test_amino_acids_first_fits(void **state)
{
    use_ranks(state);
    static const int iterations[] = {1, 2, 5};
    static const double fit[] = {0.6852687163, 0.8347811591, 0.8832388313};
    struct coo x;
    load_amino_acids(&x);
    for (int i = 0; i < 3; i++) {
        struct ktensor k;
        struct cpals_result result = run_amino_acids(&x, iterations[i], 0.0, CONFLICT_AUTO, &k);
        assert_int_equal(result.iterations, iterations[i]);
        assert_int_equal(result.stop, CPALS_ITERATIONS);
        assert_true(fabs(result.fit - fit[i]) < 1e-10);
        ktensor_free(&k);
    }
    coo_free(&x);
}

static void test_amino_acids_best(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    load_amino_acids(&x);
    check_best_fit(&x, 1, 2, 500, 0.40325883, 1e-8);
    check_best_fit(&x, 2, 2, 500, 0.63631742, 1e-8);
    assert_true(fabs(run_amino_acids(&x, 2000, 1e-12, CONFLICT_AUTO, &k).fit - 0.97495148) < 1e-8);
    ktensor_free(&k);
    coo_free(&x);
}

/* Momentum saves a quarter of the sweeps: it begins where sweeps become slow. */
static void test_amino_acids_momentum(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct fit_trace trace = {0};
    struct cpals_result result;
    const struct backend_options machine = {.problem.rank = 3,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options options = {
        .max_iterations = 500, .tolerance = 1e-7, .trace = &trace};
    size_t sweeps = 0;
    load_amino_acids(&x);
    start_amino_acids(&k, &x);
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_true(fabs(result.fit - 0.974951483) < 1e-6);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-11L);
    while (sweeps < trace.count && trace.fit[sweeps] < 0.974951483 - 1e-6)
        sweeps++;
    assert_true(sweeps + 1 < 75); /* plain ALS: 101 */
    fit_trace_free(&trace);
    ktensor_free(&k);
    coo_free(&x);
}

/* Rank R keeps the R largest entries of a superdiagonal tensor. */
static void test_superdiagonal(void **state)
{
    use_ranks(state);
    static const double fit[] = {.2614511, .4954750, .6984887, .8651600};
    struct coo x;
    assert_int_equal(known_superdiagonal(&x, 5, &(struct error){0}), STATUS_OK);
    for (uint64_t rank = 1; rank <= 4; rank++)
        check_best_fit(&x, rank, 30, 500, fit[rank - 1], 1e-6);
    coo_free(&x);
}

static void test_matrix_multiplication(void **state)
{
    use_ranks(state);
    struct coo x;
    assert_int_equal(known_multiplication(&x, 2, &(struct error){0}), STATUS_OK);
    check_best_fit(&x, 1, 10, 500, 1.0 - sqrt(7.0 / 8.0), 1e-9);
    double best = 0.0; /* Strassen 1969: rank 7 */
    /* one rank tries starts; several, which take longer, begin with one that gets there soon */
    const uint64_t first = under_test.ranks > 1 ? 12 : 1;
    const int iterations = under_test.ranks > 1 ? 1200 : 5000;
    for (uint64_t seed = first; seed <= 40 && best <= 0.9999; seed++) {
        struct ktensor k;
        double fit = run(&x, 7, seed, iterations, 0.0, &k).fit;
        best = fit > best ? fit : best;
        ktensor_free(&k);
    }
    assert_true(best > 0.9999);
    coo_free(&x);
}

static void check_planted(const struct ktensor *planted)
{
    struct error error = {0};
    struct coo x;
    double best = 0.0;
    assert_int_equal(known_planted(&x, planted, &error), STATUS_OK);
    for (uint64_t seed = 1; seed <= 10 && best <= 0.999; seed++) {
        struct ktensor k;
        struct cpals_result result = run(&x, planted->rank, seed, 2000, 1e-13, &k);
        if (result.fit > 0.99999)
            assert_int_equal(ktensor_score(&k, planted, 1, &best, NULL, &error), STATUS_OK);
        ktensor_free(&k);
    }
    assert_true(best > 0.999);
    coo_free(&x);
}

static void test_planted_dense(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {12, 9, 14, 6};
    for (int order = 3; order <= 4; order++) {
        struct error error = {0};
        struct ktensor planted;
        assert_int_equal(ktensor_create(&planted, SHAPE(order, dims), 4, &error), STATUS_OK);
        ktensor_randomise(&planted, KTENSOR_NORMAL, 99);
        for (uint64_t r = 0; r < 4; r++)
            planted.lambda[r] = 1.0 + (double)r;
        assert_int_equal(ktensor_arrange(&planted, &error), STATUS_OK);
        check_planted(&planted);
        ktensor_free(&planted);
    }
}

/* Factors that are mostly zero make a sparse tensor. */
static void test_planted_sparse(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {50, 40, 60};
    struct error error = {0};
    struct ktensor planted;
    uint64_t seed = 4;
    assert_int_equal(ktensor_create(&planted, SHAPE(3, dims), 5, &error), STATUS_OK);
    ktensor_randomise(&planted, KTENSOR_RANDOM, 3);
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < dims[n] * 5; i++)
            if (naive_random(&seed) % 5 > 0)
                planted.factor[n][i] = 0.0;
    assert_int_equal(ktensor_arrange(&planted, &error), STATUS_OK);
    check_planted(&planted);
    ktensor_free(&planted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_amino_acids),          ON_RANKS(test_amino_acids_first_fits),
        ON_RANKS(test_amino_acids_momentum), ON_RANKS(test_amino_acids_best),
        ON_RANKS(test_superdiagonal),        ON_RANKS(test_matrix_multiplication),
        ON_RANKS(test_planted_dense),        ON_RANKS(test_planted_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
