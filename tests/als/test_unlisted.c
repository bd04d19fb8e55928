/* Runs in which unlisted entries are unknown or weigh less than listed ones, on several numbers of
 * ranks: each row has a system of its own (numerics/row_term.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "model/ktensor_match.h"
#include "support/data_tensors.h"
#include "support/naive_rows.h"
#include "support/rank_runs.h"
#include "support/streamed_runs.h"

static struct problem weighed(uint64_t rank, double weight, double ridge, enum ridge_scale scale)
{
    return (struct problem){.rank = rank,
                            .rules = same_ridge(ridge),
                            .unlisted = {.weighed = true, .weight = weight},
                            .ridge_scale = scale};
}

static void make_nonneg(struct problem *p, bool nonneg)
{
    for (int n = 0; n < MAX_ORDER; n++)
        p->rules.nonneg[n] = nonneg;
}

/* The root of the mean of (x - m)^2 over the entries of x. */
static double rmse(const struct coo *x, const struct ktensor *k)
{
    uint32_t at[MAX_ORDER];
    long double sum = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double e = x->value[i] - naive_model_value(k, at);
        sum += e * e;
    }
    return (double)sqrtl(sum / (long double)x->nnz);
}

/* The largest difference of both models' values at the entries of x, beside the largest value. */
static long double difference(const struct coo *x, const struct ktensor *k,
                              const struct naive_rows *m)
{
    uint32_t at[MAX_ORDER];
    long double most = 0, largest = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double y = naive_row_value(m, at);
        most = fmaxl(most, fabsl(naive_model_value(k, at) - y));
        largest = fmaxl(largest, fabsl(y));
    }
    return most / largest;
}

/* Two sweeps from a random model, beside the oracle's. */
static void compare(const struct coo *x, const struct problem *problem)
{
    const struct cpals_options als = {.max_iterations = 2};
    const struct backend_options options = {.problem = *problem};
    const bool single = problem->precision == POLICY_SINGLE;
    struct error error = {0};
    struct cpals_result result;
    struct naive_rows m;
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, &x->shape, problem->rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 5);
    naive_rows_create(&m, &k, x);
    for (int sweep = 0; sweep < 2; sweep++)
        for (int n = 0; n < x->shape.order; n++)
            naive_rows_update(&m, x, problem, n, problem->unlisted.weight);
    if (run_from(x, &k, &options, &als, &result, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    const long double of_x = naive_rows_misfit(&(struct naive_rows){.shape = x->shape}, x, 0);
    const long double fit = 1 - sqrtl(naive_rows_misfit(&m, x, problem->unlisted.weight) / of_x);
    const long double off = difference(x, &k, &m);
    if (!(off < (single ? 1e-3L : 1e-8L)))
        fail_msg("order %d, weight %g, ridge scale %d: values off by %Lg", x->shape.order,
                 problem->unlisted.weight, (int)problem->ridge_scale, off);
    assert_true(fabsl(result.fit - fit) < (single ? 1e-4L : 1e-9L));
    naive_rows_free(&m);
    ktensor_free(&k);
}

/* Several ranks, which take longer, and sanitizers have a weight for each tensor: other ranks
 * another one. Sanitizers have one scale of the ridge for each, too. */
static void compare_cases(bool nonneg)
{
    static const struct tensor_case cases[] = {
        {2, {30, 40}, 400, 0},      {3, {20, 1, 30}, 300, 0},    {3, {25, 30, 20}, 3000, 1},
        {3, {3, 40, 700}, 6000, 1}, {4, {9, 8, 7, 20}, 1500, 0}, {6, {4, 3, 5, 2, 6, 4}, 700, 0},
        {3, {7, 1500, 5}, 2500, 0}}; /* ranks keep their ranges of the long mode */
    static const double weights[] = {0, 0.2, 1};
    static const uint64_t ranks[] = {1, 5, 9};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 3; i++)
            for (int scale = 0; scale < 3; scale++) {
                if ((under_test.ranks > 1 || SANITIZED) && ((int)c + under_test.ranks) % 3 != i)
                    continue;
                if (SANITIZED && (int)c / 2 % 3 != scale)
                    continue;
                const struct tensor_case *t = &cases[c];
                struct coo x;
                struct problem p =
                    weighed(ranks[(c + (size_t)i) % 3], weights[i], 0.05, (enum ridge_scale)scale);
                make_nonneg(&p, nonneg);
                naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
                compare(&x, &p);
                p.precision = POLICY_SINGLE;
                compare(&x, &p);
                p.precision = POLICY_DOUBLE;
                for (uint64_t e = 0; e < x.nnz; e += 5)
                    x.value[e] = COO_UNKNOWN;
                compare(&x, &p);
                coo_free(&x);
            }
}

