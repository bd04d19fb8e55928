/* ALS on several ranks: every way to arrange them gives the fits of one rank, iteration by
 * iteration; a rank that fails ends all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "als/cpals_ranks.h"
#include "base/memory.h"
#include "support/backends.h"
#include "tensor/coo_census.h"

static const int sizes[] = {1, 2, 3, 4, 7};
static const int devices[] = {0, 1, 2, 3, 4, 5, 6};

/* Whether the kind can work in so many ranks here: each needs a device of its own. */
static bool has_room(const struct backend_kind *kind, int ranks)
{
    struct error error = {0};
    int count = ranks;
    if (kind->devices)
        assert_int_equal(kind->devices(&count, &error), STATUS_OK);
    return ranks <= count;
}

/* The largest of these numbers of ranks that there is room for. */
static int most_ranks(const struct backend_kind *kind, int wanted)
{
    while (!has_room(kind, wanted))
        wanted--;
    return wanted;
}

static void make_grid(struct process_grid *g, const struct coo *x, int ranks, const int *parts)
{
    struct error error = {0};
    struct coo_census census;
    struct grid_request q = {.ranks = ranks,
                             .row_bytes = 64,
                             .seconds_per_nonzero = 1e-9,
                             .bytes_per_second = 1e9,
                             .seconds_per_collective = 1e-6};
    if (parts)
        memcpy(q.parts, parts, (size_t)x->shape.order * sizeof *parts);
    assert_int_equal(coo_census(x, 1000, &census, &error), STATUS_OK);
    if (process_grid_choose(g, NULL, &q, &x->shape, x->nnz, census.count, &census.sample, &error) !=
        STATUS_OK)
        fail_msg("%s", error.message);
    coo_census_free(&census);
}

static struct cpals_result run_alone(const struct backend_kind *kind, const struct coo *x,
                                     struct ktensor *k, const struct backend_options *options,
                                     const struct cpals_options *als)
{
    struct error error = {0};
    struct backend b;
    struct cpals_result result;
    assert_int_equal(backend_open(&b, kind, x, options, NULL, NULL, &error), STATUS_OK);
    assert_int_equal(cpals_run(&b, k, als, NULL, &result, &error), STATUS_OK);
    backend_close(&b);
    return result;
}

static struct cpals_result run_ranks(const struct backend_kind *kind, const struct coo *x,
                                     const struct process_grid *g, struct ktensor *k,
                                     const struct backend_options *options,
                                     const struct cpals_options *als)
{
    struct error error = {0};
    struct cpals_result result;
    if (cpals_run_ranks(x, g, kind, options, devices, k, als, NULL, &result, &error) != STATUS_OK)
        fail_msg("%d ranks: %s", g->ranks, error.message);
    return result;
}

/* The same fits on this grid as on one rank, for each number of iterations, and a model that has
 * the fit. */
static void check_grid(const struct backend_kind *kind, const struct coo *x,
                       const struct process_grid *g, const struct backend_options *options,
                       int iterations)
{
    for (int i = 1; i <= iterations; i++) {
        struct ktensor alone, together;
        const struct cpals_options als = {.max_iterations = i};
        create_model(&alone, x, options->rank, 5);
        create_model(&together, x, options->rank, 5);
        struct cpals_result a = run_alone(kind, x, &alone, options, &als);
        struct cpals_result t = run_ranks(kind, x, g, &together, options, &als);
        assert_int_equal(t.iterations, i);
        double squares = (1 - a.fit) * (1 - a.fit) - (1 - t.fit) * (1 - t.fit);
        bool is_exact = a.fit > 1 - 1e-6; /* then a residual's root is all rounding */
        if (!(is_exact ? fabs(squares) < 1e-15 : fabs(a.fit - t.fit) < 1e-10))
            fail_msg("%d ranks, iteration %d: fit %.15f, expected %.15f", g->ranks, i, t.fit,
                     a.fit);
        long double residual = 1 - naive_fit(x, &together), said = 1 - t.fit;
        assert_true(fabsl(residual * residual - said * said) < 1e-13L);
        ktensor_free(&alone);
        ktensor_free(&together);
    }
}

/* Every way to write the ranks as a product: also those that cut a short mode into more ranges than
 * it has rows, and leave ranks without nonzeros. */
static void test_every_grid(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {
        {1, {300}, 200, 0},   {2, {40, 45}, 500, 1},         {3, {60, 1, 90}, 2000, 1},
        {3, {2, 3, 2}, 6, 0}, {4, {17, 5, 90, 33}, 2500, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct tensor_case *t = &cases[c];
        const struct backend_options options = {.rank = t->order == 1 ? 1 : 3};
        struct coo x;
        naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && has_room(kind, sizes[s]); s++) {
            int parts[MAX_ORDER] = {0};
            while (process_grid_next(parts, t->order, sizes[s])) {
                struct process_grid g;
                make_grid(&g, &x, sizes[s], parts);
                check_grid(kind, &x, &g, &options, 2);
                process_grid_free(&g);
            }
        }
        coo_free(&x);
    }
}

