/* Iterations of ALS, and MTTKRP within them. */
#include "bench/bench_job.h"

#include <string.h>

#include "als/cpals.h"
#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench_warm_up.h"

/* Verifies MTTKRP of all modes for the start, with the kernels that were chosen. */
static enum status check_sweep(struct bench_job *job, struct backend *b, struct error *error)
{
    struct backend_built built;
    backend_built(b, &built);
    TRY(backend_begin(b, &job->start, error));
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &job->result->als.own.mode[n];
        memcpy(s->variant, built.kernel[n].name, sizeof s->variant);
        TRY(backend_mttkrp(b, n, error));
        TRY(bench_check(job, b, n, built.plan.conflict[n], s, error));
    }
    return STATUS_OK;
}

static enum status allocate_als(struct bench_als *als, int order, uint64_t count,
                                struct error *error)
{
    als->seconds = memory_array(count, sizeof *als->seconds, error);
    for (int n = 0; n < order; n++)
        als->own.mode[n].seconds = memory_array(count, sizeof *als->seconds, error);
    return error->status;
}

/* Times one iteration, and MTTKRP of each mode within it. */
static enum status time_sweep(struct backend *b, struct bench_als *als, struct error *error)
{
    const struct operation_times *times = backend_times(b);
    double before[MAX_ORDER], start = clock_now();
    memcpy(before, times->seconds[OP_MTTKRP], sizeof before);
    TRY(cpals_sweep(b, NULL, &als->fit, error));
    als->seconds[als->count++] = clock_now() - start;
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &als->own.mode[n];
        s->seconds[s->count++] = times->seconds[OP_MTTKRP][n] - before[n];
    }
    return STATUS_OK;
}

static enum status summarise_als(struct backend *b, struct bench_als *als, struct error *error)
{
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &als->own.mode[n];
        TRY(bench_statistics(s->seconds, s->count, &s->statistics, error));
        s->measured = true;
        for (int op = 0; op < OP_COUNT; op++)
            als->operation[op][n] = backend_times(b)->seconds[op][n] / (double)als->count;
    }
    return bench_statistics(als->seconds, als->count, &als->statistics, error);
}

/* Warms up, verifies, and times iterations on an open backend. The first iteration after the check
 * is still part of the warm-up. */
static enum status run_als(struct bench_job *job, struct backend *b, struct error *error)
{
    struct bench_als *als = &job->result->als;
    uint64_t wanted = job->request->samples ? job->request->samples : BENCH_SAMPLES;
    TRY(allocate_als(als, b->order, wanted, error));
    TRY(backend_begin(b, &job->start, error));
    TRY(bench_warm_up(b, &als->fit, error));
    TRY(check_sweep(job, b, error));
    TRY(cpals_sweep(b, NULL, &als->fit, error));
    backend_clear_times(b);
    double moving = rank_rows_seconds(b->ranks);
    while (als->count < wanted) {
        progress_update(job->progress, -1, "ALS iteration %d", (int)als->count + 1);
        TRY(time_sweep(b, als, error));
    }
    job->result->communication = (rank_rows_seconds(b->ranks) - moving) / (double)als->count;
    return summarise_als(b, als, error);
}

/* Measures ALS on a backend that is opened as a decomposition would open it. */
enum status bench_measure_als(struct bench_job *job, struct error *error)
{
    const struct bench_request *q = job->request;
    struct bench_als *als = &job->result->als;
    struct backend_options options = q->options;
    struct backend b = {0};
    options.iterations = UINT64_MAX; /* so that what pays in long runs is built */
    TRY_OR(done, bench_open(job, &b, &options, error));
    als->own.name = "in ALS";
    als->own.fits = true;
    als->own.open_seconds = backend_times(&b)->seconds[OP_OPEN][0];
    TRY_OR(done, run_als(job, &b, error));
    backend_built(&b, &als->built); /* some orderings are built later */
    als->own.build = als->built.seconds;
done:
    backend_close(&b);
    return error->status;
}
