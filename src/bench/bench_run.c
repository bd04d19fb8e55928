/* The order of the measurements. */
#include "bench/bench.h"

#include <string.h>

#include "base/memory.h"
#include "bench/bench_job.h"

static enum status measure_all(struct bench_job *job, struct error *error)
{
    static const enum conflict all[BENCH_RESOLUTIONS] = {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                                         CONFLICT_REGISTER, CONFLICT_ATOMIC};
    const struct bench_request *q = job->request;
    enum conflict only = q->options.conflict;
    for (int i = 0; i < BENCH_RESOLUTIONS && !q->als_only; i++) {
        /* `atomic` rounds once for each nonzero: in single precision only where asked for. */
        bool wanted = only == CONFLICT_AUTO &&
                      (all[i] != CONFLICT_ATOMIC || job->result->precision == PRECISION_DOUBLE);
        if (wanted || only == all[i])
            if (bench_measure_modes(job, all[i], error) != STATUS_OK)
                return error->status;
    }
    return bench_measure_als(job, error);
}

/* A result with what the request already tells. */
static struct bench_result empty_result(const struct bench_request *request)
{
    const struct coo *x = request->ranks ? &request->part->x : &request->input->x;
    const struct backend_options *options = &request->options;
    return (struct bench_result){.shape = x->shape,
                                 .nnz = x->nnz,
                                 .rank = options->problem.rank,
                                 .precision = problem_first_precision(&options->problem)};
}

/* Refuses at once what cannot be measured. Reads the nonzeros, so that a reference can be computed
 * from all of them, unless they flow from their file or the host has no room for them. */
static enum status prepare(const struct bench_request *q, struct progress *progress,
                           struct error *error)
{
    struct backend b;
    enum status status = backend_prepare(&b, q->kind, q->input, &q->options, NULL, progress, error);
    bool read = status == STATUS_OK && !b.plan.streamed && plan_can_unpack(&b.plan.request);
    backend_close(&b);
    return read ? tensor_input_read(q->input, progress, error) : status;
}

static enum status measure_limits(struct bench_result *r, const struct bench_request *request,
                                  struct progress *progress, struct error *error)
{
    struct backend_options options = request->options;
    options.problem.precision = r->precision;
    options.problem.single_first = false;
    progress_update(progress, -1, "limits of the machine");
    return request->kind->rates(&r->shape, &options, &r->rates, error);
}

enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error)
{
    struct bench_job job = {.result = r, .request = request, .progress = progress};
    *r = empty_result(request);
    enum status status = request->ranks ? STATUS_OK : prepare(request, progress, error);
    progress_stage(progress, BENCH_STAGE);
    if (status == STATUS_OK && !request->ranks)
        status = bench_prepare_check(&job, request->input, error);
    if (status == STATUS_OK)
        status = measure_all(&job, error);
    bench_reference_free(&job.reference);
    ktensor_free(&job.start);
    return status == STATUS_OK ? measure_limits(r, request, progress, error) : status;
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
