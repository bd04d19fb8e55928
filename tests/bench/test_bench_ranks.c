/* ALS on several ranks, measured, on the host backend: what the ranks measure together is of the
 * whole tensor, and a wrong result of one rank ends all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "comm/comm.h"
#include "support/known_rates.h"
#include "support/scratch.h"
#include "support/blco_files.h"

#define MOST_RANKS 3
#define SAMPLES    2

static const uint64_t dims[] = {40, 3, 25};

/* The host, with limits that cost no time; one rank may compute wrongly. */
static struct backend_kind pretender;
static struct backend_ops operations;
static _Thread_local bool is_wrong;

static enum status fetch(void *state, int mode, double *m, struct error *error)
{
    enum status status = backend_host.ops->fetch(state, mode, m, error);
    if (is_wrong && mode == 1)
        m[0] = m[0] * (1 + 1e-6) + 1e-6;
    return status;
}

static int set_up(void **state)
{
    pretender = backend_host;
    pretender.name = "pretender";
    pretender.rates = known_rates;
    operations = *backend_host.ops;
    operations.fetch = fetch;
    pretender.ops = &operations;
    return scratch_make(state);
}

/* Asserting is the main thread's: ranks only fill in what they find. */
struct job {
    const char *path;
    int modes, parts[MAX_ORDER]; /* of the grid; 0: chosen */
    int wrong_rank;
    struct bench_request request;
    struct bench_ranks ranks[MOST_RANKS];
    struct bench_result result[MOST_RANKS];
};

static enum status measure(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    const struct tns_options tns = {.index_base = 1};
    struct rank_tensor t;
    struct bench_request request = job->request;
    struct rank_request split = {.path = job->path,
                                 .tns = &tns,
                                 .modes = job->modes,
                                 .row_bytes = job->request.options.problem.rank * sizeof(double),
                                 .machine = {.one_host = true, .threads = 1}};
    memcpy(split.parts, job->parts, sizeof split.parts);
    is_wrong = c->rank == job->wrong_rank;
    TRY(rank_tensor_open(&t, c, &split, NULL, error));
    request.tensor = &t;
    request.als_only = true;
    if (bench_run(&job->result[c->rank], &request, NULL, error) == STATUS_OK)
        bench_ranks_gather(&job->ranks[c->rank], &t, &job->result[c->rank], error);
    else
        comm_abort(c, error);
    rank_tensor_close(&t);
    return error->status;
}

static void make_job(struct job *job)
{
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(&x, SHAPE(3, dims), 900, 5, 1);
    *job = (struct job){
        .path = scratch_path("x.blco"),
        .wrong_rank = -1,
        .request = {.kind = &pretender, .options = {.problem.rank = 4}, .samples = SAMPLES}};
    assert_int_equal(write_blco(&x, job->path, &report, &error), STATUS_OK);
    coo_free(&x);
}

static void free_results(struct job *job)
{
    for (int k = 0; k < MOST_RANKS; k++) {
        bench_ranks_free(&job->ranks[k]);
        bench_free(&job->result[k]);
    }
}

static void assert_measured(const struct job *job, int size, int k)
{
    const struct bench_result *r = &job->result[k];
    const struct bench_ranks *ranks = &job->ranks[k];
    assert_int_equal(ranks->rank[k].nnz, r->nnz);
    assert_int_equal(r->resolutions, 0);
    assert_int_equal(r->als.count, SAMPLES);
    assert_true(r->als.fit.value == job->result[0].als.fit.value); /* to the bit */
    for (int n = 0; n < 3; n++) {
        const struct bench_series *s = &r->als.own.mode[n];
        assert_true(s->measured && s->difference < 1e-12);
        assert_true(ranks->rank[k].mttkrp[n] == s->statistics.median);
        assert_true(ranks->rank[k].update[n] > 0);
    }
    assert_true(size == 1 || ranks->rank[k].communication > 0);
}

/* All ranks know what all have measured, and that is of the whole tensor. */
static void assert_gathered(const struct job *job, int size, int k)
{
    const struct bench_ranks *ranks = &job->ranks[k];
    uint64_t sum = 0, largest = 0;
    double slowest = 0;
    int product = 1;
    assert_int_equal(ranks->ranks, size);
    assert_true(shape_equal(&ranks->shape, SHAPE(3, dims)));
    assert_memory_equal(ranks->rank, job->ranks[0].rank, (size_t)size * sizeof *ranks->rank);
    for (int i = 0; i < size; i++) {
        sum += ranks->rank[i].nnz;
        largest = ranks->rank[i].nnz > largest ? ranks->rank[i].nnz : largest;
    }
    for (int n = 0; n < 3; n++) {
        double most = 0;
        for (int i = 0; i < size; i++)
            most = fmax(most, ranks->rank[i].mttkrp[n]);
        slowest += most;
        product *= ranks->parts[n];
    }
    assert_int_equal(sum, ranks->nnz);
    assert_int_equal(product, size);
    assert_true(fabs(ranks->imbalance - ((double)largest * size / (double)sum - 1)) < 1e-12);
    assert_true(bench_ranks_mttkrp(ranks, 3) == slowest);
    if (size > 1)
        assert_true(ranks->cost.mttkrp_seconds > 0 && ranks->cost.solve_seconds > 0);
    assert_true((ranks->cost.moved_bytes > 0) == (size > 1));
}

