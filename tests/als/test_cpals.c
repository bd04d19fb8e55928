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

/* The best fit of random starts is `expected`. Several ranks and sanitizers, which take longer,
 * stop at the first start that finds the best: one rank shows that no other start finds a better
 * one. */
static void check_best_fit(const struct coo *x, uint64_t rank, int seeds, int iterations,
                           double expected, double tolerance)
{
    double best = 0.0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct ktensor k;
        double fit = run(x, rank, (uint64_t)seed, iterations, 1e-12, &k).fit;
        best = fit > best ? fit : best;
        ktensor_free(&k);
        if ((under_test.ranks > 1 || SANITIZED) && best > expected - tolerance)
            break;
    }
    assert_true(fabs(best - expected) < tolerance);
}

static void create_coo(struct coo *x, const struct shape *shape, uint64_t nnz)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, SHAPE(shape->order, shape->dims), nnz, &error), STATUS_OK);
}

/* Runs that another program has made, from a start that every program can make: A_n(i,r) = 1 + ((i
 * + offset) mod I_n). The program for `fluorescence` was a few lines of NumPy, which give the
 * published numbers of the amino acids (Bro 1997) as well. */
struct reference {
    const char *folder, *name; /* folder NULL: the one that BLCO_TEST_DATA names */
    uint64_t dims[3], nnz;
    double norm;
    uint64_t offset[3][3];
    int iterations; /* to a tolerance of 1e-5, with this fit and these weights */
    double fit, lambda[3];
    double first[3];        /* fits after 1, 2 and 5 iterations         */
    double best[3];         /* of ranks 1 and 2, and of the run's limit */
    size_t plain, momentum; /* sweeps to the limit less 1e-6: of plain ALS, at most with momentum */
};

static const struct reference references[] = {
    {.folder = "data",
     .name = "fluorescence",
     .dims = {5, 31, 21},
     .nnz = 3252,
     .norm = 15465.734372799761,
     .offset = {{0, 1, 2}, {0, 7, 15}, {0, 5, 10}},
     .iterations = 53,
     .fit = 0.9275836944815815,
     .lambda = {8129.624582763, 7362.126849625, 6420.484944870},
     .first = {0.8083366676526631, 0.8413157281069666, 0.8753007449154728},
     .best = {0.5762870400823971, 0.8168752243061466, 0.9276373320531559},
     .plain = 79,
     .momentum = 35},
    {.name = "aminoacid",
     .dims = {5, 201, 61},
     .nnz = 61282,
     .norm = 47991.95013208927,
     .offset = {{0, 1, 2}, {0, 49, 89}, {0, 14, 29}},
     .iterations = 74,
     .fit = 0.974895804114,
     .lambda = {33588.1024, 23381.6020, 21188.3014},
     .first = {0.6852687163, 0.8347811591, 0.8832388313},
     .best = {0.40325883, 0.63631742, 0.974951483},
     .plain = 101,
     .momentum = 60}};

/* False where the tensor is not here. */
static bool load_reference(struct coo *x, const struct reference *f)
{
    const char *folder = f->folder ? f->folder : getenv("BLCO_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.tns", folder ? folder : "", f->name);
    FILE *file = folder ? fopen(path, "r") : NULL;
    if (!file && f->folder)
        fail_msg("no %s: the test is to be run in the project's folder", path);
    if (!file)
        return false;
    create_coo(x, SHAPE(3, f->dims), f->nnz);
    char line[256];
    uint64_t kept = 0;
    unsigned i, j, k;
    double value;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%u %u %u %lf", &i, &j, &k, &value) != 4 || value == 0.0)
            continue;
        assert_true(kept < f->nnz);
        x->index[0][kept] = i - 1;
        x->index[1][kept] = j - 1;
        x->index[2][kept] = k - 1;
        x->value[kept++] = value;
    }
    fclose(file);
    assert_int_equal(kept, f->nnz);
    assert_true(fabs(sqrt(coo_norm_sq(x)) - f->norm) < 1e-7);
    return true;
}

static void start_reference(struct ktensor *k, const struct reference *f)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, SHAPE(3, f->dims), 3, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < f->dims[n]; i++)
            for (uint64_t r = 0; r < 3; r++)
                k->factor[n][i * 3 + r] = (double)(1 + (i + f->offset[n][r]) % f->dims[n]);
}

