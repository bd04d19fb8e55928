/* Runs with a Poisson loss, of counts, of clipped and of zero-truncated ones, on several numbers of
 * ranks (numerics/poisson_term.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>

#include <cmocka.h>

#include "backend/value_scale.h"
#include "support/data_tensors.h"
#include "support/naive.h"
#include "support/naive_poisson.h"
#include "support/rank_runs.h"
#include "support/streamed_runs.h"

static struct backend_options options_of(uint64_t rank, enum solver solver)
{
    struct backend_options options = {
        .problem = {.rank = rank, .loss = LOSS_POISSON, .solver = solver}};
    for (int n = 0; n < MAX_ORDER; n++)
        options.problem.rules.nonneg[n] = true;
    return options;
}

/* The values of a random tensor become counts, some of them 0, or, of some, no whole numbers. */
static void make_counts(struct coo *x, uint64_t seed)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = (double)(1 + naive_random(&seed) % 7) / (seed % 5 == 0 ? 3 : 1);
}

/* Ones and some zeros, of both where there are two: clipped counts, which *options then asks for.
 */
static void make_binary(struct coo *x, struct backend_options *options, uint64_t seed)
{
    options->problem.loss = LOSS_BINARY;
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = i == 0 ? x->nnz == 1 : i == 1 || naive_random(&seed) % 7 > 0;
}

/* Counts of 1 and more, of which the others are unknown. */
static void make_truncated(struct coo *x, struct backend_options *options, uint64_t seed)
{
    options->problem.loss = LOSS_ZERO_TRUNCATED;
    options->problem.unlisted = (struct unlisted){.weighed = true, .weight = 0};
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = i == 0 ? 3 : (double)(1 + naive_random(&seed) % 4);
}

static struct naive_rows rows_of(const struct ktensor *k)
{
    struct naive_rows m = {.shape = k->shape, .rank = (int)k->rank};
    for (int r = 0; r < m.rank; r++)
        m.lambda[r] = k->lambda[r];
    for (int n = 0; n < k->shape.order; n++) {
        m.a[n] = malloc(k->shape.dims[n] * k->rank * sizeof *m.a[n]);
        for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
            m.a[n][e] = k->factor[n][e];
    }
    return m;
}

static long double deviance_of(const struct ktensor *k, const struct coo *x)
{
    struct naive_rows m = rows_of(k);
    const long double deviance = naive_poisson_deviance(&m, x, 1, POISSON_COUNTS);
    naive_rows_free(&m);
    return deviance;
}

/* Every column of a model of counts has the 1-norm 1. */
static void assert_mixture(const struct ktensor *k)
{
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t r = 0; r < k->rank; r++) {
            long double sum = 0;
            for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
                assert_true(k->factor[n][i * k->rank + r] >= 0);
                sum += k->factor[n][i * k->rank + r];
            }
            assert_true(fabsl(sum - 1) < 1e-6L);
        }
}

/* The start of the reference runs: columns of 1-norm 1, equal weights. */
static void formula_start(struct ktensor *k, const struct shape *shape, uint64_t rank)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, shape, rank, &error), STATUS_OK);
    for (uint64_t n = 0; n < (uint64_t)shape->order; n++)
        for (uint64_t r = 0; r < rank; r++) {
            double sum = 0;
            for (uint64_t i = 0; i < shape->dims[n]; i++) {
                k->factor[n][i * rank + r] = 1 + (double)((7 * i + 13 * r + 5 * n) % 11) / 11;
                sum += k->factor[n][i * rank + r];
            }
            for (uint64_t i = 0; i < shape->dims[n]; i++)
                k->factor[n][i * rank + r] /= sum;
        }
}

#define PLANTED       "data/planted.tns"
#define ADMISSIONS    "data/ucb-admissions.tns"
#define OF_PLANTED    133192.539
#define OF_ADMISSIONS 1048.836 /* half of loglm's G^2, 2097.671, of independence */

/* Deviances after some sweeps, found by other programs from the same start; with SOLVER_MU also by
 * cp_apr of pyttb (maxinneriters=inner, stoptol=0, kappatol=0). */