static void test_oracle(void **state)
{
    use_ranks(state);
    compare_cases(false);
}

static void test_oracle_nonneg(void **state)
{
    use_ranks(state);
    compare_cases(true);
}

/* Systems of one to 64 components, and rows of one to a thousand entries. */
static void test_components(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {40, 6, 300}, ranks[] = {8, 16, 20, 32, 33, 64};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 6000, 6, 1);
    const int step = under_test.ranks > 1 || SANITIZED ? 5 : 1; /* of 12, which has no factor 5 */
    for (int i = under_test.ranks % step; i < 12; i += step) {
        struct problem p = weighed(ranks[i / 2], i % 2 ? 0.1 : 0, 0.05, RIDGE_BALANCED);
        compare(&x, &p);
        make_nonneg(&p, true);
        compare(&x, &p);
    }
    coo_free(&x);
}

/* Rows of some hundred entries, which gather from two or three modes; few entries are unknown. */
static void test_long_rows(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {{3, {10, 30, 25}, 3000, 0},
                                               {4, {8, 12, 10, 9}, 3000, 0}};
    static const uint64_t ranks[] = {7, 12, 16, 20, 32};
    const int step = under_test.ranks > 1 || SANITIZED ? 3 : 1;
    for (int i = under_test.ranks % step; i < 10; i += step) {
        const struct tensor_case *t = &cases[i % 2];
        struct problem p = weighed(ranks[i / 2], i % 3 ? 0 : 0.1, 0.05, RIDGE_BALANCED);
        struct coo x;
        naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, 6, t->skewed);
        for (uint64_t e = 0; e < x.nnz; e += 211)
            x.value[e] = COO_UNKNOWN;
        compare(&x, &p);
        p.precision = POLICY_SINGLE;
        compare(&x, &p);
        coo_free(&x);
    }
}

/* More components than a GPU takes. */
static void test_many_components(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {20, 90, 15}, ranks[] = {65, 80};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 6, 1);
    for (int i = 0; i < 4; i += SANITIZED ? 3 : 1) {
        const struct problem p = weighed(ranks[i / 2], i % 2 ? 0.1 : 0, 0.05, RIDGE_BALANCED);
        compare(&x, &p);
    }
    coo_free(&x);
}

/* The start of the reference runs: columns of unit length. */
static void formula_start(struct ktensor *k, const struct coo *x)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, &x->shape, 4, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        for (int r = 0; r < 4; r++) {
            double sum = 0;
            for (int i = 0; i < (int)x->shape.dims[n]; i++) {
                const double a = ((7 * i + 13 * r + 5 * n + i * i % (r + 2)) % 11 - 3) / 11.0;
                k->factor[n][4 * i + r] = a;
                sum += a * a;
            }
            for (uint64_t i = 0; i < x->shape.dims[n]; i++)
                k->factor[n][4 * i + (uint64_t)r] /= sqrt(sum);
        }
    for (int r = 0; r < 4; r++)
        k->lambda[r] = 1;
}

/* Errors of the listed entries after some sweeps, found by another program from the same start. */
static void test_reference(void **state)
{
    use_ranks(state);
    static const struct {
        double weight, fade;
        double rmse[6]; /* after sweeps[] */
    } cases[] = {
        {0, 0, {48.3946601, 33.4856171, 20.8786071, 17.7884875, 14.3910438, 10.4924912}},
        {.01, 0, {43.6602636, 24.3600788, 16.2908307, 9.26740728, .132104988, .000585080772}},
        {0, .7, {63.2055564, 25.9946536, 5.88311529, .0518941475, .000502589889, .000661030061}}};
    static const int sweeps[] = {1, 2, 5, 10, 20, 50};
    struct coo x;
    read_data_tensor(&x, "data/planted.tns");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 6; i++) {
            const struct cpals_options als = {.max_iterations = sweeps[i]};
            struct backend_options options = {.problem =
                                                  weighed(4, cases[c].weight, .1, RIDGE_BALANCED)};
            struct ktensor k;
            struct cpals_result result;
            struct error error = {0};
            options.problem.unlisted.fade = cases[c].fade;
            formula_start(&k, &x);
            if (run_from(&x, &k, &options, &als, &result, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            const double found = rmse(&x, &k), expected = cases[c].rmse[i];
            if (!(fabs(found / expected - 1) < 1e-6))
                fail_msg("case %zu, %d sweeps: %.9g, expected %.9g", c, sweeps[i], found, expected);
            ktensor_free(&k);
        }
    coo_free(&x);
}

/* A nonnegative model of three modes, and some cells of it. */
static void some_cells(struct coo *x, struct ktensor *planted, double share)
{
    static const uint64_t dims[] = {30, 25, 20};
    struct error error = {0};
    uint64_t seed = 11, kept = 0;
    assert_int_equal(ktensor_create(planted, SHAPE(3, dims), 3, &error), STATUS_OK);
    ktensor_randomise(planted, KTENSOR_RANDOM, 8);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < dims[n] * 3; e++)
            planted->factor[n][e] *= naive_random(&seed) % 3 > 0;
    assert_int_equal(ktensor_arrange(planted, &error), STATUS_OK);
    assert_int_equal(coo_create(x, &planted->shape, 30 * 25 * 20, &error), STATUS_OK);
    for (uint32_t i = 0; i < 30 * 25 * 20; i++) {
        const uint32_t at[] = {i / 500, i / 20 % 25, i % 20};
        if ((double)(naive_random(&seed) >> 11) * 0x1p-53 >= share)
            continue;
        for (int n = 0; n < 3; n++)
            x->index[n][kept] = at[n];
        x->value[kept++] = (double)naive_model_value(planted, at);
    }
    x->nnz = kept;
}

