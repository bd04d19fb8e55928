#include "bench/bench_job.h"

#include <string.h>

#define SEED 1

enum status bench_check(const struct bench_job *job, struct backend *b, int mode,
                        enum conflict conflict, struct bench_series *s, struct error *error)
{
    double tolerance = bench_tolerance(job->result->precision, conflict, job->result->nnz);
    s->bus_bytes = backend_bus_bytes(b, mode);
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

enum status bench_prepare_check(struct bench_job *job, const struct tensor_input *input,
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
    return bench_prepare_check(job, &input, error);
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
    progress_stage(job->progress, BENCH_STAGE); /* again: reading the nonzeros was another stage */
    return backend_open_prepared(b, q->input, options, job->progress, error);
}
