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

#include "support/scratch.h"

#include "base/memory.h"
#include "support/blco_files.h"
#include "support/rank_runs.h"

/* Runs the ranks of t; a failure fails the test. The caller frees t->model. */
static void run_ranks(struct together *t, int ranks)
{
    struct error error = {0};
    if (run_together(t, ranks, &error) != STATUS_OK)
        fail_msg("%d ranks: %s", ranks, error.message);
}

/* After each iteration the same fit on this grid as on one rank, and a model that has the last one.
 * `path` is the file that has x, or NULL. */
static void check_source(const struct backend_kind *kind, const struct coo *x, const char *path,
                         int ranks, const int *parts, const struct backend_options *options,
                         int iterations)
{
    struct ktensor alone, start;
    struct fit_trace one = {0}, several = {0};
    struct cpals_options als = {.max_iterations = iterations, .trace = &one};
    struct error error = {0};
    struct cpals_result a;
    create_model(&alone, x, options->problem.rank, 5);
    create_model(&start, x, options->problem.rank, 5);
    assert_int_equal(run_alone(kind, x, &alone, options, &als, &a, &error), STATUS_OK);
    als.trace = &several;
    struct together t = make_together(kind, x, parts, options, &start, &als);
    t.request.path = path;
    run_ranks(&t, ranks);
    assert_int_equal(t.result.iterations, iterations);
    assert_true(one.count == (size_t)iterations && several.count == one.count);
    for (int i = 0; i < iterations; i++) {
        double fit = several.fit[i], said = 1 - fit, expected = 1 - one.fit[i];
        bool is_exact = one.fit[i] > 1 - 1e-6; /* then a residual's root is all rounding */
        if (!(is_exact ? fabs(expected * expected - said * said) < 1e-15
                       : fabs(expected - said) < 1e-10))
            fail_msg("%d ranks, iteration %d: fit %.15f, expected %.15f", ranks, i + 1, fit,
                     one.fit[i]);
    }
    long double residual = 1 - naive_fit(x, &t.model), said = 1 - t.result.fit;
    assert_true(fabsl(residual * residual - said * said) < 1e-13L);
    fit_trace_free(&one);
    fit_trace_free(&several);
    ktensor_free(&alone);
    ktensor_free(&start);
    ktensor_free(&t.model);
}

static void check_grid(const struct backend_kind *kind, const struct coo *x, int ranks,
                       const int *parts, const struct backend_options *options, int iterations)
{
    check_source(kind, x, NULL, ranks, parts, options, iterations);
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
        const struct backend_options options = {.problem.rank = t->order == 1 ? 1 : 3};
        struct coo x;
        naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
        for (size_t s = 0; s < RANK_COUNTS && has_room(kind, rank_counts[s]); s++) {
            int parts[MAX_ORDER] = {0};
            while (process_grid_next(parts, t->order, rank_counts[s])) {
                check_grid(kind, &x, rank_counts[s], parts, &options, 2);
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
    for (size_t s = 0; s < RANK_COUNTS && has_room(kind, rank_counts[s]); s++)
        for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++) {
            const struct backend_options options = {
                .problem.rank = 5, .conflict = c, .problem.rules = same_ridge(c == 1 ? 0.5 : 0)};
            omp_set_num_threads(1 + (int)(c % 3));
            check_grid(kind, &x, rank_counts[s], NULL, &options, c == 0 ? 8 : 3);
        }
    coo_free(&x);
}

/* Factor matrices so large that scales are stored apart from them, which every rank must decide
 * alike, whatever its share of the rows. */
static void test_long_modes(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    const struct backend_options options = {.problem.rank = 8};
    naive_random_coo(&x, &(struct shape){3, {700, 520, 3000}}, 20000, 4, 0);
    for (int ranks = 2; ranks <= most_ranks(kind, 4); ranks++) {
        check_grid(kind, &x, ranks, NULL, &options, 4);
        check_grid(kind, &x, ranks, (int[]){ranks, 1, 1}, &options, 4);
    }
    coo_free(&x);
}

/* Parts taken from a .blco file: with lines of one word, all of whose bits may count, and of two,
 * with rows that one rank alone touches, with several segments, and with ranks that have no
 * nonzeros. Modes are no longer than that takes: each rank has all rows of all modes here, and the
 * oracle. */
static void test_from_a_file(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {
        {3, {700, 520, 3000}, 200000, 0},
        {3, {60, 1, 90}, 2000, 1},
        {5, {5000, 8000, 4100, 7000, 3000}, 900, 0},
        {5, {9000, 8200, 8200, 9000, 20000}, 900, 0},
        {4, {40, 30, 20000, 25}, 3000, 1},
        {2, {1, 50}, 40, 0},
    };
    assert_int_equal(scratch_make(NULL), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct tensor_case *t = &cases[c];
        const struct backend_options options = {.problem.rank = 4};
        struct external_sort_report report;
        struct error error;
        struct coo x;
        naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
        assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
        for (size_t s = 0; s < RANK_COUNTS && has_room(kind, rank_counts[s]); s++) {
            int first[MAX_ORDER] = {rank_counts[s], 1, 1, 1, 1};
            check_source(kind, &x, scratch_path("x.blco"), rank_counts[s], NULL, &options, 2);
            check_source(kind, &x, scratch_path("x.blco"), rank_counts[s], first, &options, 2);
        }
        coo_free(&x);
    }
    scratch_remove(NULL);
}

/* Damage that only the rank of the last rows reads ends all with the file's name. */
static void test_a_damaged_file(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct external_sort_report report;
    struct error error;
    struct coo x;
    struct ktensor start;
    size_t size;
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = 2};
    assert_int_equal(scratch_make(NULL), 0);
    naive_random_coo(&x, &(struct shape){3, {300, 400, 500}}, 300000, 1, 0);
    create_model(&start, &x, 2, 1);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    bytes[segment_of(bytes)[4].offset + 9000] ^= 1;
    int ranks = most_ranks(kind, 3);
    struct together t = make_together(kind, &x, (int[]){1, 1, ranks}, &options, &start, &als);
    t.request.path = scratch_file("bad.blco", bytes, size);
    assert_int_equal(run_together(&t, ranks, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "bad.blco: damaged: "));
    free(bytes);
    ktensor_free(&start);
    coo_free(&x);
    scratch_remove(NULL);
}