/* Where no entry is negative, an entry that is zero would not lower the misfit by growing, and one
 * that is not would not by either: q = -dF/da / 2. */
static void assert_optimal(const struct coo *x, const struct ktensor *k, int mode)
{
    uint32_t at[MAX_ORDER];
    const uint64_t entries = k->shape.dims[mode] * k->rank;
    double *q = calloc(entries, sizeof *q), *size = calloc(entries, sizeof *size);
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const double e = x->value[i] - (double)naive_model_value(k, at);
        for (uint64_t r = 0; r < k->rank; r++) {
            double z = k->lambda[r];
            for (int n = 0; n < 3; n++)
                z *= n == mode ? 1 : k->factor[n][at[n] * k->rank + r];
            q[at[mode] * k->rank + r] += e * z;
            size[at[mode] * k->rank + r] += fabs(x->value[i] * z);
        }
    }
    for (uint64_t i = 0; i < entries; i++) {
        const double a = k->factor[mode][i];
        if (!(a >= 0 && (a == 0 ? q[i] <= 1e-5 * size[i] : fabs(q[i]) <= 1e-5 * size[i])))
            fail_msg("mode %d, entry %ju: a %g, q %g, size %g", mode + 1, (uintmax_t)i, a, q[i],
                     size[i]);
    }
    free(q);
    free(size);
}

/* Half of the cells of a nonnegative model are enough to find all others. */
static void test_nonneg(void **state)
{
    use_ranks(state);
    struct backend_options options = {.problem = weighed(3, 0, 0, RIDGE_BALANCED)};
    const struct cpals_options als = {.max_iterations = 2000, .tolerance = 1e-12};
    struct ktensor planted, again, k;
    struct error error = {0};
    struct coo x, all;
    double best = 0;
    options.problem.unlisted.fade = .8;
    make_nonneg(&options.problem, true);
    some_cells(&x, &planted, .5);
    some_cells(&all, &again, 1);
    ktensor_free(&again);
    for (uint64_t seed = 1; seed <= 5 && best <= .9999; seed++) {
        run_random(&x, &options, seed, &als, &k);
        for (int n = 0; n < 3; n++)
            assert_optimal(&x, &k, n);
        assert_int_equal(ktensor_score(&k, &planted, 1, &best, NULL, &error), STATUS_OK);
        assert_true(best <= .9999 || rmse(&all, &k) < 1e-4);
        ktensor_free(&k);
    }
    assert_true(best > .9999);
    ktensor_free(&planted);
    coo_free(&all);
    coo_free(&x);
}

/* Of a model that is exact, the fit from the residual has all digits, and in single precision the
 * noise of the fit says how far it is off. */
