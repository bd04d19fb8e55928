#include "bench/bench_job.h"

#define SEED 1

enum status bench_check(const struct bench_job *job, struct backend *b, int mode,
                        enum conflict conflict, struct bench_series *s, struct error *error)
{
    double tolerance = bench_tolerance(job->result->precision, conflict, job->result->nnz);
    struct backend_built built;
    backend_built(b, &built);
    s->bus_bytes = built.kernel[mode].bus_bytes;
    TRY(bench_reference_compare(&job->reference, b, mode, &s->difference, error));
    if (!(s->difference <= tolerance))
        return error_set(error, STATUS_INTERNAL,
                         "mode %d, %s: the result is wrong: it differs by %.1e from that of %s, "
                         "expected %.1e at most",
                         mode + 1, conflict_name(conflict), s->difference, BENCH_REFERENCE,
                         tolerance);
    return STATUS_OK;
}

enum status bench_prepare_check(struct bench_job *job, struct error *error)
{
    const struct bench_request *q = job->request;
    TRY(ktensor_create_part(&job->start, &q->tensor->rows.part, q->options.problem.rank, error));
    ktensor_randomise(&job->start, KTENSOR_RANDOM, SEED);
    progress_update(job->progress, -1, "reference: %s", BENCH_REFERENCE);
    return bench_reference_create(&job->reference, q->tensor, &job->start, error);
}

enum status bench_open(struct bench_job *job, struct backend *b,
                       const struct backend_options *options, struct error *error)
{
    const struct bench_request *q = job->request;
    struct backend_built built;
    TRY(backend_prepare(b, q->kind, q->tensor, options, job->progress, error));
    progress_stage(job->progress, BENCH_STAGE); /* again: reading the nonzeros was another stage */
    TRY(backend_build(b, q->tensor, job->progress, error));
    if (job->start.rank > 0)
        return STATUS_OK;
    backend_built(b, &built); /* now the rank has its rows */
    job->result->nnz = built.nnz;
    job->result->shape = part_shape(&q->tensor->rows.part);
    return bench_prepare_check(job, error);
}
