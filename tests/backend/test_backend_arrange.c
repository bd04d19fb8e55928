/* A random start that the backend makes has the host's bits, and a model that leaves the backend
 * arranged is the one that the host arranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "problem/initial_guess.h"
#include "support/backends.h"

static const uint64_t tested_ranks[] = {1, 2, 5, 8, 33, 130};
#define TESTED_RANKS (sizeof tested_ranks / sizeof *tested_ranks)

static void must(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        fail_msg("%s", error->message);
}

static struct ktensor make_room(const struct shape *shape, uint64_t rank)
{
    struct error error = {0};
    struct ktensor k;
    must(ktensor_create(&k, shape, rank, &error), &error);
    for (int n = 0; n < shape->order; n++)
        for (uint64_t i = 0; i < shape->dims[n] * rank; i++)
            k.factor[n][i] = NAN;
    return k;
}

static void open_options(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options)
{
    struct error error = {0};
    must(backend_open(b, kind, x, options, NULL, &error), &error);
}

/* The power of two that is no more than the norm of x times 2^-exponent, and more than half of it,
 * times 2^exponent. */
static double weight_of_start(const struct coo *x, int exponent)
{
    double sum = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        sum += ldexp(x->value[i], -exponent) * ldexp(x->value[i], -exponent);
    return ldexp(1, ilogb(sqrt(sum)) + exponent);
}

/* The start as the host makes it, and as the precision rounds it; the weights are those of a start
 * of the tensor x = 2^exponent times one whose norm is near 1. */
static struct ktensor expected_start(const struct coo *x, const struct backend_options *options,
                                     enum ktensor_init init, uint64_t seed, int exponent)
{
    struct ktensor k = make_room(&x->shape, options->problem.rank);
    const struct initial_guess guess = {
        .kind = init == KTENSOR_NORMAL ? GUESS_NORMAL : GUESS_RANDOM, .seed = seed};
    initial_guess_fill(&k, &x->shape, &guess, options->problem.rules.nonneg);
    for (uint64_t r = 0; r < k.rank; r++)
        k.lambda[r] = weight_of_start(x, exponent);
    for (int n = 0; n < k.shape.order && options->problem.precision == POLICY_SINGLE; n++)
        for (uint64_t i = 0; i < k.shape.dims[n] * k.rank; i++)
            k.factor[n][i] = (float)k.factor[n][i];
    return k;
}

static void check_start(const struct backend_kind *kind, const struct coo *x,
                        const struct backend_options *options, enum ktensor_init init,
                        uint64_t seed)
{
    struct error error = {0};
    struct backend b;
    struct ktensor expected = expected_start(x, options, init, seed, 0);
    struct ktensor found = make_room(&x->shape, options->problem.rank);
    open_options(&b, kind, x, options);
    must(backend_randomise(&b, init, seed, &error), &error);
    must(backend_store(&b, &found, &error), &error);
    assert_memory_equal(found.lambda, expected.lambda, options->problem.rank * sizeof(double));
    for (int n = 0; n < found.shape.order; n++)
        assert_memory_equal(found.factor[n], expected.factor[n],
                            found.shape.dims[n] * options->problem.rank * sizeof(double));
    backend_close(&b);
    ktensor_free(&expected);
    ktensor_free(&found);
}

static void test_start(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){4, {70, 1, 900, 3}}, 1500, 1, 0);
    for (size_t r = 0; r < TESTED_RANKS; r++)
        for (enum ktensor_init init = KTENSOR_RANDOM; init <= KTENSOR_NORMAL; init++)
            for (int rules = 0; rules < 2; rules++) {
                struct backend_options options = {.problem.rank = tested_ranks[r]};
                options.problem.rules.nonneg[2] = rules == 1;
                check_start(kind, &x, &options, init, 1 + r);
                options.problem.precision = POLICY_SINGLE;
                check_start(kind, &x, &options, init, UINT64_MAX - r);
            }
    coo_free(&x);
}

