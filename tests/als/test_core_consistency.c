/* The core consistency against its definition, with a dense core and normal equations in long
 * double; its known values; what it is not computed for; the signs and the mean of an estimate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/rank_runs.h"
#include "support/whole_tensors.h"

#define MOST_RANK 8

/* inverse (R x R) = gram^-1, by Gauss and Jordan with pivots. */
static void naive_invert(long double gram[MOST_RANK][MOST_RANK],
                         long double inverse[MOST_RANK][MOST_RANK], uint64_t rank)
{
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            inverse[i][j] = i == j;
    for (uint64_t c = 0; c < rank; c++) {
        uint64_t pivot = c;
        for (uint64_t i = c; i < rank; i++)
            if (fabsl(gram[i][c]) > fabsl(gram[pivot][c]))
                pivot = i;
        for (uint64_t j = 0; j < rank; j++) {
            long double g = gram[c][j], v = inverse[c][j];
            gram[c][j] = gram[pivot][j];
            gram[pivot][j] = g;
            inverse[c][j] = inverse[pivot][j];
            inverse[pivot][j] = v;
        }
        long double by = gram[c][c];
        for (uint64_t j = 0; j < rank; j++) {
            gram[c][j] /= by;
            inverse[c][j] /= by;
        }
        for (uint64_t i = 0; i < rank; i++) {
            long double times = gram[i][c];
            for (uint64_t j = 0; j < rank && i != c; j++) {
                gram[i][j] -= times * gram[c][j];
                inverse[i][j] -= times * inverse[c][j];
            }
        }
    }
}

/* b (I_n x R) = A (A'A)^-1 of A = factor n times lambda^(1/N). */
static void naive_inverse_of(const struct ktensor *k, int n, long double *b)
{
    uint64_t rank = k->rank, rows = k->shape.dims[n];
    long double gram[MOST_RANK][MOST_RANK] = {{0}}, inverse[MOST_RANK][MOST_RANK];
    long double share[MOST_RANK];
    for (uint64_t r = 0; r < rank; r++)
        share[r] = powl((long double)k->lambda[r], 1.0L / k->shape.order);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            for (uint64_t s = 0; s < rank; s++)
                gram[r][s] += (long double)k->factor[n][i * rank + r] * share[r] *
                              (long double)k->factor[n][i * rank + s] * share[s];
    naive_invert(gram, inverse, rank);
    memset(b, 0, rows * rank * sizeof *b);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            for (uint64_t s = 0; s < rank; s++)
                b[i * rank + r] +=
                    (long double)k->factor[n][i * rank + s] * share[s] * inverse[s][r];
}

static double naive_core_consistency(const struct coo *x, const struct ktensor *k)
{
    uint64_t rank = k->rank, cells = 1;
    long double *b[MAX_ORDER], sum = 0;
    for (int n = 0; n < k->shape.order; n++) {
        cells *= rank;
        b[n] = malloc(k->shape.dims[n] * rank * sizeof **b);
        assert_non_null(b[n]);
        naive_inverse_of(k, n, b[n]);
    }
    for (uint64_t cell = 0; cell < cells; cell++) {
        uint64_t r[MAX_ORDER], rest = cell;
        bool diagonal = true;
        long double g = 0;
        for (int n = 0; n < k->shape.order; n++, rest /= rank) {
            r[n] = rest % rank;
            diagonal = diagonal && r[n] == r[0];
        }
        for (uint64_t i = 0; i < x->nnz; i++) {
            long double product = (long double)x->value[i];
            for (int n = 0; n < k->shape.order; n++)
                product *= b[n][x->index[n][i] * rank + r[n]];
            g += product;
        }
        sum += (g - diagonal) * (g - diagonal);
    }
    for (int n = 0; n < k->shape.order; n++)
        free(b[n]);
    return (double)(100 * (1 - sum / (long double)rank));
}