/* To rounding. */
static void assert_same(const struct ktensor *a, const struct ktensor *b)
{
    assert_true(shape_equal(&a->shape, &b->shape));
    for (uint64_t r = 0; r < a->rank; r++)
        assert_true(fabs(a->lambda[r] - b->lambda[r]) <= 1e-12 * b->lambda[0]);
    for (int n = 0; n < a->shape.order; n++)
        for (uint64_t i = 0; i < a->shape.dims[n] * a->rank; i++)
            assert_true(fabs(a->factor[n][i] - b->factor[n][i]) <= 1e-12);
}

/* The model that stays spread over the ranks is the model that comes together. */
static void test_spread(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {{3, {600, 1, 90}, 2000, 1}, {3, {2, 30, 4}, 60, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct coo x;
        struct ktensor start;
        const struct backend_options options = {.problem.rank = 3};
        const struct cpals_options als = {.max_iterations = 3};
        naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                         cases[c].skewed);
        create_model(&start, &x, 3, 1);
        for (size_t s = 0;
             s < sizeof rank_counts / sizeof *rank_counts && has_room(kind, rank_counts[s]); s++) {
            struct together t = make_together(kind, &x, NULL, &options, &start, &als);
            run_ranks(&t, rank_counts[s]);
            struct ktensor together = t.model;
            t.d.spread = true;
            run_ranks(&t, rank_counts[s]);
            assert_same(&t.model, &together);
            ktensor_free(&together);
            ktensor_free(&t.model);
        }
        ktensor_free(&start);
        coo_free(&x);
    }
}

static void test_stops(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    struct ktensor start;
    const struct backend_options options = {.problem.rank = 3};
    static const volatile sig_atomic_t now = SIGTERM;
    naive_random_coo(&x, &(struct shape){3, {30, 40, 50}}, 5000, 1, 0);
    create_model(&start, &x, 3, 1);
    struct cpals_options als = {.max_iterations = 500, .tolerance = 1e-3};
    struct together t = make_together(kind, &x, NULL, &options, &start, &als);
    run_ranks(&t, most_ranks(kind, 4));
    assert_true(t.result.stop == CPALS_CONVERGED && t.result.iterations < 500);
    ktensor_free(&t.model);
    t.d.als = (struct cpals_options){.max_iterations = 500, .interrupted = &now};
    run_ranks(&t, most_ranks(kind, 4));
    assert_true(t.result.stop == CPALS_INTERRUPTED && t.result.iterations == 1);
    assert_int_equal(t.result.interrupted, SIGTERM);
    ktensor_free(&t.model);
    ktensor_free(&start);
    coo_free(&x);
}