static void test_reference(void **state)
{
    use_ranks(state);
    static const struct {
        const char *path;
        uint64_t rank;
        double null; /* to the digits that are known */
        enum solver solver;
        int inner;
        double after[3]; /* sweeps[] */
    } cases[] = {
        {PLANTED, 4, OF_PLANTED, SOLVER_MU, 1, {132212.969671, 123964.057868, 13627.7407967}},
        {PLANTED, 4, OF_PLANTED, SOLVER_MU, 2, {124998.276226, 58773.5129151, 16737.9396695}},
        {PLANTED, 4, OF_PLANTED, SOLVER_MU, 10, {65436.9789165, 27591.4309852, 3.34178922915}},
        {PLANTED, 4, OF_PLANTED, SOLVER_NEWTON, 1, {132180.558224, 123295.977277, 15145.5104731}},
        {ADMISSIONS, 2, OF_ADMISSIONS, SOLVER_MU, 1, {1035.11094466, 990.475633342, 402.833789322}},
        {ADMISSIONS, 2, OF_ADMISSIONS, SOLVER_MU, 2, {993.969450185, 644.671684396, 194.962436776}},
        {ADMISSIONS, 2, OF_ADMISSIONS, SOLVER_MU, 10, {338.80364258, 191.921407464, 172.09975526}},
        {ADMISSIONS,
         2,
         OF_ADMISSIONS,
         SOLVER_NEWTON,
         1,
         {849.307868290, 546.307612703, 208.014305487}}};
    static const int sweeps[] = {1, 2, 5};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 3; i++) {
            const struct cpals_options als = {.max_iterations = sweeps[i]};
            struct backend_options options = options_of(cases[c].rank, cases[c].solver);
            struct cpals_result result;
            struct error error = {0};
            struct ktensor k;
            struct coo x;
            options.problem.inner = cases[c].inner;
            read_data_tensor(&x, cases[c].path);
            formula_start(&k, &x.shape, cases[c].rank);
            if (run_from(&x, &k, &options, &als, &result, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            const double found = (double)deviance_of(&k, &x), expected = cases[c].after[i];
            if (!(fabs(found / expected - 1) < 1e-11))
                fail_msg("case %zu, %d sweeps: %.12g, expected %.12g", c, sweeps[i], found,
                         expected);
            assert_true(fabs((1 - result.fit) * cases[c].null / expected - 1) < 1e-6);
            assert_mixture(&k);
            ktensor_free(&k);
            coo_free(&x);
        }
}

/* Two sweeps from a random model, beside the oracle's. */
static void compare(const struct coo *x, const struct backend_options *options)
{
    const struct problem *p = &options->problem;
    const struct cpals_options als = {.max_iterations = 2};
    const bool single = p->precision == POLICY_SINGLE;
    const enum poisson_kind kind = loss_of(p->loss)->kind;
    const long double h = p->unlisted.weighed ? p->unlisted.weight : 1;
    struct error error = {0};
    struct cpals_result result;
    struct naive_rows m, found;
    struct ktensor k;
    uint32_t at[MAX_ORDER];
    long double off = 0, largest = 0;
    assert_int_equal(ktensor_create(&k, &x->shape, p->rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 5);
    naive_poisson_create(&m, &k, x, h, kind);
    for (int sweep = 0; sweep < 2; sweep++)
        for (int n = 0; n < x->shape.order; n++)
            naive_poisson_update(&m, x, n, p, h);
    if (run_from(x, &k, options, &als, &result, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_mixture(&k);
    found = rows_of(&k);
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double y = naive_row_value(&m, at);
        off = fmaxl(off, fabsl(naive_row_value(&found, at) - y));
        largest = fmaxl(largest, fabsl(y));
    }
    if (!(off < (single ? 1e-3L : 1e-9L) * largest))
        fail_msg("loss %d, order %d, rank %d, solver %d x %d, weight %Lg, precision %d, first %g: "
                 "values "
                 "off by %Lg",
                 (int)p->loss, x->shape.order, (int)p->rank, (int)p->solver, problem_inner(p), h,
                 (int)p->precision, x->value[0], off / largest);
    const long double deviance = naive_poisson_deviance(&found, x, h, kind);
    const long double of_oracle = naive_poisson_deviance(&m, x, h, kind);
    if (!(fabsl(deviance - of_oracle) < (single ? 1e-3L : 1e-9L) * fmaxl(of_oracle, 1)))
        fail_msg("deviance %Lg, expected %Lg", deviance, of_oracle);
    naive_rows_free(&m);
    naive_rows_free(&found);
    ktensor_free(&k);
}

/* Each tensor has a Newton step and a number of steps of multiplicative updates, another one for
 * each weight. Several ranks, which take longer, and sanitizers have a weight for each tensor:
 * other ranks another one. */
static void test_oracle(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {
        {2, {30, 40}, 400, 0},      {3, {20, 1, 30}, 300, 0},    {3, {25, 30, 20}, 3000, 1},
        {3, {3, 40, 700}, 6000, 1}, {4, {9, 8, 7, 20}, 1500, 0}, {6, {4, 3, 5, 2, 6, 4}, 700, 0},
        {3, {90, 110, 7}, 600, 1},  {3, {7, 1500, 5}, 2500, 0}}; /* ranks keep their ranges of the
                                                                    long mode */
    static const double weights[] = {1, 0, 0.2};
    static const uint64_t ranks[] = {1, 5, 9, 20, 40};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 3; i++)
            for (int step = 0; step < 2; step++) {
                const int inner = step == 0 ? 0 : 1 + ((int)c + i) % 3; /* 0: a Newton step */
                const enum solver solver = inner > 0 ? SOLVER_MU : SOLVER_NEWTON;
                if ((under_test.ranks > 1 || SANITIZED) && ((int)c + under_test.ranks) % 3 != i)
                    continue;
                const struct tensor_case *t = &cases[c];
                struct coo x;
                struct backend_options options =
                    options_of(ranks[(c + (size_t)i) % (solver == SOLVER_MU ? 5 : 3)], solver);
                options.problem.inner = inner;
                options.problem.unlisted =
                    (struct unlisted){.weighed = i > 0, .weight = i > 0 ? weights[i] : 0};
                naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
                make_counts(&x, c);
                compare(&x, &options);
                options.problem.precision = POLICY_SINGLE;
                compare(&x, &options);
                options.problem.precision = POLICY_DOUBLE;
                options.problem.unlisted.weighed = true;
                options.problem.unlisted.weight = weights[i];
                for (uint64_t e = 0; e < x.nnz; e++)
                    x.value[e] = e % 5 == 0 ? COO_UNKNOWN : e % 7 == 0 ? 0 : x.value[e];
                compare(&x, &options);
                make_binary(&x, &options, c);
                compare(&x, &options);
                options.problem.precision = POLICY_SINGLE;
                for (uint64_t e = 4; e < x.nnz; e += 5)
                    x.value[e] = COO_UNKNOWN;
                compare(&x, &options);
                make_truncated(&x, &options, c);
                for (uint64_t e = 4; e < x.nnz; e += 5)
                    x.value[e] = COO_UNKNOWN;
                options.problem.precision = i > 0 ? POLICY_SINGLE : POLICY_DOUBLE;
                compare(&x, &options);
                coo_free(&x);
            }
}

/* The sums of the model over the slices of the mode that was updated last are those of the data. */
static void test_margins(void **state)
{
    use_ranks(state);
    struct backend_options options = options_of(4, SOLVER_MU);
    static const int inner[] = {1, 2, 30}; /* the last one is more than a GPU queues */
    static const uint64_t dims[] = {12, 40, 9};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 900, 3, 1);
    make_counts(&x, 8);
    for (int c = 0; c < 9; c++) {
        const int sweeps = 1 + c % 3;
        const struct cpals_options als = {.max_iterations = sweeps};
        struct ktensor k;
        double margin[9] = {0};
        options.problem.inner = inner[c / 3];
        run_random(&x, &options, 4, &als, &k);
        for (uint64_t i = 0; i < x.nnz; i++)
            margin[x.index[2][i]] += x.value[i];
        for (uint64_t i = 0; i < dims[2]; i++) {
            double sum = 0;
            for (uint64_t r = 0; r < k.rank; r++)
                sum += k.lambda[r] * k.factor[2][i * k.rank + r];
            assert_true(fabs(sum - margin[i]) <= 1e-11 * margin[i]);
        }
        ktensor_free(&k);
    }
    coo_free(&x);
}

/* No sweep of a run from a random model makes the deviance larger. */
static void assert_monotone(struct coo *x, const struct backend_options *options, uint64_t seed)
{
    struct fit_trace trace = {0};
    const struct cpals_options als = {.max_iterations = 25, .trace = &trace};
    struct error error = {0};
    struct cpals_result result;
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, &x->shape, options->problem.rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, seed);
    if (run_from(x, &k, options, &als, &result, &error) != STATUS_OK)
        fail_msg("seed %ju: %s", (uintmax_t)seed, error.message);
    assert_int_equal(trace.count, 25);
    for (size_t i = 1; i < trace.count; i++)
        if (!(trace.fit[i] >= trace.fit[i - 1] - fmax(1e-12, 2 * result.trust.noise)))
            fail_msg("loss %d, seed %ju, sweep %zu: %.17g after %.17g", (int)options->problem.loss,
                     (uintmax_t)seed, i + 1, trace.fit[i], trace.fit[i - 1]);
    assert_int_equal(result.trust.falls, 0);
    fit_trace_free(&trace);
    ktensor_free(&k);
}

