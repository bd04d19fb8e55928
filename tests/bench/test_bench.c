/* What blco bench measures, on the host backend and on one that only pretends to be a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/host/host_rates.h"
#include "bench/bench.h"
#include "support/blco_files.h"
#include "support/known_rates.h"
#include "support/whole_tensors.h"
#include "support/scratch.h"

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

static void test_tolerance(void **state)
{
    (void)state;
    const uint64_t many = UINT64_C(1) << 26;
    assert_near(bench_tolerance(PRECISION_DOUBLE, CONFLICT_ATOMIC, many), 1e-12);
    assert_near(bench_tolerance(PRECISION_SINGLE, CONFLICT_ORDERED, many), 1e-5);
    assert_near(bench_tolerance(PRECISION_SINGLE, CONFLICT_ATOMIC, 100), 1e-5);
    assert_near(bench_tolerance(PRECISION_SINGLE, CONFLICT_ATOMIC, many), 0x1p-11);
}

/* The host, with limits that cost no time, and, where it pretends to be a device, with events and
 * kernels to choose from. */
static struct backend_kind pretender;
static struct backend_ops operations;
static int calls_until_chosen, calls[MAX_ORDER];
static double wrong_by;
static int wrong_mode;

static enum status counting_mttkrp(void *state, int mode, struct error *error)
{
    calls[mode]++;
    return backend_host.ops->mttkrp(state, mode, error);
}

static enum status wrong_fetch(void *state, int mode, double *m, struct error *error)
{
    enum status status = backend_host.ops->fetch(state, mode, m, error);
    for (uint64_t i = 0; mode == wrong_mode && i < 13 * 5; i++) /* the shortest mode has 13 rows */
        m[i] *= 1 + wrong_by;
    return status;
}

static void tell_kernels(void *state, struct backend_built *built)
{
    backend_host.ops->built(state, built);
    for (int n = 0; n < 3; n++) {
        struct backend_mttkrp_kernel *kernel = &built->kernel[n];
        snprintf(kernel->name, sizeof kernel->name, "kernel %d", calls[n]);
        kernel->chosen = calls[n] >= calls_until_chosen;
    }
}

static enum status no_event(void *queue, int event, struct error *error)
{
    (void)queue, (void)error;
    assert_in_range(event, 0, OPERATION_EVENTS - 1);
    return STATUS_OK;
}

/* Every operation takes a millisecond. */
static enum status known_time(void *queue, int from, int to, double *seconds, struct error *error)
{
    (void)queue, (void)error;
    assert_true(from < to);
    *seconds = 1e-3 * (to - from);
    return STATUS_OK;
}

static const struct event_ops events = {no_event, known_time};

static void tell_bytes(void *state, struct backend_built *built)
{
    backend_host.ops->built(state, built);
    built->kernel[0].bus_bytes = 1000000;
    built->kernel[2].bus_bytes = 3000000;
}

static int set_up(void **state)
{
    (void)state;
    pretender = backend_host;
    operations = *backend_host.ops;
    pretender.ops = &operations;
    pretender.rates = known_rates;
    operations.mttkrp = counting_mttkrp;
    operations.fetch = wrong_fetch;
    memset(calls, 0, sizeof calls);
    calls_until_chosen = 0;
    wrong_by = 0;
    wrong_mode = -1;
    return 0;
}

static int set_up_scratch(void **state)
{
    return set_up(state) || scratch_make(state);
}

/* On the host all modes are hierarchical: they are shorter than a 64th of the nonzeros. */
static void make_tensor(struct coo *x)
{
    const uint64_t dims[] = {20, 13, 15};
    naive_random_coo(x, SHAPE(3, dims), 2000, 5, 0);
}

