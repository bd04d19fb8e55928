/* Known answers of CP-ALS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "als/cpals.h"
#include "base/memory.h"
#include "support/backends.h"

/* Every test but one runs on every backend that this machine has. */
static const struct backend_kind *kind_under_test;

static void use_backend(void **state)
{
    kind_under_test = backend_of(state);
}

/* One whole run from the factors in k, on the backend under test. */
static enum status run_from(const struct coo *x, struct ktensor *k,
                            const struct backend_options *machine,
                            const struct cpals_options *options, struct cpals_result *result,
                            struct error *error)
{
    struct backend b;
    enum status status = backend_open(&b, kind_under_test, x, machine, NULL, NULL, error);
    if (status == STATUS_OK)
        status = cpals_run(&b, k, options, NULL, result, error);
    backend_close(&b);
    return status;
}

/* The fit from one random start; the model is left in *k, which the caller frees. */
static struct cpals_result run(const struct coo *x, uint64_t rank, uint64_t seed, int iterations,
                               double tolerance, struct ktensor *k)
{
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.rank = rank};
    struct cpals_options options = {.max_iterations = iterations, .tolerance = tolerance};
    assert_int_equal(ktensor_create(k, &x->shape, rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, seed);
    if (run_from(x, k, &machine, &options, &result, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return result;
}

static double best_fit(const struct coo *x, uint64_t rank, int seeds, int iterations)
{
    double best = 0.0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct ktensor k;
        double fit = run(x, rank, (uint64_t)seed, iterations, 1e-12, &k).fit;
        best = fit > best ? fit : best;
        ktensor_free(&k);
    }
    return best;
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
    struct backend_options machine = {.rank = 3, .conflict = conflict};
    struct cpals_options options = {.max_iterations = iterations, .tolerance = tolerance};
    start_amino_acids(k, x);
    assert_int_equal(run_from(x, k, &machine, &options, &result, &error), STATUS_OK);
    return result;
}

static void test_amino_acids(void **state)
{
    use_backend(state);
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
    use_backend(state);
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
    use_backend(state);
    struct coo x;
    struct ktensor k;
    load_amino_acids(&x);
    assert_true(fabs(best_fit(&x, 1, 2, 500) - 0.40325883) < 1e-8);
    assert_true(fabs(best_fit(&x, 2, 2, 500) - 0.63631742) < 1e-8);
    assert_true(fabs(run_amino_acids(&x, 2000, 1e-12, CONFLICT_AUTO, &k).fit - 0.97495148) < 1e-8);
    ktensor_free(&k);
    coo_free(&x);
}

/* Rank R keeps the R largest entries of a superdiagonal tensor. */
static void test_superdiagonal(void **state)
{
    use_backend(state);
    static const double fit[] = {.2614511, .4954750, .6984887, .8651600};
    const uint64_t dims[] = {5, 5, 5};
    struct coo x;
    create_coo(&x, SHAPE(3, dims), 5);
    for (uint32_t i = 0; i < 5; i++) {
        x.index[0][i] = x.index[1][i] = x.index[2][i] = i;
        x.value[i] = 5.0 - i;
    }
    for (uint64_t rank = 1; rank <= 4; rank++)
        assert_true(fabs(best_fit(&x, rank, 30, 500) - fit[rank - 1]) < 1e-6);
    coo_free(&x);
}

/* The tensor of the product of two 2 x 2 matrices: C_ij = sum_k A_ik B_kj. */
static void create_multiplication(struct coo *x)
{
    const uint64_t dims[] = {4, 4, 4};
    create_coo(x, SHAPE(3, dims), 8);
    uint32_t entry = 0;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < 2; j++)
            for (uint32_t k = 0; k < 2; k++, entry++) {
                x->index[0][entry] = 2 * i + k;
                x->index[1][entry] = 2 * k + j;
                x->index[2][entry] = 2 * i + j;
                x->value[entry] = 1.0;
            }
}

static void test_matrix_multiplication(void **state)
{
    use_backend(state);
    struct coo x;
    create_multiplication(&x);
    assert_true(fabs(best_fit(&x, 1, 10, 500) - (1.0 - sqrt(7.0 / 8.0))) < 1e-9);
    double best = 0.0; /* Strassen 1969: rank 7 */
    for (uint64_t seed = 1; seed <= 40 && best <= 0.9999; seed++) {
        struct ktensor k;
        double fit = run(&x, 7, seed, 5000, 0.0, &k).fit;
        best = fit > best ? fit : best;
        ktensor_free(&k);
    }
    assert_true(best > 0.9999);
    coo_free(&x);
}

static double model_at(const struct ktensor *k, const uint32_t *coordinate)
{
    double sum = 0.0;
    for (uint64_t r = 0; r < k->rank; r++) {
        double product = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            product *= k->factor[n][coordinate[n] * k->rank + r];
        sum += product;
    }
    return sum;
}