/* With or without momentum, whatever the tensor. */
static void test_monotone(void **state)
{
    use_ranks(state);
    const bool several_devices = under_test.kind->devices && under_test.ranks > 1;
    const uint64_t tensors = several_devices || SANITIZED ? 15 : under_test.ranks > 1 ? 30 : 75;
    for (uint64_t seed = 0; seed < tensors; seed++) {
        const uint64_t word = seed * 2654435761u % 1000003;
        const uint64_t dims[] = {2 + word % 9, 1 + word / 9 % 12, 1 + word / 108 % 8,
                                 1 + word / 864 % 4};
        const int order = 2 + (int)(seed % 3);
        const uint64_t cells =
            dims[0] * dims[1] * (order > 2 ? dims[2] : 1) * (order > 3 ? dims[3] : 1);
        struct backend_options options = options_of(1 + seed % 7, (enum solver)(seed / 3 % 2));
        struct coo x;
        naive_random_coo(&x, SHAPE(order, dims), 1 + cells / (1 + seed % 4), seed, seed % 2);
        make_counts(&x, seed);
        for (uint64_t i = 0; seed % 5 == 0 && i < x.nnz; i++)
            x.value[i] = exp(8 * x.value[i]); /* over many orders of magnitude */
        options.problem.acceleration = seed % 4 < 2 ? ACCELERATE_OFF : ACCELERATE_MOMENTUM;
        if (options.problem.solver == SOLVER_MU)
            options.problem.inner = 1 + (int)(seed / 6 % 4);
        assert_monotone(&x, &options, seed);
        make_binary(&x, &options, seed);
        assert_monotone(&x, &options, seed);
        make_truncated(&x, &options, seed);
        assert_monotone(&x, &options, seed);
        coo_free(&x);
    }
}