static enum status run(struct bench_result *r, const struct coo *x, enum conflict conflict,
                       uint64_t samples, uint64_t host_memory, struct error *error)
{
    struct whole whole;
    struct bench_request request = {
        .kind = &pretender,
        .tensor = &whole.tensor,
        .options = {.problem.rank = 5, .conflict = conflict, .host_memory = host_memory},
        .samples = samples};
    *r = (struct bench_result){0};
    if (take_whole_of(&whole, x, error) == STATUS_OK)
        bench_run(r, &request, NULL, error);
    close_whole(&whole);
    return error->status;
}

static void test_every_mode_and_resolution(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct bench_result r;
    make_tensor(&x);
    assert_int_equal(run(&r, &x, CONFLICT_AUTO, 3, 0, &error), STATUS_OK);
    assert_int_equal(r.resolutions, BENCH_RESOLUTIONS);
    for (int i = 0; i < BENCH_RESOLUTIONS; i++) {
        const struct bench_resolution *c = &r.resolution[i];
        assert_int_equal(c->conflict, CONFLICT_ORDERED + i);
        assert_true(c->fits && backend_build_seconds(&c->build) > 0);
        assert_true(c->open_seconds >= backend_build_seconds(&c->build));
        for (int n = 0; n < 3; n++) {
            const struct bench_series *s = &c->mode[n];
            assert_true(s->measured);
            assert_int_equal(s->count, 3);
            assert_true(s->difference < 1e-12 && s->statistics.least > 0);
        }
    }
    assert_int_equal(r.als.count, 3);
    assert_true(r.als.fit.value > 0 && r.als.fit.value < 1);
    assert_true(bench_als_seconds(&r.als, OP_MTTKRP) > 0);
    for (int n = 0; n < 3; n++)
        assert_true(r.als.own.mode[n].measured && r.als.own.mode[n].difference < 1e-12);
    for (int n = 0; n < 3; n++)
        assert_int_equal(r.als.built.plan.conflict[n], CONFLICT_ORDERED);
    bench_free(&r);
    coo_free(&x);
}

static void test_one_resolution(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct bench_result r;
    make_tensor(&x);
    for (int c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
        assert_int_equal(run(&r, &x, (enum conflict)c, 1, 0, &error), STATUS_OK);
        assert_int_equal(r.resolutions, 1);
        assert_int_equal(r.resolution[0].conflict, c);
        assert_true(r.resolution[0].mode[2].measured);
        bench_free(&r);
    }
    coo_free(&x);
}

/* Room for one copy of the tensor: nothing is ordered, and ALS does without. */
static void test_little_memory(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct bench_result r;
    struct plan plan;
    const struct backend_options options = {.problem.rank = 5, .forced.one_copy = true};
    make_tensor(&x);
    const struct plan_tensor tensor = {.shape = x.shape, .nnz = x.nnz};
    assert_int_equal(backend_plan(&plan, &backend_host, &tensor, &options, &error), STATUS_OK);
    assert_int_equal(run(&r, &x, CONFLICT_AUTO, 1, plan.total_bytes, &error), STATUS_OK);
    for (int n = 0; n < 3; n++) {
        assert_false(r.resolution[0].mode[n].measured);
        assert_true(r.resolution[1].mode[n].measured);
        assert_int_equal(r.als.built.plan.conflict[n], CONFLICT_HIERARCHICAL);
    }
    bench_free(&r);
    assert_int_equal(run(&r, &x, CONFLICT_AUTO, 1, plan.total_bytes - plan.copy_bytes - 1, &error),
                     STATUS_MEMORY);
    bench_free(&r);
    coo_free(&x);
}

static void test_wrong_results(void **state)
{
    (void)state;
    struct coo x;
    struct bench_result r;
    make_tensor(&x);
    for (wrong_mode = 0; wrong_mode < 3; wrong_mode++)
        for (int i = 0; i < 2; i++) {
            struct error error = {0};
            wrong_by = i == 0 ? 1e-9 : NAN;
            assert_int_equal(run(&r, &x, CONFLICT_AUTO, 1, 0, &error), STATUS_INTERNAL);
            char mode[] = {'m', 'o', 'd', 'e', ' ', (char)('1' + wrong_mode), '\0'};
            assert_non_null(strstr(error.message, mode));
            assert_non_null(strstr(error.message, "the result is wrong"));
            assert_non_null(strstr(error.message, "from that of sampled rows on the host"));
            bench_free(&r);
        }
    coo_free(&x);
}

