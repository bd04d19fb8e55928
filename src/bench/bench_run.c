/* The order of the measurements, and how a backend is opened and verified for them. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench_job.h"

#define SEED  1
#define STAGE "measuring"

double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz)
{
    if (precision == PRECISION_DOUBLE)
        return 1e-12;
    /* `atomic` rounds once for each nonzero of a row, and all nonzeros may be in one row. Errors
     * that are as often up as down grow with the root of their number. */
    double rounding = conflict == CONFLICT_ATOMIC ? 0x1p-24 * sqrt((double)nnz) : 0;
    return rounding > 1e-5 ? rounding : 1e-5;
}

enum status bench_check(const struct bench_job *job, struct backend *b, int mode,
                        enum conflict conflict, struct bench_series *s, struct error *error)
{
    double tolerance = bench_tolerance(job->result->precision, conflict, job->result->nnz);
    struct backend_built built;
    backend_built(b, &built);
    s->bus_bytes = built.kernel[mode].bus_bytes;
    if (bench_reference_compare(&job->reference, b, mode, &s->difference, error) != STATUS_OK)
        return error->status;
    if (!(s->difference <= tolerance))
        return error_set(error, STATUS_INTERNAL,
                         "mode %d, %s: the result is wrong: it differs by %.1e from that of %s, "
                         "expected %.1e at the most",
                         mode + 1, conflict_name(conflict), s->difference, job->reference.name,
                         tolerance);
    return STATUS_OK;
}

/* Room for a model of the rows that are here. */
static enum status create_start(struct ktensor *k, const struct bench_request *q,
                                struct error *error)
{
    return q->ranks ? ktensor_create_part(k, &q->ranks->part, q->options.problem.rank, error)
                    : ktensor_create(k, &q->input->x.shape, q->options.problem.rank, error);
}

/* Makes the start, and what MTTKRP must give for the start. */
static enum status prepare_check(struct bench_job *job, const struct tensor_input *input,
                                 struct error *error)
{
    const struct bench_request *q = job->request;
    if (create_start(&job->start, q, error) != STATUS_OK)
        return error->status;
    ktensor_randomise(&job->start, KTENSOR_RANDOM, SEED);
    bench_reference_create(&job->reference, q->kind, input, q->ranks, &q->options, &job->start,
                           job->progress, error);
    memcpy(job->result->reference, job->reference.name, sizeof job->result->reference);
    return error->status;
}

/* Opens the backend of one rank of several; now the rank has its rows and nonzeros, which the start
 * and the reference are for. On failure *b is closed. */
static enum status open_part(struct bench_job *job, struct backend *b,
                             const struct backend_options *options, struct error *error)
{
    const struct bench_request *q = job->request;
    struct backend_built built;
    if (backend_prepare_part(b, q->kind, q->part, q->ranks, options, job->progress, error) !=
            STATUS_OK ||
        backend_open_part(b, q->part, q->ranks, options, job->progress, error) != STATUS_OK)
        return error->status;
    backend_built(b, &built);
    job->result->nnz = built.nnz;
    job->result->shape = part_shape(&q->ranks->part);
    struct tensor_input input = {
        .x = q->part->x, .unread = q->part->unread, .file = q->part->file}; /* borrowed */
    input.x.shape = job->result->shape;
    input.x.nnz = built.nnz;
    return prepare_check(job, &input, error);
}

enum status bench_open(struct bench_job *job, struct backend *b,
                       const struct backend_options *options, const struct plan_forced *forced,
                       struct error *error)
{
    const struct bench_request *q = job->request;
    if (q->ranks)
        return open_part(job, b, options, error);
    if (backend_prepare(b, q->kind, q->input, options, forced, job->progress, error) != STATUS_OK)
        return error->status;
    progress_stage(job->progress, STAGE); /* again: reading the nonzeros was another stage */
    return backend_open_prepared(b, q->input, options, job->progress, error);
}

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
    progress_stage(progress, STAGE);
    if (status == STATUS_OK && !request->ranks)
        status = prepare_check(&job, request->input, error);
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