static void test_exact_fits(void **state)
{
    use_ranks(state);
    struct backend_options options = {.problem = weighed(3, .1, 0, RIDGE_UNIT)};
    struct ktensor planted, k;
    struct coo x;
    some_cells(&x, &planted, 1);
    for (int single = 0; single < 2; single++) {
        const struct cpals_options als = {.max_iterations = 300, .check_every = single ? 0 : 1};
        options.problem.precision = single ? POLICY_SINGLE : POLICY_DOUBLE;
        const struct cpals_result result = run_random(&x, &options, 4, &als, &k);
        const double exact = 1 - rmse(&x, &k) / sqrt(coo_norm_sq(&x) / (double)x.nnz);
        assert_true(exact > (single ? 1 - 1e-5 : 1 - 1e-12));
        if (!(fabs(result.fit - exact) <= 4 * result.trust.noise + 1e-14))
            fail_msg("fit 1 - %g, noise %g, exact 1 - %g", 1 - result.fit, result.trust.noise,
                     1 - exact);
        ktensor_free(&k);
    }
    ktensor_free(&planted);
    coo_free(&x);
}

/* While unlisted entries fade no sweep converges, and none counts as one that fell. */
static void test_fading(void **state)
{
    use_ranks(state);
    struct backend_options options = {.problem = weighed(3, 0, 1e-6, RIDGE_BALANCED)};
    const struct cpals_options als = {.max_iterations = 100, .tolerance = 1};
    struct ktensor planted, k;
    struct coo x;
    options.problem.unlisted.fade = .5;
    some_cells(&x, &planted, .3);
    const struct cpals_result result = run_random(&x, &options, 2, &als, &k);
    assert_int_equal(result.iterations, 16); /* .5^13 > 1e-4 > .5^14; then two alike */
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_int_equal(result.trust.falls, 0);
    ktensor_free(&planted);
    ktensor_free(&k);
    coo_free(&x);
}

/* 1 - ||X - Y|| / ||X||, where cells that are not listed are zeros of this weight. */
static double fit_of_weight(const struct coo *x, const struct ktensor *k, long double weight)
{
    uint32_t at[MAX_ORDER] = {0};
    long double residual = 0, norm = 0;
    for (at[0] = 0; at[0] < x->shape.dims[0]; at[0]++)
        for (at[1] = 0; at[1] < x->shape.dims[1]; at[1]++)
            for (at[2] = 0; at[2] < x->shape.dims[2]; at[2]++)
                residual += weight * naive_model_value(k, at) * naive_model_value(k, at);
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double value = x->value[i], model = naive_model_value(k, at);
        residual += (value - model) * (value - model) - weight * model * model;
        norm += value * value;
    }
    return (double)(1 - sqrtl(residual / norm));
}

/* The fit of a run that ends while unlisted entries fade is that of the problem all the same. */
static void test_ends_fading(void **state)
{
    use_ranks(state);
    static const double weights[] = {0, .01};
    struct ktensor planted, k;
    struct coo x;
    some_cells(&x, &planted, .3);
    for (int c = 0; c < 6; c++) {
        struct backend_options options = {.problem =
                                              weighed(3, weights[c % 2], 1e-6, RIDGE_BALANCED)};
        struct fit_trace trace = {0};
        const struct cpals_options als = {
            .max_iterations = 1 + c, .check_every = c / 3, .trace = &trace};
        options.problem.unlisted.fade = .8;
        const struct cpals_result result = run_random(&x, &options, 2, &als, &k);
        const double expected = fit_of_weight(&x, &k, weights[c % 2]);
        if (!(fabs(result.fit - expected) < 1e-9))
            fail_msg("case %d: fit %.12f, of the model %.12f", c, result.fit, expected);
        assert_true(trace.fit[trace.count - 1] == result.fit && result.trust.noise < 1e-12);
        fit_trace_free(&trace);
        ktensor_free(&k);
    }
    ktensor_free(&planted);
    coo_free(&x);
}

/* A row without known entries is zero, whatever unlisted ones weigh: that of a slice that lists
 * none, and of one all of whose cells are listed and unknown. */
static void test_empty_rows(void **state)
{
    use_ranks(state);
    static const double weights[] = {0, .3, 1};
    const struct cpals_options als = {.max_iterations = 5};
    static const uint64_t dims[] = {8, 9, 7};
    for (int c = 0; c < 6; c++) {
        struct backend_options options = {
            .problem = weighed(2, weights[c / 2], c < 3 ? .1 : 0, RIDGE_BALANCED)};
        struct ktensor k;
        struct coo x;
        make_nonneg(&options.problem, c % 2);
        naive_random_coo(&x, SHAPE(3, dims), 8 * 9 * 7, 3, 0);
        uint64_t left = 0;
        for (uint64_t i = 0; i < x.nnz; i++) {
            for (int n = 0; n < 3; n++)
                x.index[n][left] = x.index[n][i];
            x.value[left] = x.index[1][i] == 6 ? COO_UNKNOWN : 1 + fabs(x.value[i]);
            left += x.index[1][i] != 4;
        }
        x.nnz = left;
        run_random(&x, &options, 1, &als, &k);
        for (uint64_t r = 0; r < 2; r++) {
            assert_true(k.factor[1][4 * 2 + r] == 0);
            assert_true(k.factor[1][6 * 2 + r] == 0);
            assert_true(k.factor[1][5 * 2 + r] != 0);
            assert_true(k.lambda[r] < 1e3);
        }
        ktensor_free(&k);
        coo_free(&x);
    }
}