/* Runs ALS with the core consistency; the caller frees *k. */
static struct core_consistency core_of(const struct coo *x, const struct backend_options *options,
                                       uint64_t seed, int iterations, double tolerance,
                                       struct ktensor *k)
{
    const struct cpals_options als = {
        .max_iterations = iterations, .tolerance = tolerance, .core_consistency = true};
    return run_random(x, options, seed, &als, k).core;
}

static void check_known(const struct coo *x, const struct backend_options *options, int iterations)
{
    struct ktensor k;
    struct core_consistency core = core_of(x, options, 3, iterations, 0, &k);
    double expected = naive_core_consistency(x, &k);
    assert_int_equal(core.state, CORE_KNOWN);
    if (!(fabs(core.percent - expected) < 1e-8 * (100 + fabs(expected))))
        fail_msg("core consistency %.12g, expected %.12g", core.percent, expected);
    ktensor_free(&k);
}

static void test_against_the_definition(void **state)
{
    static const struct tensor_case cases[] = {
        {3, {30, 20, 25}, 900, 0},   {3, {7, 60, 9}, 700, 1},      {3, {40, 41, 1}, 600, 0},
        {4, {9, 12, 7, 20}, 900, 0}, {5, {6, 5, 8, 4, 7}, 600, 0},
    };
    static const uint64_t ranks[] = {5, 4, 1, 4, 3};
    use_ranks(state);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (enum conflict f = CONFLICT_AUTO; f <= CONFLICT_HIERARCHICAL; f++) {
            const struct backend_options options = {.problem.rank = ranks[c], .conflict = f};
            struct coo x;
            naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                             cases[c].skewed);
            check_known(&x, &options, 4);
            coo_free(&x);
        }
}

/* Entries that are unknown, or weigh less. */
static const struct unknown_case {
    struct problem problem;
    uint64_t every; /* so many known entries to one that is unknown (NaN); 0: none is */
} unknown_cases[] = {
    {{.unlisted = {.weighed = true}}, 0},
    {{.unlisted = {.weighed = true, .weight = .3}}, 0},
    {{.unlisted = {.weighed = true, .weight = 1}}, 4},
    {{.unlisted = {.weighed = true}}, 5},
    {{.unlisted = {.weighed = true}, .precision = POLICY_AUTO}, 3},
    {{.unlisted = {.weighed = true, .weight = .3}, .precision = POLICY_SINGLE}, 3},
    {{.unlisted = {.weighed = true}, .holdout = {.2, 7}}, 0},
    {{.unlisted = {.weighed = true, .weight = .3}, .holdout = {.2, 7}}, 6},
    {{.loss = LOSS_POISSON}, 0},
    {{.unlisted = {.weighed = true, .weight = .3}, .loss = LOSS_POISSON}, 7},
};

/* *whole = all entries: the values of x where they are known; the model's where they are unknown;
 * where they are not listed, (1 - weight) times the model's. The caller frees *whole. */
static void naive_impute(struct coo *whole, const struct coo *x, const struct ktensor *k,
                         double weight)
{
    struct error error = {0};
    const struct shape *shape = &k->shape;
    uint64_t cells = 1;
    for (int n = 0; n < shape->order; n++)
        cells *= shape->dims[n];
    assert_int_equal(coo_create(whole, shape, cells, &error), STATUS_OK);
    double *share = malloc(cells * sizeof *share);
    assert_non_null(share);
    for (uint64_t cell = 0; cell < cells; cell++) {
        long double model = 0;
        uint64_t rest = cell;
        for (int n = 0; n < shape->order; rest /= shape->dims[n++])
            whole->index[n][cell] = (uint32_t)(rest % shape->dims[n]);
        for (uint64_t r = 0; r < k->rank; r++) {
            long double product = (long double)k->lambda[r];
            for (int n = 0; n < shape->order; n++)
                product *= (long double)k->factor[n][whole->index[n][cell] * k->rank + r];
            model += product;
        }
        whole->value[cell] = (double)model;
        share[cell] = 1 - weight;
    }
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t cell = 0;
        for (int n = shape->order - 1; n >= 0; n--)
            cell = cell * shape->dims[n] + x->index[n][i];
        share[cell] = 1;
        if (!isnan(x->value[i]))
            whole->value[cell] = x->value[i];
    }
    for (uint64_t cell = 0; cell < cells; cell++)
        whole->value[cell] *= share[cell];
    free(share);
}