/* One alto ordering, streamed, even if there is room for more. */
static enum status streaming_request(struct plan_request *request,
                                     const struct backend_options *options, struct error *error)
{
    enum status status = backend_host.request(request, options, error);
    request->can_stream = request->must_stream = true;
    request->tensor.segment_nnz = 1;        /* shorter than any batch */
    if (request->conflict == CONFLICT_AUTO) /* no orderings later */
        request->conflict = CONFLICT_REGISTER;
    request->host_budget = request->budget;
    return status;
}

/* The host's state for the nonzeros of a file. */
static enum status open_file(void **state, const struct tensor_source *source,
                             const struct plan *plan, const struct backend_options *options,
                             struct progress *progress, struct error *error)
{
    struct coo x;
    struct tensor_source read = {.x = &x, .ranks = source->ranks, .problem = source->problem};
    assert_non_null(source->file);
    assert_null(source->x->value);
    if (blco_file_read(source->file, &x, progress, error) == STATUS_OK) {
        read.norm_sq = coo_norm_sq(&x);
        backend_host.open(state, &read, plan, options, progress, error);
    }
    coo_free(&x);
    return error->status;
}

/* The file is never read whole by the benchmark, which verifies by sampled rows. */
static void test_streamed(void **state)
{
    (void)state;
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    make_tensor(&x);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    pretender.name = "pretender";
    pretender.request = streaming_request;
    pretender.open = open_file;
    for (wrong_mode = -1; wrong_mode < 3; wrong_mode++) {
        struct whole whole;
        struct bench_result r;
        struct bench_request request = {.kind = &pretender,
                                        .tensor = &whole.tensor,
                                        .options = {.problem.rank = 5},
                                        .samples = 1};
        wrong_by = 1e-9;
        error = (struct error){0};
        open_whole(&whole, scratch_path("x.blco"));
        enum status status = bench_run(&r, &request, NULL, &error);
        assert_int_equal(status, wrong_mode < 0 ? STATUS_OK : STATUS_INTERNAL);
        assert_true(whole.tensor.input.unread);
        if (wrong_mode < 0) {
            assert_true(r.als.built.plan.streamed && r.als.own.mode[2].difference < 1e-12);
            assert_false(r.resolution[0].mode[0].measured);
            assert_true(r.resolution[3].mode[0].measured);
        } else {
            assert_non_null(strstr(error.message, "from that of sampled rows on the host"));
        }
        bench_free(&r);
        close_whole(&whole);
    }
}

static void test_device(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct bench_result r;
    make_tensor(&x);
    operations.events = &events;
    operations.built = tell_kernels;
    calls_until_chosen = 17;
    assert_int_equal(run(&r, &x, CONFLICT_REGISTER, 0, 0, &error), STATUS_OK);
    for (int n = 0; n < 3; n++) {
        const struct bench_series *s = &r.resolution[0].mode[n];
        assert_string_equal(s->variant, "kernel 17");
        assert_int_equal(s->count, BENCH_MOST); /* of a millisecond: 0.2 s are not reached */
        for (uint64_t i = 0; i < s->count; i++)
            assert_near(s->seconds[i], 1e-3);
    }
    assert_int_equal(r.als.count, BENCH_SAMPLES);
    for (uint64_t i = 0; i < r.als.count; i++)
        assert_near(r.als.own.mode[1].seconds[i], 1e-3);
    assert_near(bench_als_seconds(&r.als, OP_MTTKRP), 3e-3);
    assert_near(bench_als_seconds(&r.als, OP_FIT), 1e-3);
    bench_free(&r);
    coo_free(&x);
}