static void test_ranks(void **state)
{
    (void)state;
    struct job job;
    double fit = 0;
    uint64_t nnz = 0;
    make_job(&job);
    for (int size = 1; size <= MOST_RANKS; size++) {
        struct error error = {0};
        enum status status = comm_run_team(size, measure, &job, &error);
        if (status != STATUS_OK)
            fail_msg("%d ranks: %s", size, error.message);
        for (int k = 0; k < size; k++) {
            assert_measured(&job, size, k);
            assert_gathered(&job, size, k);
        }
        fit = size == 1 ? job.result[0].als.fit.value : fit;
        nnz = size == 1 ? job.ranks[0].nnz : nnz;
        assert_true(fabs(job.result[0].als.fit.value - fit) < 1e-9);
        assert_int_equal(job.ranks[0].nnz, nnz);
        free_results(&job);
    }
}

/* The record and the table have the whole tensor, the grid, the model and every rank. */
static void test_record(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "\"count\": 3",    "\"grid\": [3, 1, 1]", "\"imbalance\": ",        "\"read_seconds\": ",
        "\"model\": {",    "\"moved_bytes\": ",   "\"move_seconds\": ",     "\"solve_seconds\": ",
        "\"each\": [",     "\"nonzeros\": ",      "\"mttkrp\": [",          "\"update\": [",
        "\"mttkrp\": [],", "\"communication\": ", "\"exchange_seconds\": ", "\"mttkrp_seconds\": "};
    struct job job;
    struct json j;
    struct error error = {0};
    char *text = NULL, lengths[] = "\"lengths\": [40, 3, 25],";
    size_t size;
    make_job(&job);
    job.modes = 3;
    memcpy(job.parts, (int[]){3, 1, 1}, 3 * sizeof(int));
    assert_int_equal(comm_run_team(3, measure, &job, &error), STATUS_OK);
    json_begin(&j, &error);
    json_put_object(&j, NULL);
    bench_record(&j, "x", &job.request, &job.result[0], &job.ranks[0]);
    json_end(&j);
    assert_int_equal(error.status, STATUS_OK);
    char *record = calloc(j.used + 1, 1);
    assert_non_null(record);
    memcpy(record, j.text, j.used);
    assert_non_null(strstr(record, lengths));
    const char *ranks = strstr(record, "\"ranks\": {");
    assert_non_null(ranks);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strstr(strcmp(fields[i], "\"mttkrp\": [],") == 0 ? record : ranks, fields[i]))
            fail_msg("no %s", fields[i]);
    FILE *stream = open_memstream(&text, &size);
    bench_table_ranks(stream, &job.ranks[0], 3);
    fclose(stream);
    assert_non_null(strstr(text, "\n3 ranks, grid 3x1x1; the fullest has "));
    assert_non_null(strstr(text, "\n   2 "));
    free(text);
    free(record);
    json_free(&j);
    free_results(&job);
}

static void test_wrong_result(void **state)
{
    (void)state;
    struct job job;
    make_job(&job);
    for (job.wrong_rank = 0; job.wrong_rank < 2; job.wrong_rank++) {
        struct error error = {0};
        assert_int_equal(comm_run_team(2, measure, &job, &error), STATUS_INTERNAL);
        assert_non_null(strstr(error.message, "the result is wrong"));
        free_results(&job);
    }
}

/* No file, and a grid of two numbers for three modes. */
static void test_failures(void **state)
{
    (void)state;
    struct job job;
    make_job(&job);
    for (int what = 0; what < 2; what++) {
        struct error error = {0};
        if (what == 0)
            job.path = scratch_path("absent.blco");
        else
            make_job(&job);
        job.modes = what == 0 ? 0 : 2;
        job.parts[0] = what == 0 ? 0 : 2;
        job.parts[1] = what == 0 ? 0 : 1;
        assert_int_equal(comm_run_team(2, measure, &job, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, what == 0 ? "absent.blco" : "a grid of 2 numbers"));
        free_results(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranks, set_up, scratch_remove),
        cmocka_unit_test_setup_teardown(test_record, set_up, scratch_remove),
        cmocka_unit_test_setup_teardown(test_wrong_result, set_up, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failures, set_up, scratch_remove),
    };
    return cmocka_run_group_tests_name("bench_ranks", tests, NULL, NULL);
}
