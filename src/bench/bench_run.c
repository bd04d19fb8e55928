/* The order of the measurements. */
#include "bench/bench.h"

#include <string.h>

#include "base/memory.h"
#include "bench/bench_job.h"

/* Whether the request asks for this conflict resolution, by name or by asking for none. `atomic`
 * rounds once for each nonzero: in single precision only by name. */
static bool is_wanted(const struct bench_job *job, enum conflict conflict)
{
    const enum conflict only = job->request->options.conflict;
    if (job->request->als_only)
        return false;
    if (only != CONFLICT_AUTO)
        return only == conflict;
    return conflict != CONFLICT_ATOMIC || job->result->precision == PRECISION_DOUBLE;
}

static enum status measure_all(struct bench_job *job, struct error *error)
{
    static const enum conflict all[BENCH_RESOLUTIONS] = {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                                         CONFLICT_REGISTER, CONFLICT_ATOMIC};
    for (int i = 0; i < BENCH_RESOLUTIONS; i++) {
        if (!is_wanted(job, all[i]))
            continue;
        TRY(bench_measure_modes(job, all[i], error));
    }
    return bench_measure_als(job, error);
}

/* A result with what the request already tells. */
static struct bench_result empty_result(const struct bench_request *request)
{
    const struct problem *problem = &request->options.problem;
    return (struct bench_result){.rank = problem->rank,
                                 .precision = precision_first(problem->precision)};
}

/* Refuses at once what cannot be measured. A rank alone reads the nonzeros once for all backends,
 * unless they flow from their file or the host has no room for them. */
static enum status prepare(const struct bench_request *q, struct progress *progress,
                           struct error *error)
{
    struct backend b;
    TRY(backend_prepare(&b, q->kind, q->tensor, &q->options, progress, error));
    bool read = q->tensor->comm->size == 1 && !b.plan.streamed && plan_can_unpack(&b.plan.request);
    backend_close(&b);
    if (!read)
        return STATUS_OK;
    return rank_tensor_read(q->tensor, progress, error);
}

static enum status measure_limits(struct bench_result *r, const struct bench_request *request,
                                  struct progress *progress, struct error *error)
{
    progress_update(progress, -1, "limits of the machine");
    return request->kind->rates(&r->shape, &request->options, &r->rates, error);
}

static enum status run(struct bench_job *job, struct error *error)
{
    const struct bench_request *q = job->request;
    struct bench_result *r = job->result;
    TRY(prepare(q, job->progress, error));
    r->shape = q->tensor->input.x.shape;
    r->nnz = q->tensor->input.x.nnz;
    progress_stage(job->progress, BENCH_STAGE);
    if (q->tensor->rows.divided)
        TRY(bench_prepare_check(job, error));
    return measure_all(job, error);
}

enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error)
{
    struct bench_job job = {.result = r, .request = request, .progress = progress};
    *r = empty_result(request);
    run(&job, error);
    bench_reference_free(&job.reference);
    ktensor_free(&job.start);
    TRY(error->status);
    return measure_limits(r, request, progress, error);
}

void bench_free(struct bench_result *r)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        for (int i = 0; i < BENCH_RESOLUTIONS; i++)
            memory_free(r->resolution[i].mode[n].seconds);
        memory_free(r->als.own.mode[n].seconds);
    }
    memory_free(r->als.seconds);
    memset(r, 0, sizeof *r);
}