/* A start after another one, and one of a tensor whose values are scaled. */
static void test_start_again(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    struct backend b;
    const struct backend_options options = {.problem.rank = 3};
    naive_random_coo(&x, &(struct shape){3, {20, 30, 40}}, 900, 1, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = ldexp(x.value[i], 900);
    open_options(&b, kind, &x, &options);
    struct ktensor found = make_room(&x.shape, 3);
    for (uint64_t seed = 4; seed < 6; seed++) {
        struct backend_fit fit;
        struct ktensor expected = expected_start(&x, &options, KTENSOR_RANDOM, seed, 900);
        must(backend_randomise(&b, KTENSOR_RANDOM, seed, &error), &error);
        must(backend_store(&b, &found, &error), &error);
        for (int n = 0; n < 3; n++) {
            assert_memory_equal(found.factor[n], expected.factor[n],
                                x.shape.dims[n] * 3 * sizeof(double));
            must(backend_mttkrp(&b, n, &error), &error);
            must(backend_update(&b, n, &error), &error);
        }
        assert_memory_equal(found.lambda, expected.lambda, 3 * sizeof(double));
        must(backend_fit(&b, 2, NULL, &fit, &error), &error);
        ktensor_free(&expected);
    }
    backend_close(&b);
    ktensor_free(&found);
    coo_free(&x);
}

/* To the last digits; on the host to the bit, unless it measures the rows in pieces. */
static void assert_same(const struct backend_kind *kind, const struct ktensor *found,
                        const struct ktensor *expected)
{
    bool whole = shape_longest(&found->shape) * found->rank <= UINT64_C(1) << 20;
    double most = kind == &backend_host && whole ? 0 : 5e-14; /* sums in another order */
    for (uint64_t r = 0; r < expected->rank; r++)
        if (!(fabs(found->lambda[r] - expected->lambda[r]) <= most * expected->lambda[r]))
            fail_msg("lambda %d: %.17g, expected %.17g", (int)r, found->lambda[r],
                     expected->lambda[r]);
    for (int n = 0; n < expected->shape.order; n++)
        for (uint64_t i = 0; i < expected->shape.dims[n] * expected->rank; i++) {
            double x = found->factor[n][i], y = expected->factor[n][i];
            if (!(fabs(x - y) <= most * fabs(y)))
                fail_msg("mode %d, entry %d: %.17g, expected %.17g", n + 1, (int)i, x, y);
        }
}

/* The model of b, arranged on both ways. */
static void check_arranged(struct backend *b, const struct coo *x)
{
    struct error error = {0};
    struct ktensor expected = make_room(&x->shape, b->plan.request.rank);
    struct ktensor found = make_room(&x->shape, b->plan.request.rank);
    must(backend_store(b, &expected, &error), &error);
    memcpy(expected.nonneg, b->options.problem.rules.nonneg, sizeof expected.nonneg);
    memcpy(expected.fixed, b->options.problem.rules.fixed, sizeof expected.fixed);
    must(ktensor_arrange(&expected, &error), &error);
    must(backend_store_arranged(b, &found, false, &error), &error);
    assert_same(b->kind, &found, &expected);
    assert_memory_equal(found.nonneg, expected.nonneg, sizeof found.nonneg);
    assert_memory_equal(found.fixed, expected.fixed, sizeof found.fixed);
    ktensor_free(&expected);
    ktensor_free(&found);
}

static void sweep(struct backend *b)
{
    struct error error = {0};
    struct backend_fit fit;
    for (int n = 0; n < b->order; n++) {
        if (b->options.problem.rules.fixed[n])
            continue;
        must(backend_mttkrp(b, n, &error), &error);
        must(backend_update(b, n, &error), &error);
    }
    must(backend_fit(b, mode_rules_last(&b->options.problem.rules, b->order), NULL, &fit, &error),
         &error);
}

enum tested_rules { NO_RULES, NONNEG_MODES, FIXED_MODE, TESTED_RULES };

/* After a sweep the backend goes on as if nothing had been stored. */
static void check_sweeps(const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options)
{
    struct error error = {0};
    struct backend b;
    open_options(&b, kind, x, options);
    must(backend_randomise(&b, KTENSOR_NORMAL, 3, &error), &error);
    check_arranged(&b, x);
    for (int i = 0; i < 2; i++) {
        sweep(&b);
        check_arranged(&b, x);
    }
    backend_close(&b);
}

static void test_sweeps(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {70, 2000, 9}}, 6000, 1, 1);
    for (size_t r = 0; r < TESTED_RANKS; r++)
        for (enum tested_rules rules = NO_RULES; rules < TESTED_RULES; rules++) {
            struct backend_options options = {.problem.rank = tested_ranks[r]};
            options.problem.rules.nonneg[0] = options.problem.rules.nonneg[1] =
                rules == NONNEG_MODES;
            options.problem.rules.fixed[1] = rules == FIXED_MODE;
            options.problem.rules.ridge[0] = options.problem.rules.ridge[1] =
                options.problem.rules.ridge[2] = 1e-3;
            check_sweeps(kind, &x, &options);
            options.problem.precision = POLICY_SINGLE;
            check_sweeps(kind, &x, &options);
        }
    coo_free(&x);
}