/* Nor where rows have fewer nonzeros than the model has components. */
static void test_monotone_short_rows(void **state)
{
    use_ranks(state);
    static const double weights[] = {1, 0, 0.3};
    const uint64_t tensors = under_test.ranks > 1 || SANITIZED ? 10 : 100;
    for (uint64_t seed = 0; seed < tensors; seed++) {
        const uint64_t word = seed * 2654435761u % 1000003;
        const uint64_t dims[] = {3 + word % 50, 2 + word / 50 % 40, 1 + word / 2000 % 7};
        const uint64_t longest = dims[0] > dims[1] ? dims[0] : dims[1];
        struct backend_options options = options_of(2 + seed % 23, SOLVER_NEWTON);
        struct coo x;
        naive_random_coo(&x, SHAPE(2 + (int)(seed % 2), dims), longest * (1 + seed % 6), seed,
                         seed % 3 == 0);
        make_counts(&x, seed);
        for (uint64_t i = 0; i < x.nnz; i++) {
            if (seed % 5 == 0)
                x.value[i] = exp(8 * x.value[i]);
            if (seed % 7 == 0 && i % 4 == 0)
                x.value[i] = i % 8 == 0 ? COO_UNKNOWN : 0;
        }
        options.problem.acceleration = seed % 4 < 2 ? ACCELERATE_OFF : ACCELERATE_MOMENTUM;
        options.problem.unlisted = (struct unlisted){.weighed = true, .weight = weights[seed % 3]};
        assert_monotone(&x, &options, seed);
        make_binary(&x, &options, seed);
        assert_monotone(&x, &options, seed);
        make_truncated(&x, &options, seed);
        assert_monotone(&x, &options, seed);
        coo_free(&x);
    }
}

/* All cells of a small tensor, in lexicographic order: 0 where they are not listed, and how much
 * they count. */
struct dense {
    struct shape shape;
    enum poisson_kind kind;
    uint64_t cells;
    double *value, *weight;
};