/* All nonzeros of the tensor that `k` stands for. */
static void plant(struct coo *x, const struct ktensor *k)
{
    uint64_t cells = 1, kept = 0;
    uint32_t at[MAX_ORDER] = {0};
    for (int n = 0; n < k->shape.order; n++)
        cells *= k->shape.dims[n];
    create_coo(x, &k->shape, cells);
    for (uint64_t c = 0; c < cells; c++) {
        uint64_t rest = c;
        for (int n = 0; n < k->shape.order; n++) {
            at[n] = (uint32_t)(rest % k->shape.dims[n]);
            rest /= k->shape.dims[n];
            x->index[n][kept] = at[n];
        }
        x->value[kept] = model_at(k, at);
        kept += x->value[kept] != 0.0;
    }
    x->nnz = kept;
}

static void check_planted(const struct ktensor *planted)
{
    struct error error = {0};
    struct coo x;
    double best = 0.0;
    plant(&x, planted);
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
    use_backend(state);
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
    use_backend(state);
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

static void test_thread_count(void **state)
{
    use_backend(state);
    static const uint64_t dims[] = {70, 900, 400};
    int before = omp_get_max_threads();
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 20000, 8, 1);
    for (enum conflict c = CONFLICT_AUTO; c <= CONFLICT_ATOMIC; c++) {
        double fit[4];
        for (int threads = 1; threads <= 3; threads++) {
            struct error error = {0};
            struct cpals_result result;
            struct ktensor k;
            struct backend_options machine = {.rank = 10, .conflict = c};
            struct cpals_options options = {.max_iterations = 10};
            omp_set_num_threads(threads);
            assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 10, &error), STATUS_OK);
            ktensor_randomise(&k, KTENSOR_RANDOM, 1);
            assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
            fit[threads] = result.fit;
            ktensor_free(&k);
        }
        assert_true(fabs(fit[2] - fit[1]) < 1e-10);
        assert_true(fabs(fit[3] - fit[1]) < 1e-10);
    }
    omp_set_num_threads(before);
    coo_free(&x);
}

/* For order 1, A = M (V + ridge)^-1 = x / (1 + ridge) at rank 1. */
static void test_ridge(void **state)
{
    use_backend(state);
    const uint64_t dims[] = {20};
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.rank = 1, .ridge = 0.25};
    struct cpals_options options = {.max_iterations = 3};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(1, dims), 15, 8, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(1, dims), 1, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_true(fabs(result.fit - 1.0 / 1.25) < 1e-12);
    assert_true(fabs(k.lambda[0] - sqrt(coo_norm_sq(&x)) / 1.25) < 1e-12);
    ktensor_free(&k);
    coo_free(&x);
}

/* More components than the lengths allow: V is singular in every update. */
static void test_singular(void **state)
{
    use_backend(state);
    static const uint64_t dims[] = {3, 2, 2};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 12, 8, 0);
    struct cpals_result result = run(&x, 20, 1, 200, 1e-9, &k);
    assert_true(result.fit > 0.9999 && result.fit <= 1.0);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-6L);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_not_finite(void **state)
{
    use_backend(state);
    static const uint64_t dims[] = {6, 7, 8};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    for (int i = 0; i < 3; i++) {
        struct error error = {0};
        struct cpals_result result;
        struct backend_options machine = {.rank = 2};
        struct cpals_options options = {.max_iterations = 3};
        struct ktensor k;
        assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 2, &error), STATUS_OK);
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        k.factor[1][4] = bad[i];
        assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_NUMERICAL);
        assert_memory_equal(error.message, "iteration 1: mode 1: ", 21);

        double value = x.value[7];
        x.value[7] = bad[i];
        error = (struct error){0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_NUMERICAL);
        x.value[7] = value;
        ktensor_free(&k);
    }
    coo_free(&x);
}

static void test_interrupted(void **state)
{
    use_backend(state);
    const uint64_t dims[] = {6, 7, 8};
    const volatile sig_atomic_t interrupted = 1;
    struct error error = {0};
    struct cpals_result result;
    struct backend_options machine = {.rank = 2};
    struct cpals_options options = {.max_iterations = 9, .interrupted = &interrupted};
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 2, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    assert_int_equal(run_from(&x, &k, &machine, &options, &result, &error), STATUS_OK);
    assert_int_equal(result.stop, CPALS_INTERRUPTED);
    assert_int_equal(result.iterations, 1);
    assert_true(fabsl(naive_fit(&x, &k) - (long double)result.fit) < 1e-12L);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_allocation_fails(void **state)
{
    use_backend(state);
    const uint64_t dims[] = {6, 7, 8};
    struct backend_options machine = {.rank = 2};
    struct cpals_options options = {.max_iterations = 2};
    struct coo x;
    struct ktensor k;
    struct error error = {0};
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 60, 8, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(3, dims), 2, &error), STATUS_OK);
    for (long i = 0, fired = 1; fired; i++) {
        struct cpals_result result;
        error = (struct error){0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        memory_hook_set(i);
        enum status status = run_from(&x, &k, &machine, &options, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
    }
    assert_true(failures > 20);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_amino_acids),
        ON_ALL(test_amino_acids_first_fits),
        ON_ALL(test_amino_acids_best),
        ON_ALL(test_superdiagonal),
        ON_ALL(test_matrix_multiplication),
        ON_ALL(test_planted_dense),
        ON_ALL(test_planted_sparse),
        ON_ALL(test_thread_count),
        ON_ALL(test_ridge),
        ON_ALL(test_singular),
        ON_ALL(test_not_finite),
        ON_ALL(test_interrupted),
        ON(test_allocation_fails, backend_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