/* More iterations, on the chosen grid, with every conflict resolution, threads and ridge. */
static void test_iterations(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {70, 50, 400}}, 9000, 2, 1);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && has_room(kind, sizes[s]); s++)
        for (size_t c = 0; c < sizeof conflicts / sizeof *conflicts; c++) {
            struct process_grid g;
            const struct backend_options options = {
                .rank = 5, .conflict = conflicts[c], .ridge = c == 1 ? 0.5 : 0};
            omp_set_num_threads(1 + (int)(c % 3));
            make_grid(&g, &x, sizes[s], NULL);
            check_grid(kind, &x, &g, &options, c == 0 ? 8 : 3);
            process_grid_free(&g);
        }
    coo_free(&x);
}

/* Factors that are large enough for scales to be kept beside them, which every rank must decide
 * alike, whatever its share of the rows. */
static void test_long_modes(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    const struct backend_options options = {.rank = 8};
    naive_random_coo(&x, &(struct shape){3, {700, 520, 3000}}, 20000, 4, 0);
    for (int ranks = 2; ranks <= most_ranks(kind, 4); ranks++) {
        struct process_grid g;
        make_grid(&g, &x, ranks, NULL);
        check_grid(kind, &x, &g, &options, 4);
        process_grid_free(&g);
        make_grid(&g, &x, ranks, (int[]){ranks, 1, 1});
        check_grid(kind, &x, &g, &options, 4);
        process_grid_free(&g);
    }
    coo_free(&x);
}

static void test_stops(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    struct process_grid g;
    struct ktensor k;
    const struct backend_options options = {.rank = 3};
    static const volatile sig_atomic_t now = SIGTERM;
    naive_random_coo(&x, &(struct shape){3, {30, 40, 50}}, 5000, 1, 0);
    make_grid(&g, &x, most_ranks(kind, 4), NULL);
    create_model(&k, &x, 3, 1);
    struct cpals_result r =
        run_ranks(kind, &x, &g, &k, &options,
                  &(struct cpals_options){.max_iterations = 500, .tolerance = 1e-3});
    assert_true(r.stop == CPALS_CONVERGED && r.iterations < 500);
    r = run_ranks(kind, &x, &g, &k, &options,
                  &(struct cpals_options){.max_iterations = 500, .interrupted = &now});
    assert_true(r.stop == CPALS_INTERRUPTED && r.iterations == 1);
    ktensor_free(&k);
    process_grid_free(&g);
    coo_free(&x);
}

/* What is wrong in one rank's part ends all with its reason. */
static void test_one_part_is_bad(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    struct process_grid g;
    struct ktensor k;
    struct cpals_result result;
    const struct backend_options options = {.rank = 2};
    const struct cpals_options als = {.max_iterations = 5};
    naive_random_coo(&x, &(struct shape){3, {30, 40, 50}}, 5000, 1, 0);
    int ranks = most_ranks(kind, 3);
    make_grid(&g, &x, ranks, (int[]){1, 1, ranks});
    create_model(&k, &x, 2, 1);
    k.factor[2][2 * 49] = INFINITY; /* a row of the last rank */
    assert_int_equal(
        cpals_run_ranks(&x, &g, kind, &options, devices, &k, &als, NULL, &result, &error),
        STATUS_NUMERICAL);
    assert_non_null(strstr(error.message, "iteration 1: mode "));
    ktensor_free(&k);
    process_grid_free(&g);
    coo_free(&x);
}

/* Whichever rank finds no memory, and wherever: all end, none waits for ever. */
static void test_failing_allocations(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    struct process_grid g;
    int failures = 0;
    const struct backend_options options = {.rank = 2, .host_memory = 1 << 28};
    const struct cpals_options als = {.max_iterations = 2};
    naive_random_coo(&x, &(struct shape){3, {10, 12, 14}}, 300, 1, 0);
    make_grid(&g, &x, most_ranks(kind, 3), NULL);
    const long step = kind->devices ? 23 : 1; /* several GPUs take long to meet */
    for (long i = 0, fired = 1; fired; i += step) {
        struct error error = {0};
        struct ktensor k;
        struct cpals_result result;
        create_model(&k, &x, 2, 1);
        memory_hook_set(i);
        enum status status =
            cpals_run_ranks(&x, &g, kind, &options, devices, &k, &als, NULL, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        ktensor_free(&k);
    }
    assert_true(failures * step > 100);
    process_grid_free(&g);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_every_grid), ON_ALL(test_iterations),      ON_ALL(test_long_modes),
        ON_ALL(test_stops),      ON_ALL(test_one_part_is_bad), ON_ALL(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