static struct dense dense_of(const struct coo *x, const struct problem *p)
{
    struct dense d = {.shape = x->shape, .kind = loss_of(p->loss)->kind, .cells = 1};
    for (int n = 0; n < x->shape.order; n++)
        d.cells *= x->shape.dims[n];
    d.value = calloc(d.cells, sizeof *d.value);
    d.weight = malloc(d.cells * sizeof *d.weight);
    for (uint64_t c = 0; c < d.cells; c++)
        d.weight[c] = p->unlisted.weighed ? p->unlisted.weight : 1;
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t c = 0;
        for (int n = 0; n < x->shape.order; n++)
            c = c * x->shape.dims[n] + x->index[n][i];
        d.weight[c] = isnan(x->value[i]) ? 0 : 1;
        d.value[c] = isnan(x->value[i]) ? 0 : x->value[i];
    }
    return d;
}

static void dense_free(struct dense *d)
{
    free(d->value);
    free(d->weight);
}

static void dense_at(const struct dense *d, uint64_t cell, uint32_t *at)
{
    for (int n = d->shape.order; n-- > 0; cell /= d->shape.dims[n])
        at[n] = (uint32_t)(cell % d->shape.dims[n]);
}

/* Half of the deviance. */
static long double dense_misfit(const struct dense *d, const struct naive_rows *m)
{
    long double sum = 0;
    for (uint64_t c = 0; c < d->cells; c++) {
        uint32_t at[MAX_ORDER];
        dense_at(d, c, at);
        if (d->weight[c] > 0)
            sum +=
                d->weight[c] * naive_poisson_misfit(d->value[c], naive_row_value(m, at), d->kind);
    }
    return sum;
}

/* gradient[n] (I_n x R) = that of dense_misfit in the entries of mode n times the weights; the
 * caller frees it. */
static void dense_gradient(const struct dense *d, const struct naive_rows *m,
                           long double **gradient)
{
    const int order = d->shape.order;
    const uint64_t rank = (uint64_t)m->rank;
    for (int n = 0; n < order; n++)
        gradient[n] = calloc(d->shape.dims[n] * rank, sizeof *gradient[n]);
    for (uint64_t c = 0; c < d->cells; c++) {
        uint32_t at[MAX_ORDER];
        dense_at(d, c, at);
        const long double y = naive_row_value(m, at), x = d->value[c];
        const long double slope = naive_poisson_weight(true, y, d->kind) -
                                  (x > 0 ? naive_poisson_count(x, y, d->kind) / y : 0);
        for (int n = 0; n < order && d->weight[c] > 0; n++)
            for (uint64_t r = 0; r < rank; r++) {
                long double z = d->weight[c] * slope;
                for (int q = 0; q < order; q++)
                    z *= q == n ? 1 : m->a[q][at[q] * rank + r];
                gradient[n][at[n] * rank + r] += z;
            }
    }
}

/* The largest |min(a, g)| over all entries a of the model, whose columns have the sum 1, with the
 * weights in the mode that is looked at; g is the gradient. */
static long double dense_violation(const struct dense *d, const struct naive_rows *m)
{
    long double *gradient[MAX_ORDER], most = 0;
    dense_gradient(d, m, gradient);
    for (int n = 0; n < d->shape.order; n++) {
        for (uint64_t e = 0; e < d->shape.dims[n] * (uint64_t)m->rank; e++)
            most = fmaxl(
                most, fabsl(fminl(m->lambda[e % (uint64_t)m->rank] * m->a[n][e], gradient[n][e])));
        free(gradient[n]);
    }
    return most;
}

/* The gradient of the oracle is that of its likelihood: the central difference in one entry of each
 * mode, of a model without zeros. */
static void assert_gradient(const struct dense *d, struct naive_rows *m, uint64_t seed)
{
    const uint64_t rank = (uint64_t)m->rank;
    long double *gradient[MAX_ORDER];
    for (uint64_t r = 0; r < rank; r++)
        m->lambda[r] += 1;
    for (int n = 0; n < d->shape.order; n++)
        for (uint64_t e = 0; e < d->shape.dims[n] * rank; e++)
            m->a[n][e] += .05L;
    dense_gradient(d, m, gradient);
    for (int n = 0; n < d->shape.order; n++) {
        const uint64_t e = naive_random(&seed) % (d->shape.dims[n] * rank);
        const long double a = m->a[n][e], step = 1e-6L * a;
        m->a[n][e] = a + step;
        const long double above = dense_misfit(d, m);
        m->a[n][e] = a - step;
        const long double below = dense_misfit(d, m);
        m->a[n][e] = a;
        const long double found = (above - below) / (2 * step * m->lambda[e % rank]);
        if (!(fabsl(found - gradient[n][e]) < 1e-6L * (1 + fabsl(found))))
            fail_msg("seed %ju, mode %d: %Lg, expected %Lg", (uintmax_t)seed, n + 1, gradient[n][e],
                     found);
        free(gradient[n]);
    }
}