/* Against the core of the tensor with the model's values in place of unknown ones. batch_nnz: 0, or
 * the nonzeros of a batch of the tensor, which then flows to the GPU. */
static void check_unknown(const struct unknown_case *u, const struct tensor_case *t, uint64_t rank,
                          uint64_t seed, uint64_t passes, uint64_t batch_nnz)
{
    const struct cpals_options als = {
        .max_iterations = 5, .core_consistency = true, .core_passes = passes};
    struct backend_options options = {
        .problem = u->problem, .forced = {.streamed = batch_nnz > 0, .batch_nnz = batch_nnz}};
    const bool counts = u->problem.loss == LOSS_POISSON;
    struct error error = {0};
    struct whole whole;
    struct coo x, imputed;
    struct ktensor k;
    options.problem.rank = rank;
    if (!counts)
        options.problem.rules = same_ridge(.05);
    problem_complete_loss(&options.problem);
    naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, seed, t->skewed);
    for (uint64_t i = 0; i < x.nnz; i++) {
        x.value[i] = counts ? (double)(i % 4) : x.value[i];
        x.value[i] = u->every > 0 && i % u->every == 0 ? NAN : x.value[i];
    }
    whole_of(&whole, &x);
    if (u->problem.holdout.share > 0)
        assert_int_equal(holdout_set_take(&whole.tensor, &u->problem.holdout,
                                          u->problem.unlisted.weight > 0, &error),
                         STATUS_OK);
    const struct core_consistency core = run_random(&x, &options, 3, &als, &k).core;
    naive_impute(&imputed, &whole.tensor.input.x, &k, problem_count(&options.problem, -1).weight);
    const double expected = naive_core_consistency(&imputed, &k);
    const double near = u->problem.precision == POLICY_SINGLE ? 1e-3 : 1e-8;
    assert_int_equal(core.state, CORE_KNOWN);
    assert_true(core.estimated == (passes == 1));
    if (!(fabs(core.percent - expected) < near * (100 + fabs(expected)) + 4 * core.error))
        fail_msg("case %d: core consistency %.12g +- %g, expected %.12g", (int)(u - unknown_cases),
                 core.percent, core.error, expected);
    close_whole(&whole);
    ktensor_free(&k);
    coo_free(&imputed);
    coo_free(&x);
}

/* Of the last tensor, ranks keep their ranges of the mode that is far longer than the others. */
static void test_unknown(void **state)
{
    static const struct tensor_case cases[] = {
        {3, {9, 12, 10}, 600, 0}, {4, {6, 7, 5, 8}, 800, 1}, {3, {7, 2500, 5}, 9000, 0}};
    use_ranks(state);
    const bool flows = under_test.kind->devices && under_test.ranks == 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t u = 0; u < sizeof unknown_cases / sizeof *unknown_cases; u++)
            for (uint64_t batches = 0; batches <= 20 * flows; batches += 20)
                if (c < 2 || u % 3 == 0)
                    check_unknown(&unknown_cases[u], &cases[c], 2 + (c + u) % 2, u, 0,
                                  batches > 0 ? cases[c].nnz / batches : 0);
    check_unknown(&unknown_cases[1], &cases[1], 3, 2, 1, 0);
    check_unknown(&unknown_cases[3], &cases[1], 3, 2, 1, 0);
}

