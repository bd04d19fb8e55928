/* The runs of `blco bench --to-fit`, on every backend, alone and on several ranks: each is the run
 * that blco cpd makes from the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

#include "bench/to_fit.h"
#include "support/blco_files.h"
#include "support/whole_tensors.h"
#include "support/rank_runs.h"

#define STARTS     3
#define SEED       7
#define RANK       4
#define ITERATIONS 20

static const uint64_t dims[] = {40, 6, 25};

static struct to_fit_request make_request(const struct backend_kind *kind)
{
    return (struct to_fit_request){.kind = kind,
                                   .options = {.problem.rank = RANK},
                                   .starts = STARTS,
                                   .seed = SEED,
                                   .iterations = ITERATIONS,
                                   .tolerance = 1e-6,
                                   .repeats = 2};
}

static enum status measure_alone(struct to_fit *t, struct to_fit_request request,
                                 const struct coo *x, struct error *error)
{
    struct whole whole;
    *t = (struct to_fit){0};
    request.tensor = &whole.tensor;
    if (take_whole_of(&whole, x, error) == STATUS_OK)
        to_fit_measure(t, &request, NULL, error);
    close_whole(&whole);
    return error->status;
}

/* The run that ALS makes from a seed. */
static struct cpals_result make_run(const struct backend_kind *kind, const struct coo *x,
                                    const struct way *way, uint64_t seed, struct fit_trace *trace)
{
    struct error error = {0};
    struct ktensor k;
    struct cpals_result result = {0};
    const struct backend_options options =
        way_backend(way, &(struct backend_options){.problem.rank = RANK});
    const struct cpals_options als = way_options(way, ITERATIONS, 1e-6, trace);
    assert_int_equal(ktensor_create(&k, &x->shape, RANK, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, seed);
    assert_int_equal(run_alone(kind, x, &k, &options, &als, &result, &error), STATUS_OK);
    ktensor_free(&k);
    return result;
}

static void check_run(const struct to_fit_run *run, const struct backend_kind *kind,
                      const struct coo *x, const struct way *way, uint64_t seed)
{
    struct fit_trace trace = {0};
    struct cpals_result expected = make_run(kind, x, way, seed, &trace);
    bool repeats = way->precision == POLICY_DOUBLE;
    double near = repeats ? 1e-8 : 1e-3;
    assert_true(run->seed == seed && fabs(run->fit - expected.fit) < near);
    if (repeats) {
        assert_int_equal(run->iterations, expected.iterations);
        assert_int_equal(run->stop, expected.stop);
        for (size_t i = 0; i < trace.count; i++)
            assert_true(fabs(run->trace.fit[i] - trace.fit[i]) < near);
    }
    assert_int_equal(run->trace.count, run->iterations);
    assert_true(run->seconds > 0 && run->seconds == run->trace.seconds[run->iterations - 1]);
    assert_true(run->trace.fit[run->iterations - 1] == run->fit);
    fit_trace_free(&trace);
}

static void check(const struct to_fit *t, const struct backend_kind *kind, const struct coo *x)
{
    assert_int_equal(t->starts, STARTS);
    assert_true(shape_equal(&t->shape, &x->shape) && t->nnz == x->nnz);
    const struct way *way = ways;
    for (int w = 0; w < t->ways; w++, way++) {
        while (!way_possible(way, kind, &(struct backend_options){.problem.rank = RANK}))
            way++;
        assert_ptr_equal(t->way[w].way, way);
        assert_true(t->way[w].open_seconds > 0);
        for (int s = 0; s < STARTS; s++) {
            const struct to_fit_run *run = &t->way[w].run[s];
            check_run(run, kind, x, way, SEED + (uint64_t)s);
            assert_true(t->best[s] >= run->fit);
            assert_true(run->reached[0] <= run->reached[1] || run->reached[1] == 0);
        }
    }
    for (; way->name; way++)
        assert_false(way_possible(way, kind, &(struct backend_options){.problem.rank = RANK}));
    assert_int_equal(t->way[0].summary.worse[0], 0);
}

static void make_tensor(struct coo *x)
{
    naive_random_coo(x, SHAPE(3, dims), 900, 5, 1);
}

static void test_alone(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct coo x;
    struct to_fit t;
    make_tensor(&x);
    if (measure_alone(&t, make_request(kind), &x, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.ranks, 0);
    check(&t, kind, &x);
    to_fit_free(&t);
    coo_free(&x);
}

/* Asserting is the main thread's: ranks only fill in what they find. */
struct job {
    const struct backend_kind *kind;
    const char *path;
    struct to_fit of[MOST_RANKS];
};

static enum status measure_rank(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    const struct tns_options tns = {.index_base = 1};
    const struct rank_request split = {.path = job->path,
                                       .tns = &tns,
                                       .row_bytes = RANK * sizeof(double),
                                       .machine = {.one_host = true, .threads = 1},
                                       .packed = job->kind->takes_parts};
    struct to_fit_request request = make_request(job->kind);
    request.options.device = device_of(job->kind, c->rank);
    struct rank_tensor t;
    TRY(rank_tensor_open(&t, c, &split, NULL, error));
    request.tensor = &t;
    to_fit_measure(&job->of[c->rank], &request, NULL, error);
    rank_tensor_close(&t);
    return error->status;
}

static void free_job(struct job *job)
{
    for (int k = 0; k < MOST_RANKS; k++)
        to_fit_free(&job->of[k]);
}

static void test_ranks(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    assert_int_equal(scratch_make(state), 0);
    make_tensor(&x);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    for (int ranks = 1; ranks <= most_ranks(kind, 3); ranks++) {
        struct job job = {.kind = kind, .path = scratch_path("x.blco")};
        if (comm_run_team(ranks, measure_rank, &job, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(job.of[0].ranks, ranks > 1 ? ranks : 0);
        check(&job.of[0], kind, &x);
        for (int k = 1; k < ranks; k++) /* the same run on all ranks */
            for (int s = 0; s < STARTS; s++)
                assert_true(job.of[k].way[0].run[s].fit == job.of[0].way[0].run[s].fit);
        free_job(&job);
    }
    coo_free(&x);
    assert_int_equal(scratch_remove(state), 0);
}

/* One rank has no such file, which ends all. */
static void test_absent(void **state)
{
    (void)state;
    struct error error = {0};
    struct job job = {.kind = &backend_host, .path = "/absent/x.blco"};
    assert_int_equal(comm_run_team(2, measure_rank, &job, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "/absent/x.blco"));
    free_job(&job);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    struct to_fit_request request = make_request(&backend_host);
    request.starts = request.iterations = 1;
    make_tensor(&x);
    int fired = 1;
    for (long k = 0; fired; k += ALLOCATION_STEP) {
        struct error error = {0};
        struct to_fit t;
        memory_hook_set(k);
        enum status status = measure_alone(&t, request, &x, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        to_fit_free(&t);
        assert_true(status == STATUS_OK || (fired && status == STATUS_MEMORY));
        assert_true(fired || k > 20);
    }
    coo_free(&x);
}

static struct backend_ops counting;
static int calls;

static enum status counting_mttkrp(void *state, int mode, struct error *error)
{
    calls++;
    return backend_host.ops->mttkrp(state, mode, error);
}

/* A short run is made as often as that; what it comes to stays. */
static void test_repeats(void **state)
{
    (void)state;
    struct coo x;
    struct backend_kind kind = backend_host;
    struct to_fit of[3];
    struct error error = {0};
    struct to_fit_request request = make_request(&kind);
    make_tensor(&x);
    counting = *backend_host.ops;
    counting.mttkrp = counting_mttkrp;
    kind.ops = &counting;
    request.tolerance = 0;
    int made[3];
    for (int i = 0; i < 3; i++) {
        request.repeats = 1 + i;
        calls = 0;
        assert_int_equal(measure_alone(&of[i], request, &x, &error), STATUS_OK);
        made[i] = calls;
    }
    assert_int_equal(made[2] - made[1], made[1] - made[0]);
    assert_true(made[1] - made[0] >= of[0].ways * STARTS * ITERATIONS * 3); /* modes */
    for (int s = 0; s < STARTS; s++) {
        const struct to_fit_run *a = &of[0].way[0].run[s], *b = &of[2].way[0].run[s];
        assert_int_equal(b->iterations, ITERATIONS);
        assert_true(b->fit == a->fit);
        for (int i = 1; i < ITERATIONS; i++)
            assert_true(b->trace.seconds[i] >= b->trace.seconds[i - 1]);
    }
    for (int i = 0; i < 3; i++)
        to_fit_free(&of[i]);
    coo_free(&x);
}

/* A tolerance that rounding hides ends no run in single precision. */
static void test_options_of_ways(void **state)
{
    (void)state;
    const struct way single = {"single", .precision = POLICY_SINGLE};
    assert_true(way_options(&ways[0], 5, 1e-9, NULL).tolerance == 1e-9);
    assert_true(way_options(&single, 5, 1e-9, NULL).tolerance == 0);
    assert_true(way_options(&single, 5, 1e-5, NULL).tolerance == 1e-5);
    assert_int_equal(ways[0].precision, POLICY_DOUBLE); /* with which others are compared */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_alone),
        ON_ALL(test_ranks),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_options_of_ways),
    };
    return cmocka_run_group_tests_name("to_fit", tests, NULL, NULL);
}