/* Of hundreds of tensors, the deviance of a run is that over all cells, and so is its violation of
 * the conditions of an optimum: the gradient is 0 where an entry is not, and not negative
 * elsewhere. Where the run converges, it is small. */
static void test_dense(void **state)
{
    use_ranks(state);
    static const double weights[] = {1, 0, .3};
    const bool alone = under_test.ranks == 1 && !SANITIZED;
    int converged = 0, tensors = alone ? 300 : 24;
    for (uint64_t seed = 0; seed < (uint64_t)tensors; seed++) {
        const uint64_t word = seed * 2654435761u % 1000003;
        const uint64_t dims[] = {2 + word % 4, 2 + word / 4 % 4, 2 + word / 16 % 4,
                                 1 + word / 64 % 3};
        const int order = 2 + (int)(seed % 3);
        const bool single = seed / 3 % 4 == 3;
        const struct cpals_options als = {.max_iterations = alone ? 500 : 30, .tolerance = 1e-14};
        struct backend_options options = options_of(1 + seed / 4 % 3, (enum solver)(seed / 6 % 2));
        struct ktensor k;
        struct coo x;
        uint64_t cells = 1;
        for (int n = 0; n < order; n++)
            cells *= dims[n];
        naive_random_coo(&x, SHAPE(order, dims), 2 + cells / 2, seed, seed % 2);
        make_counts(&x, seed);
        options.problem.unlisted =
            (struct unlisted){.weighed = seed % 9 > 2, .weight = weights[seed / 3 % 3]};
        if (seed % 3 == 1)
            make_binary(&x, &options, seed);
        if (seed % 3 == 2)
            make_truncated(&x, &options, seed);
        if (options.problem.unlisted.weighed && x.nnz > 4)
            x.value[3] = COO_UNKNOWN;
        if (single)
            options.problem.precision = POLICY_SINGLE;
        options.problem.acceleration = seed % 2 ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
        const struct cpals_result result = run_random(&x, &options, 4, &als, &k);
        struct naive_rows m = rows_of(&k);
        struct dense d = dense_of(&x, &options.problem);
        const long double deviance = 2 * dense_misfit(&d, &m), violation = dense_violation(&d, &m);
        const bool ended = result.stop == CPALS_CONVERGED;
        converged += ended;
        /* entries in single precision are rounded by this, relative to themselves */
        const long double rounding = single ? FLT_EPSILON : 1e-9L;
        if (!(fabsl(result.deviance - deviance) < rounding * fmaxl(deviance, 1)))
            fail_msg("seed %ju: deviance %.12g, over all cells %.12Lg", (uintmax_t)seed,
                     result.deviance, deviance);
        if (ended && !(violation < 1e-4L))
            fail_msg("seed %ju, loss %d: off an optimum by %Lg", (uintmax_t)seed,
                     (int)options.problem.loss, violation);
        assert_gradient(&d, &m, seed);
        dense_free(&d);
        naive_rows_free(&m);
        ktensor_free(&k);
        coo_free(&x);
    }
    assert_true(!alone || converged > tensors / 3);
}

/* At the end of a long run the gradient is 0 where an entry is not, and not negative elsewhere. */
static void test_optimum(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {8, 9, 7};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 200, 3, 0);
    make_counts(&x, 8);
    for (int how = 0; how < 4; how++) {
        struct backend_options options = options_of(3, SOLVER_NEWTON);
        const struct cpals_options als = {.max_iterations = 20000, .tolerance = 1e-14};
        struct ktensor k;
        if (how / 2 == 1)
            make_binary(&x, &options, 1);
        options.problem.acceleration = how % 2 ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
        const struct cpals_result result = run_random(&x, &options, 4, &als, &k);
        assert_int_equal(result.stop, CPALS_CONVERGED);
        assert_true(result.violation > 0 && result.violation < 1e-4);
        struct dense d = dense_of(&x, &options.problem);
        struct naive_rows m = rows_of(&k);
        const double violation = (double)dense_violation(&d, &m);
        if (!(violation < 2e-4))
            fail_msg("how %d: the gradient over all cells is off by %g", how, violation);
        dense_free(&d);
        naive_rows_free(&m);
        ktensor_free(&k);
    }
    coo_free(&x);
}