/* Where memory has no room, the answer says so, and the next run does not notice. */
static void test_no_room(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    for (enum flow flow = IN_MEMORY; flow <= IN_BATCHES; flow++) {
        struct backend_options options = {
            .problem = {.rank = 8, .unlisted.weighed = true, .rules = same_ridge(.05)},
            .spends = true,
            .forced.streamed = flow != IN_MEMORY};
        struct error error = {0};
        struct backend b;
        struct coo x;
        struct ktensor k;
        struct backend_fit fit[2];
        struct core_consistency core;
        const struct core_limits limits = {0};
        naive_random_coo(&x, &(struct shape){3, {3000, 20, 30}}, 400, 1, 0);
        if (flow != IN_MEMORY && !set_flow(&options, flow, kind, &x)) {
            coo_free(&x);
            continue;
        }
        options.memory = options.host_memory = plan_of(kind, &x, &options).total_bytes;
        if (flow != IN_MEMORY)
            options.host_memory = 0;
        open_setting(&b, kind, &x, &options);
        for (int i = 0; i < 2; i++) {
            create_model(&k, &x, 8, 1);
            assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
            assert_int_equal(cpals_sweep(&b, NULL, &fit[i], &error), STATUS_OK);
            assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
            assert_int_equal(core_consistency(&core, &b, &k, &limits, NULL, &error), STATUS_OK);
            assert_int_equal(core.state, CORE_NO_ROOM);
            ktensor_free(&k);
        }
        assert_true(fit[0].value == fit[1].value);
        backend_close(&b);
        coo_free(&x);
    }
}

/* Rows that only one rank touches have their own places, and norms are stored apart from rows. */
static void test_long_modes(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 3};
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {700, 520, 9000}}, 15000, 4, 0);
    check_known(&x, &options, 3);
    coo_free(&x);
}

static void create_diagonal(struct coo *x, uint64_t length)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, &(struct shape){3, {length, length, length}}, length, &error),
                     STATUS_OK);
    for (uint32_t i = 0; i < length; i++) {
        x->index[0][i] = x->index[1][i] = x->index[2][i] = i;
        x->value[i] = 5 - (double)i;
    }
}

/* A superdiagonal tensor of its own rank has a core as it should be. */
static void test_superdiagonal(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 3};
    const struct cpals_options als = {.max_iterations = 300, .core_consistency = true};
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct cpals_result result;
    create_diagonal(&x, 3);
    assert_int_equal(ktensor_create(&k, &x.shape, 3, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < 9; i++)
            k.factor[n][i] = i % 4 == 0 ? 1 : 0.1;
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_OK);
    assert_int_equal(result.core.state, CORE_KNOWN);
    assert_true(fabs(result.core.percent - 100) < 1e-5);
    ktensor_free(&k);
    coo_free(&x);
}

/* A tensor of three components. */
static void check_three_components(const char *path)
{
    struct whole whole;
    open_whole(&whole, path);
    const struct coo *x = &whole.tensor.input.x;
    for (uint64_t rank = 3; rank <= 4; rank++) {
        const struct backend_options options = {.problem.rank = rank};
        struct ktensor k;
        struct core_consistency core = core_of(x, &options, 2, 300, 1e-6, &k);
        double expected = naive_core_consistency(x, &k);
        assert_int_equal(core.state, CORE_KNOWN);
        assert_true(fabs(core.percent - expected) < 1e-5 * (100 + fabs(expected)));
        assert_true(rank == 3 ? core.percent > 99 : core.percent < 50);
        ktensor_free(&k);
    }
    close_whole(&whole);
}

/* Without 30 % of its readings a tensor of three components, of which all cells are listed, has the
 * core of the whole, about. */