/* Columns of which no plain sum of squares is a number, zero columns, entries of equal magnitude,
 * whose first decides the sign, and weights of either sign. */
static void make_unusual(struct ktensor *k)
{
    static const double size[] = {1, 1e200, 1e-200, 0, 1};
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            for (uint64_t r = 0; r < k->rank; r++) {
                double *entry = &k->factor[n][i * k->rank + r];
                *entry = r % 5 == 4 ? ((i * 7 + r + (uint64_t)n) % 3 == 0 ? -1 : 1)
                                    : *entry * size[(r + (uint64_t)n) % 5];
            }
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = (r % 2 ? -1 : 1) * (1.0 + (double)(r * 7 % 5));
}

static void check_unusual(const struct backend_kind *kind, const struct coo *x, uint64_t rank)
{
    const struct backend_options options = {.problem.rank = rank};
    struct error error = {0};
    struct backend b;
    struct ktensor k;
    create_model(&k, x, rank, 5);
    make_unusual(&k);
    open_options(&b, kind, x, &options);
    must(backend_load(&b, &k, &error), &error);
    check_arranged(&b, x);
    backend_close(&b);
    ktensor_free(&k);
}

static void test_unusual_columns(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {600, 40, 7}}, 2000, 1, 0);
    for (size_t r = 0; r < TESTED_RANKS; r++)
        check_unusual(kind, &x, tested_ranks[r]);
    coo_free(&x);
}

/* More rows than the host measures at a time. */
static void test_many_rows(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {20000, 4, 3}}, 2000, 1, 0);
    check_unusual(kind, &x, 130);
    coo_free(&x);
}

/* Whichever allocation fails, the error says so, and the next try succeeds. */
static void test_failing_allocations(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    struct backend b;
    const struct backend_options options = {.problem.rank = 4, .problem.rules.nonneg = {true}};
    naive_random_coo(&x, &(struct shape){3, {20, 30, 40}}, 900, 1, 0);
    struct ktensor k = make_room(&x.shape, 4);
    open_options(&b, kind, &x, &options);
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        error = (struct error){0};
        memory_hook_set(i);
        if (backend_randomise(&b, KTENSOR_NORMAL, 3, &error) == STATUS_OK)
            backend_store_arranged(&b, &k, false, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += fired != 0;
    }
    assert_true(failures > 3);
    error = (struct error){0};
    must(backend_randomise(&b, KTENSOR_NORMAL, 3, &error), &error);
    check_arranged(&b, &x);
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_start),     ON_ALL(test_start_again),
                                       ON_ALL(test_sweeps),    ON_ALL(test_unusual_columns),
                                       ON_ALL(test_many_rows), ON_ALL(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