static struct cpals_result run_reference(const struct coo *x, const struct reference *f,
                                         const struct cpals_options *options,
                                         enum conflict conflict, struct ktensor *k)
{
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.problem.rank = 3, .conflict = conflict};
    start_reference(k, f);
    assert_int_equal(run_from(x, k, &machine, options, &result, &error), STATUS_OK);
    return result;
}

/* Calls the check for each reference that is here. */
static void on_references(void (*check)(const struct coo *x, const struct reference *f))
{
    struct coo x;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        if (!load_reference(&x, &references[i]))
            continue;
        check(&x, &references[i]);
        coo_free(&x);
    }
}

static void check_run(const struct coo *x, const struct reference *f)
{
    const struct cpals_options options = {.max_iterations = 500, .tolerance = 1e-5};
    for (enum conflict c = CONFLICT_AUTO; c <= CONFLICT_REGISTER; c++) {
        struct ktensor k;
        struct cpals_result result = run_reference(x, f, &options, c, &k);
        assert_int_equal(result.iterations, f->iterations);
        assert_int_equal(result.stop, CPALS_CONVERGED);
        assert_true(fabs(result.fit - f->fit) < 1e-11);
        assert_true(fabs(result.change) < 1e-5);
        assert_true(fabsl(naive_fit(x, &k) - (long double)result.fit) < 1e-11L);
        for (int r = 0; r < 3; r++)
            assert_true(fabs(k.lambda[r] - f->lambda[r]) < 1e-4);
        ktensor_free(&k);
    }
}

static void check_first_fits(const struct coo *x, const struct reference *f)
{
    static const int iterations[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        const struct cpals_options options = {.max_iterations = iterations[i]};
        struct ktensor k;
        struct cpals_result result = run_reference(x, f, &options, CONFLICT_AUTO, &k);
        assert_int_equal(result.iterations, iterations[i]);
        assert_int_equal(result.stop, CPALS_ITERATIONS);
        assert_true(fabs(result.fit - f->first[i]) < 1e-10);
        ktensor_free(&k);
    }
}

static void check_best(const struct coo *x, const struct reference *f)
{
    const struct cpals_options options = {.max_iterations = 2000, .tolerance = 1e-12};
    struct ktensor k;
    check_best_fit(x, 1, 2, 500, f->best[0], 1e-8);
    check_best_fit(x, 2, 2, 500, f->best[1], 1e-8);
    assert_true(fabs(run_reference(x, f, &options, CONFLICT_AUTO, &k).fit - f->best[2]) < 1e-8);
    ktensor_free(&k);
}

/* Momentum saves two fifths of the sweeps, or more. */
static void check_momentum(const struct coo *x, const struct reference *f)
{
    struct error error = {0};
    struct ktensor k;
    struct fit_trace trace = {0};
    struct cpals_result result;
    const struct backend_options machine = {.problem.rank = 3,
                                            .problem.acceleration = ACCELERATE_MOMENTUM};
    const struct cpals_options options = {
        .max_iterations = 500, .tolerance = 1e-7, .trace = &trace};
    size_t sweeps = 0;
    start_reference(&k, f);
    assert_int_equal(run_from(x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_true(fabs(result.fit - f->best[2]) < 1e-6);
    assert_true(fabsl(naive_fit(x, &k) - (long double)result.fit) < 1e-11L);
    while (sweeps < trace.count && trace.fit[sweeps] < f->best[2] - 1e-6)
        sweeps++;
    assert_true(sweeps + 1 <= f->momentum && f->momentum < f->plain);
    fit_trace_free(&trace);
    ktensor_free(&k);
}

static void test_reference(void **state)
{
    use_ranks(state);
    on_references(check_run);
}

static void test_reference_first_fits(void **state)
{
    use_ranks(state);
    on_references(check_first_fits);
}

static void test_reference_best(void **state)
{
    use_ranks(state);
    on_references(check_best);
}

static void test_reference_momentum(void **state)
{
    use_ranks(state);
    on_references(check_momentum);
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
        ON_RANKS(test_reference),          ON_RANKS(test_reference_first_fits),
        ON_RANKS(test_reference_momentum), ON_RANKS(test_reference_best),
        ON_RANKS(test_superdiagonal),      ON_RANKS(test_matrix_multiplication),
        ON_RANKS(test_planted_dense),      ON_RANKS(test_planted_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