static void check_gaps(const char *path)
{
    const struct backend_options options = {.problem = {.rank = 3, .unlisted.weighed = true}};
    struct whole whole;
    struct ktensor k;
    uint64_t first = 0;
    open_whole(&whole, path);
    struct coo *x = &whole.tensor.input.x;
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t word[2];
        random_words(1, 0, i, word);
        first += word[0] % 10 < 3;
        x->value[i] = word[0] % 10 < 3 ? NAN : x->value[i];
    }
    const struct core_consistency core = core_of(x, &options, 2, 500, 1e-6, &k);
    double cells = 1;
    for (int n = 0; n < 3; n++)
        cells *= (double)x->shape.dims[n];
    assert_int_equal(core.state, CORE_KNOWN);
    assert_true(core.percent > 99.5);
    assert_true(fabs(core.imputed - 1 + (double)(x->nnz - first) / cells) < 1e-12);
    close_whole(&whole);
    ktensor_free(&k);
}

/* Fluorescence: of a file that is made, and, where BLCO_TEST_DATA has it, of amino acids (Bro
 * 1997). */
static void test_fluorescence(void **state)
{
    use_ranks(state);
    const char *folder = getenv("BLCO_TEST_DATA");
    char path[4096];
    check_three_components("data/fluorescence.tns");
    check_gaps("data/fluorescence.tns");
    snprintf(path, sizeof path, "%s/aminoacid.tns", folder ? folder : "");
    if (!folder || access(path, R_OK) != 0)
        return;
    check_three_components(path);
    check_gaps(path);
}

/* What there is none of, and why. */
static void test_not_known(void **state)
{
    use_ranks(state);
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER], rank;
        enum core_state state;
    } cases[] = {
        {1, {30}, 1, CORE_FEW_MODES},          {2, {30, 20}, 2, CORE_FEW_MODES},
        {4, {9, 9, 9, 9}, 10, CORE_DEPENDENT}, {3, {20, 3, 20}, 4, CORE_DEPENDENT},
        {3, {5, 6, 4}, 3, CORE_KNOWN},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct backend_options options = {.problem.rank = cases[c].rank};
        struct coo x;
        struct ktensor k;
        naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), 60, c, 0);
        struct core_consistency core = core_of(&x, &options, 1, 2, 0, &k);
        assert_int_equal(core.state, cases[c].state);
        assert_true(core.state != CORE_DEPENDENT || core.mode == (cases[c].order == 3 ? 1 : 0));
        ktensor_free(&k);
        coo_free(&x);
    }
}

/* A component that is zero from the start stays zero. */
static void test_zero_component(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = 2, .core_consistency = true};
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct cpals_result result;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 200, 1, 0);
    create_model(&k, &x, 2, 1);
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < x.shape.dims[n]; i++)
            k.factor[n][2 * i + 1] = 0;
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_OK);
    assert_int_equal(result.core.state, CORE_ZERO);
    ktensor_free(&k);
    coo_free(&x);
}

/* Only where it is asked for, and the run was not ended. */
static void test_when(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2};
    static const volatile sig_atomic_t now = SIGTERM;
    const struct cpals_options als[] = {
        {.max_iterations = 3},
        {.max_iterations = 3, .core_consistency = true, .interrupted = &now},
        {.max_iterations = 3, .core_consistency = true, .deadline = 1e-9},
        {.max_iterations = 3, .core_consistency = true},
    };
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 200, 1, 0);
    for (int i = 0; i < 4; i++) {
        struct ktensor k;
        struct cpals_result result = run_random(&x, &options, 1, &als[i], &k);
        assert_int_equal(result.core.state, i < 3 ? CORE_NOT_ASKED : CORE_KNOWN);
        ktensor_free(&k);
    }
    coo_free(&x);
}