/* Two columns of a fixed mode that differ by so little that the second component must be ten
 * million times as large as the values that they meet. */
static void test_growth(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {2, 2};
    struct backend_options options = {.problem = weighed(2, 0, 0, RIDGE_BALANCED)};
    const struct cpals_options als = {.max_iterations = 5};
    const double columns[] = {1, 1, 0, 1.1e-7};
    struct error error = {0};
    struct cpals_result result;
    struct ktensor k;
    struct coo x;
    options.problem.rules.fixed[0] = true;
    naive_random_coo(&x, SHAPE(2, dims), 40, 1, 0);
    assert_int_equal(x.nnz, 4);
    for (uint64_t i = 0; i < 4; i++)
        x.value[i] = 1;
    assert_int_equal(ktensor_create(&k, &x.shape, 2, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    memcpy(k.factor[0], columns, sizeof columns);
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_NUMERICAL);
    assert_non_null(strstr(error.message, "iteration 1: the components have grown to 1e+07 times"));
    assert_non_null(strstr(error.message, "; try --ridge 1e-6"));
    ktensor_free(&k);
    coo_free(&x);
}

/* With and without entries held out; rows of long modes with one nonzero each would make too much
 * of rounding errors. */
static void test_streamed(void **state)
{
    use_ranks(state);
    static const uint64_t ranks[] = {3, 8, 12, 32, 48, 64};
    for (int c = 0; c < STREAMED_CASES; c++)
        for (int i = 0; i < 6 && c != STREAMED_TWO_WORDS; i++) {
            struct coo x;
            struct backend_options options = {
                .problem = weighed(ranks[(c + i) % 6], i % 2 ? .1 : 0, .05, RIDGE_UNIT)};
            make_streamed_case(&x, c);
            for (uint64_t e = 0; i >= 3 && e < x.nnz; e += 5)
                x.value[e] = COO_UNKNOWN;
            assert_streams_alike(&x, &options, 1e-8);
            options.problem.holdout = (struct holdout){.share = .2, .seed = 7};
            if (i % 3 == 0)
                assert_streams_alike(&x, &options, 1e-8);
            coo_free(&x);
        }
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    struct backend_options options = {.problem = weighed(3, 0, .1, RIDGE_COUNTED)};
    const struct cpals_options als = {.max_iterations = 2};
    static const uint64_t dims[] = {12, 9, 15};
    struct coo x;
    options.problem.unlisted.fade = .5;
    naive_random_coo(&x, SHAPE(3, dims), 300, 3, 0);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_RANKS(test_oracle),
                                       ON_RANKS_OF(test_oracle, backend_host, 7),
                                       ON_RANKS(test_oracle_nonneg),
                                       ON_RANKS(test_components),
                                       ON_RANKS(test_long_rows),
                                       ON_RANKS_OF(test_many_components, backend_host, 1),
                                       ON_RANKS_OF(test_many_components, backend_host, 3),
                                       ON_RANKS(test_reference),
                                       ON_RANKS(test_nonneg),
                                       ON_RANKS(test_exact_fits),
                                       ON_RANKS(test_fading),
                                       ON_RANKS(test_ends_fading),
                                       ON_RANKS(test_empty_rows),
                                       ON_RANKS_OF(test_growth, backend_host, 1),
                                       ON_RANKS_OF(test_growth, backend_host, 2),
                                       ON_RANKS_OF(test_growth, backend_cuda, 1),
                                       ON_RANKS_OF(test_growth, backend_cuda, 2),
                                       ON_FLOW(test_oracle, IN_MANY_BATCHES),
                                       ON_FLOW(test_oracle, IN_PART),
                                       ON_FLOW(test_components, IN_BATCHES),
                                       ON_FLOW(test_reference, IN_BATCHES),
                                       ON_FLOW(test_nonneg, IN_BATCHES),
                                       ON_FLOW(test_fading, IN_BATCHES),
                                       ON_FLOW(test_empty_rows, IN_MANY_BATCHES),
                                       ON_FLOW(test_streamed, IN_BATCHES),
                                       ON_RANKS_OF(test_failing_allocations, backend_cuda, 3),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 1),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