/* With momentum, multiplicative steps end no worse than without, whatever the start. */
static void test_momentum_of_mu(void **state)
{
    use_ranks(state);
    struct coo x;
    read_data_tensor(&x, ADMISSIONS);
    const uint64_t starts = under_test.ranks > 1 || SANITIZED ? 1 : 3;
    for (uint64_t seed = 1; seed <= starts; seed++) {
        const struct cpals_options als = {.max_iterations = 600, .tolerance = 1e-8};
        struct backend_options options = options_of(4, SOLVER_MU);
        double fit[2];
        for (int momentum = 0; momentum < 2; momentum++) {
            struct ktensor k;
            options.problem.acceleration = momentum ? ACCELERATE_MOMENTUM : ACCELERATE_OFF;
            fit[momentum] = run_random(&x, &options, seed, &als, &k).fit;
            ktensor_free(&k);
        }
        if (!(fit[1] > fit[0] - 1e-4))
            fail_msg("seed %ju: fit %g with momentum, %g without", (uintmax_t)seed, fit[1], fit[0]);
    }
    coo_free(&x);
}

/* Rows without counts are zero; a start with zeros is no trap; a model of one component is the
 * product of the margins, with fit 0. */
static void test_zeros(void **state)
{
    use_ranks(state);
    const struct cpals_options als = {.max_iterations = 30};
    struct backend_options options = options_of(3, SOLVER_NEWTON);
    static const uint64_t dims[] = {8, 9, 7};
    struct error error = {0};
    struct cpals_result result;
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 150, 3, 0);
    make_counts(&x, 5);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[1][i] = x.index[1][i] == 4 ? 5 : x.index[1][i];
    assert_int_equal(ktensor_create(&k, &x.shape, 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < dims[n] * 3; e++)
            k.factor[n][e] = e % 3 == e / 3 % 3 ? k.factor[n][e] : 0;
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_OK);
    assert_true(result.fit > 0.1);
    for (uint64_t r = 0; r < 3; r++) {
        assert_true(k.factor[1][4 * 3 + r] == 0);
        assert_true(k.factor[1][5 * 3 + r] != 0);
    }
    ktensor_free(&k);
    options.problem.rank = 1;
    result = run_random(&x, &options, 1, &als, &k);
    assert_true(fabs(result.fit) < 1e-12);
    ktensor_free(&k);
    coo_free(&x);
}

/* Values and weights may be far from 1: the fit is that of the same counts. */
static void test_scale(void **state)
{
    use_ranks(state);
    const struct cpals_options als = {.max_iterations = 10};
    const struct backend_options options = options_of(3, SOLVER_NEWTON);
    static const uint64_t dims[] = {8, 9, 7};
    struct ktensor k;
    struct coo x;
    double fit[3];
    for (int i = 0; i < 3; i++) {
        naive_random_coo(&x, SHAPE(3, dims), 150, 3, 0);
        make_counts(&x, 5);
        for (uint64_t e = 0; e < x.nnz; e++)
            x.value[e] = ldexp(x.value[e], 400 * (i - 1));
        fit[i] = run_random(&x, &options, 2, &als, &k).fit;
        ktensor_free(&k);
        coo_free(&x);
    }
    assert_true(fabs(fit[0] - fit[1]) < 1e-11 && fabs(fit[2] - fit[1]) < 1e-11);
}

/* Ones are not scaled, however many there are: a tensor of values that large would be. */
static void test_ones_are_not_scaled(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {4, 4, 4, 4, 4, 4, 4, 4};
    struct backend_options options = options_of(2, SOLVER_NEWTON);
    struct coo x;
    naive_random_coo(&x, SHAPE(8, dims), 10000, 3, 0);
    make_binary(&x, &options, 1);
    for (uint64_t i = 2; i < x.nnz; i++)
        x.value[i] = 1;
    options.problem.precision = POLICY_SINGLE;
    assert_true(value_scale_needed((double)x.nnz, 8, PRECISION_SINGLE));
    compare(&x, &options);
    coo_free(&x);
}