/* What is wrong in one rank's part ends all with its reason. */
static void test_one_part_is_bad(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    struct ktensor start;
    const struct backend_options options = {.problem.rank = 2};
    const struct cpals_options als = {.max_iterations = 5};
    naive_random_coo(&x, &(struct shape){3, {30, 40, 50}}, 5000, 1, 0);
    create_model(&start, &x, 2, 1);
    start.factor[2][2 * 49] = INFINITY; /* a row of the last rank */
    int ranks = most_ranks(kind, 3);
    struct together t = make_together(kind, &x, (int[]){1, 1, ranks}, &options, &start, &als);
    assert_int_equal(run_together(&t, ranks, &error), STATUS_NUMERICAL);
    assert_non_null(strstr(error.message, "iteration 1: mode "));
    ktensor_free(&t.model);
    ktensor_free(&start);
    coo_free(&x);
}

/* Parts that do not fit into memory, of all ranks or only of that with the most rows: all ranks
 * end, and the reason is returned. */
static void test_a_part_does_not_fit(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    struct ktensor start;
    const struct cpals_options als = {.max_iterations = 1};
    int all = 0, some = 0;
    enum status status = STATUS_MEMORY;
    naive_random_coo(&x, &(struct shape){3, {2000, 5, 6}}, 3000, 1, 1);
    create_model(&start, &x, 2, 1);
    for (uint64_t bytes = 1000; status == STATUS_MEMORY; bytes += bytes / 20) {
        struct error error = {0};
        const struct backend_options options = {.problem.rank = 2, .host_memory = bytes};
        struct together t = make_together(kind, &x, (int[]){3, 1, 1}, &options, &start, &als);
        status = run_together(&t, 3, &error);
        ktensor_free(&t.model);
        if (status == STATUS_OK)
            break;
        assert_int_equal(status, STATUS_MEMORY);
        assert_non_null(strstr(error.message, "backend host, rank 2: "));
        bool has_prefix = strncmp(error.message, "rank ", 5) == 0;
        all += !has_prefix;
        some += has_prefix;
    }
    assert_int_equal(status, STATUS_OK);
    assert_true(all > 0 && some > 0);
    ktensor_free(&start);
    coo_free(&x);
}

/* Whichever rank finds no memory, and wherever: all end, none waits for ever. */
static void fail_allocations(const struct backend_kind *kind, bool spread, const char *path)
{
    struct coo x;
    struct ktensor start;
    int failures = 0;
    const struct backend_options options = {.problem.rank = 2, .host_memory = 1 << 28};
    const struct cpals_options als = {.max_iterations = 2};
    const long step = kind->devices ? 23 : ALLOCATION_STEP; /* several GPUs take long to meet */
    naive_random_coo(&x, &(struct shape){3, {10, 12, 14}}, 300, 1, 0);
    create_model(&start, &x, 2, 1);
    if (path) {
        struct error error;
        struct external_sort_report report;
        assert_int_equal(write_blco(&x, path, &report, &error), STATUS_OK);
    }
    for (long i = 0, fired = 1; fired; i += step) {
        struct error error = {0};
        struct together t = make_together(kind, &x, NULL, &options, &start, &als);
        t.d.spread = spread;
        t.request.path = path;
        memory_hook_set(i);
        enum status status = run_together(&t, most_ranks(kind, 3), &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        /* Where a device has no room for the whole plan, less is built. */
        bool makes_do = kind->devices && fired && status == STATUS_OK;
        if (!makes_do && status != (fired ? STATUS_MEMORY : STATUS_OK))
            fail_msg("allocation %ld%s: status %d: %s", i, fired ? " fails" : "", (int)status,
                     error.message);
        failures += (int)fired;
        ktensor_free(&t.model);
    }
    assert_true(failures * step > 100);
    ktensor_free(&start);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    fail_allocations(backend_of(state), false, NULL);
    fail_allocations(backend_of(state), true, NULL);
    assert_int_equal(scratch_make(NULL), 0);
    fail_allocations(backend_of(state), false, scratch_path("x.blco"));
    scratch_remove(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_every_grid),
        ON_ALL(test_iterations),
        ON_ALL(test_long_modes),
        ON_ALL(test_stops),
        ON_ALL(test_from_a_file),
        ON_ALL(test_a_damaged_file),
        ON_ALL(test_spread),
        ON_ALL(test_one_part_is_bad),
        ON_ALL(test_failing_allocations),
        ON(test_a_part_does_not_fit, backend_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