/* The bytes that cross the bus are given per mode, in the table and in the record, if there are
 * any. */
static void test_bus(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct bench_result r;
    struct bench_request request = {.kind = &pretender, .options = {.problem.rank = 4}};
    struct json j;
    char *text = NULL;
    size_t size;
    make_tensor(&x);
    operations.events = &events;
    for (int streamed = 0; streamed < 2; streamed++) {
        operations.built = streamed ? tell_bytes : backend_host.ops->built;
        assert_int_equal(run(&r, &x, CONFLICT_REGISTER, 2, 0, &error), STATUS_OK);
        r.rates.upload_bytes_per_second = 4e9;
        FILE *stream = open_memstream(&text, &size);
        bench_table(stream, &r);
        fclose(stream);
        json_begin(&j, &error);
        json_put_object(&j, NULL);
        bench_record(&j, "x", &request, &r, NULL);
        json_end(&j);
        assert_int_equal(error.status, STATUS_OK);
        assert_true(!streamed == !strstr(text, "bytes over the bus"));
        assert_true(!streamed == !strstr(j.text, "bus_bytes"));
        if (streamed) { /* 3 MB in a millisecond */
            assert_int_equal(r.als.own.mode[2].bus_bytes, 3000000);
            assert_non_null(
                strstr(text, "   3 register                3000000    3.000             75.0 %\n"));
            assert_null(strstr(text, "   2 register                "));
            assert_non_null(strstr(j.text, "\"share_of_upload\": 0.75"));
        }
        json_free(&j);
        free(text);
        bench_free(&r);
    }
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    make_tensor(&x);
    for (long k = 0;; k++) {
        struct error error = {0};
        struct bench_result r;
        memory_hook_set(k);
        enum status status = run(&r, &x, CONFLICT_AUTO, 1, 0, &error);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        bench_free(&r);
        if (!fired) {
            assert_int_equal(status, STATUS_OK);
            assert_true(k > 50);
            break;
        }
        assert_true(status == STATUS_MEMORY || status == STATUS_OK); /* some can be gone without */
    }
    coo_free(&x);
}

static void test_rates_of_the_host(void **state)
{
    (void)state;
    const uint64_t dims[] = {1, 5000};
    const struct backend_options options = {.problem = {.rank = 3, .precision = POLICY_SINGLE}};
    struct error error = {0};
    struct backend_rates rates;
    assert_int_equal(host_rates(SHAPE(2, dims), &options, &rates, &error), STATUS_OK);
    assert_true(rates.copy_bytes_per_second > 1e6);
    assert_true(rates.upload_bytes_per_second == 0);
    assert_true(isfinite(rates.cache_bytes_per_second) && rates.cache_bytes_per_second > 1e6);
    for (int n = 0; n < 2; n++) {
        assert_true(isfinite(rates.gather_bytes_per_second[n]));
        assert_true(rates.gather_bytes_per_second[n] > 1e6);
        assert_true(isfinite(rates.atomic_rows_per_second[n]));
        assert_true(rates.atomic_rows_per_second[n] > 1e3);
    }
    for (long k = 0; k < 3; k++) { /* two arrays to copy, one table */
        error = (struct error){0};
        memory_hook_set(k);
        assert_int_equal(host_rates(SHAPE(2, dims), &options, &rates, &error), STATUS_MEMORY);
        memory_hook_set(-1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test_setup(test_every_mode_and_resolution, set_up),
        cmocka_unit_test_setup(test_one_resolution, set_up),
        cmocka_unit_test_setup(test_little_memory, set_up),
        cmocka_unit_test_setup(test_wrong_results, set_up),
        cmocka_unit_test_setup(test_device, set_up),
        cmocka_unit_test_setup(test_bus, set_up),
        cmocka_unit_test_setup_teardown(test_streamed, set_up_scratch, scratch_remove),
        cmocka_unit_test_setup(test_failing_allocations, set_up),
        cmocka_unit_test(test_rates_of_the_host),
    };
    return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