static void test_refused(void **state)
{
    use_ranks(state);
    const struct cpals_options als = {.max_iterations = 2};
    const struct backend_options options = options_of(2, SOLVER_NEWTON);
    static const uint64_t dims[] = {12, 9, 15};
    struct error error = {0};
    struct cpals_result result;
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 300, 3, 0);
    make_counts(&x, 5);
    x.value[70] = x.value[200] = -3;
    assert_int_equal(ktensor_create(&k, &x.shape, 2, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "2 values are negative; --loss poisson is for counts"));
    ktensor_free(&k);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    use_ranks(state);
    const struct backend_options options = options_of(3, SOLVER_NEWTON);
    const struct cpals_options als = {.max_iterations = 2};
    static const uint64_t dims[] = {12, 9, 15};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 300, 3, 0);
    make_counts(&x, 5);
    assert_true(fail_every_allocation(&x, &options, &als) > 20);
    coo_free(&x);
}

static void test_streamed(void **state)
{
    use_ranks(state);
    static const uint64_t ranks[] = {3, 8, 12, 32, 48, 64};
    for (int c = 0; c < STREAMED_CASES; c++)
        for (int i = 0; i < 6; i++) {
            struct coo x;
            struct backend_options options = options_of(ranks[(c + i) % 6], (enum solver)(i % 2));
            options.problem.unlisted = (struct unlisted){.weighed = i >= 2, .weight = i % 3 * .1};
            options.problem.inner = i % 2 * (1 + i / 2); /* 1, 2 or 3 multiplicative steps */
            make_streamed_case(&x, c);
            make_counts(&x, (uint64_t)i);
            for (uint64_t e = 0; i >= 3 && e < x.nnz; e += 5)
                x.value[e] = COO_UNKNOWN;
            assert_streams_alike(&x, &options, 1e-8);
            coo_free(&x);
        }
}

/* A run that ends while unlisted entries fade tells the deviance of the problem. */
static void test_ends_fading(void **state)
{
    use_ranks(state);
    static const uint64_t dims[] = {9, 8, 7};
    static const double weights[] = {0, .05};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 150, 5, 0);
    make_counts(&x, 3);
    for (int c = 0; c < 4; c++) {
        struct backend_options options = options_of(2, c < 2 ? SOLVER_NEWTON : SOLVER_MU);
        const struct cpals_options als = {.max_iterations = 3};
        struct ktensor k;
        options.problem.unlisted =
            (struct unlisted){.weighed = true, .weight = weights[c % 2], .fade = .8};
        const struct cpals_result result = run_random(&x, &options, 4, &als, &k);
        struct naive_rows m = rows_of(&k);
        const double expected =
            2 * (double)naive_poisson_deviance(&m, &x, weights[c % 2], POISSON_COUNTS);
        if (!(fabs(result.deviance / expected - 1) < 1e-10))
            fail_msg("case %d: deviance %.15g, expected %.15g", c, result.deviance, expected);
        assert_true(isnan(result.violation));
        naive_rows_free(&m);
        ktensor_free(&k);
    }
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_RANKS(test_reference),
                                       ON_RANKS(test_oracle),
                                       ON_RANKS_OF(test_oracle, backend_host, 7),
                                       ON_RANKS(test_margins),
                                       ON_RANKS(test_monotone),
                                       ON_RANKS(test_monotone_short_rows),
                                       ON_RANKS_OF(test_dense, backend_host, 1),
                                       ON_RANKS_OF(test_dense, backend_host, 2),
                                       ON_RANKS_OF(test_dense, backend_host, 4),
                                       ON_RANKS_OF(test_dense, backend_cuda, 1),
                                       ON_RANKS_OF(test_dense, backend_cuda, 4),
                                       ON_RANKS(test_optimum),
                                       ON_RANKS(test_momentum_of_mu),
                                       ON_RANKS(test_zeros),
                                       ON_RANKS(test_scale),
                                       ON_RANKS(test_ones_are_not_scaled),
                                       ON_RANKS(test_refused),
                                       ON_RANKS(test_ends_fading),
                                       ON_FLOW(test_reference, IN_BATCHES),
                                       ON_FLOW(test_oracle, IN_MANY_BATCHES),
                                       ON_FLOW(test_oracle, IN_PART),
                                       ON_FLOW(test_margins, IN_BATCHES),
                                       ON_FLOW(test_monotone, IN_BATCHES),
                                       ON_FLOW(test_zeros, IN_MANY_BATCHES),
                                       ON_FLOW(test_scale, IN_BATCHES),
                                       ON_FLOW(test_streamed, IN_BATCHES),
                                       ON_RANKS_OF(test_failing_allocations, backend_cuda, 2),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 1),
                                       ON_RANKS_OF(test_failing_allocations, backend_host, 3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