/* A signal or the time limit in mid-computation. */
static void test_ends(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const volatile sig_atomic_t now = SIGTERM, never = 0;
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k;
    struct backend_fit fit;
    struct core_consistency core;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 200, 1, 0);
    open_backend(&b, kind, &x, 3, CONFLICT_AUTO);
    create_model(&k, &x, 3, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        assert_int_equal(cpals_sweep(&b, NULL, &fit, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
        const struct core_limits limits = {.interrupted = i == 1 ? &now : &never,
                                           .deadline = i == 2 ? 1e-9 : 0};
        assert_int_equal(core_consistency(&core, &b, &k, &limits, NULL, &error), STATUS_OK);
        assert_int_equal(core.state, i == 0 ? CORE_KNOWN : CORE_ENDED);
        const struct operation_times *times = backend_times(&b);
        assert_true(times->seconds[OP_MTTKRP][0] > 0); /* all that was queued is booked */
        for (int n = 0; n < 3; n++)
            assert_true(times->seconds[OP_MTTKRP][n] >= 0 && times->seconds[OP_UPDATE][n] >= 0);
    }
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

/* An estimate is as near the exact one as its standard error says, which is not large: one probe's
 * is at most sqrt(3^(N-2) - 1) of the misfit, and there are 64. */
static void test_estimate(void **state)
{
    static const struct tensor_case cases[] = {
        {4, {9, 12, 7, 20}, 900, 0},
        {4, {30, 31, 32, 33}, 3000, 1},
        {5, {6, 5, 8, 4, 7}, 600, 0},
        {6, {5, 4, 5, 4, 5, 4}, 900, 0},
    };
    static const uint64_t ranks[] = {6, 20, 4, 3};
    use_ranks(state);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct backend_options options = {.problem.rank = ranks[c]};
        struct cpals_options als = {.max_iterations = 4, .core_consistency = true};
        struct coo x;
        struct ktensor k;
        naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                         cases[c].skewed);
        struct core_consistency exact = run_random(&x, &options, 3, &als, &k).core;
        ktensor_free(&k);
        als.core_passes = 1;
        struct core_consistency core = run_random(&x, &options, 3, &als, &k).core;
        ktensor_free(&k);
        assert_int_equal(core.state, CORE_KNOWN);
        assert_true(core.estimated && !exact.estimated && exact.error == 0);
        if (!(fabs(core.percent - exact.percent) < 4 * core.error))
            fail_msg("core consistency %g, estimated as %g +- %g", exact.percent, core.percent,
                     core.error);
        assert_true(core.error <
                    1.5 / 8 * sqrt(pow(3, cases[c].order - 2) - 1) * (100 - exact.percent));
        coo_free(&x);
    }
}

/* A core that no double holds, and an M that none holds, leave the core consistency unknown. */
static void test_overflow(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const double sizes[] = {1, 1e290};
    for (int i = 0; i < 4; i++) {
        struct error error = {0};
        struct backend b;
        struct coo x;
        struct ktensor k;
        struct backend_fit fit;
        struct core_consistency core;
        naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 200, 1, 0);
        for (size_t e = 0; e < x.nnz; e++)
            x.value[e] *= sizes[i % 2];
        open_backend(&b, kind, &x, 2, CONFLICT_AUTO);
        create_model(&k, &x, 2, 1);
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        assert_int_equal(cpals_sweep(&b, NULL, &fit, &error), STATUS_OK);
        assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
        k.lambda[1] = 1e-300;
        const struct core_limits limits = {.passes = i < 2 ? CORE_PASSES : 1};
        assert_int_equal(core_consistency(&core, &b, &k, &limits, NULL, &error), STATUS_OK);
        assert_int_equal(core.state, CORE_OVERFLOW);
        backend_close(&b);
        ktensor_free(&k);
        coo_free(&x);
    }
}

/* More components than an estimate is made for are refused before anything is done. */
static void test_too_large(void **state)
{
    (void)state;
    struct error error = {0};
    struct backend b = {.order = 4};
    const struct ktensor k = {.rank = CORE_PASSES + 1};
    const struct core_limits limits = {0};
    struct core_consistency core;
    assert_int_equal(core_consistency(&core, &b, &k, &limits, NULL, &error), STATUS_OK);
    assert_int_equal(core.state, CORE_TOO_LARGE);
}

static void test_passes(void **state)
{
    (void)state;
    assert_true(core_consistency_passes(3, 1024) == 1024);
    assert_true(core_consistency_passes(3, 1025) == CORE_PASSES + 1);
    assert_true(core_consistency_passes(4, 32) == 1024);
    assert_true(core_consistency_passes(5, 10) == 1000);
    assert_true(core_consistency_passes(5, 11) == CORE_PASSES + 1);
    assert_true(core_consistency_passes(16, 1) == 1);
    assert_true(core_consistency_passes(16, UINT64_C(1) << 40) == CORE_PASSES + 1);
}

#define SIGNS_RANK 40

/* The correlation of two lists of signs. */
static double correlation(const double *a, const double *b)
{
    double sum = 0;
    for (int e = 0; e < SIGNS_RANK * SIGNS_RANK; e++)
        sum += a[e] * b[e];
    return sum / (SIGNS_RANK * SIGNS_RANK);
}

/* Signs of other modes and probes, and of other columns, have nothing to do with each other. */
static void test_signs(void **state)
{
    (void)state;
    static double s[4][SIGNS_RANK * SIGNS_RANK], one[SIGNS_RANK * SIGNS_RANK],
        transposed[SIGNS_RANK * SIGNS_RANK];
    const double far = 5.0 / SIGNS_RANK; /* five standard deviations */
    core_probes_signs(s[0], SIGNS_RANK, 2, 0);
    core_probes_signs(s[1], SIGNS_RANK, 3, 0);
    core_probes_signs(s[2], SIGNS_RANK, 2, 1);
    core_probes_signs(s[3], SIGNS_RANK, 15, 63);
    for (int e = 0; e < SIGNS_RANK * SIGNS_RANK; e++) {
        assert_true(fabs(s[0][e]) == 1);
        one[e] = 1;
        transposed[e] = s[0][e % SIGNS_RANK * SIGNS_RANK + e / SIGNS_RANK];
    }
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(correlation(s[i], one)) < far);
        for (int j = 0; j < i; j++)
            assert_true(fabs(correlation(s[i], s[j])) < far);
    }
    assert_true(fabs(correlation(s[0], transposed)) < far);
    core_probes_signs(s[1], SIGNS_RANK, 2, 0);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
}

/* The mean of 1, 2, 3, 4, 5 is 3, their variance 2.5, and the variance of the mean 0.5. */
static void test_mean(void **state)
{
    (void)state;
    struct core_mean m = {0};
    for (int i = 5; i > 0; i--)
        core_mean_add(&m, 1e6 + i);
    assert_true(m.count == 5);
    assert_true(fabs(m.mean - 1e6 - 3) < 1e-9);
    assert_true(fabs(core_mean_error(&m) - sqrt(0.5)) < 1e-9);
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = {.problem.rank = 2, .host_memory = 1 << 28};
    struct cpals_options als = {.max_iterations = 1, .core_consistency = true};
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {8, 9, 10}}, 100, 1, 0);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    const struct backend_options unknown = {.problem = {.rank = 2, .unlisted.weighed = true},
                                            .host_memory = 1 << 28};
    assert_true(fail_every_allocation(&x, &unknown, &als) > 20);
    als.core_passes = 1; /* of ranks every probe allocates much */
    if (under_test.ranks == 1)
        assert_true(fail_every_allocation(&x, &options, &als) > 20 + CORE_PROBES);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_against_the_definition),
        ON_RANKS(test_unknown),
        ON_ALL(test_no_room),
        ON_RANKS(test_long_modes),
        ON_RANKS(test_superdiagonal),
        ON_RANKS(test_fluorescence),
        ON_RANKS(test_not_known),
        ON_RANKS(test_zero_component),
        ON_RANKS(test_when),
        ON_ALL(test_ends),
        ON_RANKS(test_estimate),
        ON_ALL(test_overflow),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_too_large),
        ON_RANKS_OF(test_failing_allocations, backend_host, 1),
        ON_RANKS_OF(test_failing_allocations, backend_host, 2),
        ON_RANKS_OF(test_failing_allocations, backend_host, 3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
