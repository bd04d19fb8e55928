/* The measurements, and their order. */
#include "bench/bench.h"

#include <string.h>

#include "als/cpals.h"
#include "base/clock.h"
#include "base/memory.h"

#define STAGE        "measuring"
#define SEED         1
#define MOST_WARM_UP 1000 /* calls, at most, while a mode is still trying kernels */
#define BATCH        16   /* calls that are queued before their times are read    */

/* What all measurements of one bench_run have in common. */
struct bench_job {
    struct bench_result *result;
    const struct bench_request *request;
    struct progress *progress;
    struct ktensor start;
    struct bench_reference reference;
};

/* Verifies the last M, and notes the bytes that its MTTKRP copied from the host. STATUS_INTERNAL if
 * M is wrong. */
static enum status check_result(const struct bench_job *job, struct backend *b, int mode,
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

/* Fills job->start, a random model, and job->reference, rows of the right MTTKRPs for it. The
 * rank's rows must be divided (rank_rows.h). */
static enum status prepare_check(struct bench_job *job, struct error *error)
{
    const struct bench_request *q = job->request;
    TRY(ktensor_create_part(&job->start, &q->tensor->rows.part, q->options.problem.rank, error));
    ktensor_randomise(&job->start, KTENSOR_RANDOM, SEED);
    progress_update(job->progress, -1, "reference: %s", BENCH_REFERENCE);
    return bench_reference_create(&job->reference, q->tensor, &job->start, error);
}

/* Opens a backend for a measurement; prepares the check if that divided the rank's rows. The caller
 * closes *b, after a failure too. */
static enum status open_backend(struct bench_job *job, struct backend *b,
                                const struct backend_options *options, struct error *error)
{
    const struct bench_request *q = job->request;
    struct backend_built built;
    TRY(backend_prepare(b, q->kind, q->tensor, options, job->progress, error));
    progress_stage(job->progress, STAGE); /* again: reading the nonzeros was another stage */
    TRY(backend_build(b, q->tensor, job->progress, error));
    if (job->start.rank > 0)
        return STATUS_OK;
    backend_built(b, &built); /* now the rank has its rows */
    job->result->nnz = built.nnz;
    job->result->shape = part_shape(&q->tensor->rows.part);
    return prepare_check(job, error);
}

static enum status take_samples(struct backend *b, int mode, uint64_t wanted,
                                struct bench_series *s, struct error *error)
{
    uint64_t least = wanted ? wanted : BENCH_SAMPLES, most = wanted ? wanted : BENCH_MOST;
    double total = 0;
    s->seconds = memory_array(most, sizeof *s->seconds, error);
    TRY(error->status);
    while (s->count < least || (s->count < most && total < BENCH_SECONDS)) {
        uint64_t left = s->count < least ? least - s->count : most - s->count;
        uint64_t batch = left < BATCH ? left : BATCH;
        TRY(backend_time_mttkrp(b, mode, batch, s->seconds + s->count, error));
        for (uint64_t i = 0; i < batch; i++)
            total += s->seconds[s->count + i];
        s->count += batch;
    }
    return bench_statistics(s->seconds, s->count, &s->statistics, error);
}

/* Whether the mode gets this conflict resolution, at once or when its own ordering is built later.
 */
static bool resolves(const struct plan *plan, int mode, enum conflict conflict)
{
    return plan->conflict[mode] == conflict ||
           (plan->replicate && conflict_traits[conflict].ordered);
}

/* Warms up, verifies and times MTTKRP of the modes to which the open backend gives the resolution
 * c->conflict. */
static enum status measure_modes(struct bench_job *job, struct backend *b,
                                 struct bench_resolution *c, struct error *error)
{
    struct backend_built built;
    backend_built(b, &built);
    const struct plan plan = built.plan;
    TRY(backend_load(b, &job->start, error));
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &c->mode[n];
        if (!resolves(&plan, n, c->conflict))
            continue;
        progress_update(job->progress, -1, "%s, mode %d", conflict_name(c->conflict), n + 1);
        built.kernel[n].chosen = false;
        for (int call = 0; call < MOST_WARM_UP && !built.kernel[n].chosen; call++) {
            TRY(backend_mttkrp(b, n, error));
            backend_built(b, &built);
        }
        memcpy(s->variant, built.kernel[n].name, sizeof s->variant);
        TRY(backend_mttkrp(b, n, error));
        TRY(check_result(job, b, n, c->conflict, s, error));
        TRY(backend_mttkrp(b, n, error));
        TRY(take_samples(b, n, job->request->samples, s, error));
        s->measured = true;
    }
    return STATUS_OK;
}

/* Measures MTTKRP of each mode that can have this conflict resolution, into the next
 * bench_resolution of the result. */
static enum status measure_resolution(struct bench_job *job, enum conflict conflict,
                                      struct error *error)
{
    const struct bench_request *q = job->request;
    struct bench_result *r = job->result;
    struct bench_resolution *c = &r->resolution[r->resolutions];
    const struct plan_tensor tensor = rank_tensor_for_plan(q->tensor, false);
    /* With CONFLICT_AUTO, `ordered` goes to the modes whose orderings memory has room for, and
     * `hierarchical` to the short modes. */
    const bool ordered = conflict_traits[conflict].ordered && q->options.conflict == CONFLICT_AUTO;
    const bool hierarchical = conflict_traits[conflict].copied;
    struct backend_options options = q->options;
    struct plan plan;
    options.conflict = ordered || hierarchical ? CONFLICT_AUTO : conflict;
    options.no_sharing = true; /* each mode by itself */
    options.forced.one_copy = hierarchical;
    options.forced.replicas_at_once = ordered;
    TRY(backend_plan(&plan, q->kind, &tensor, &options, error));
    c->fits = plan.fits;
    c->conflict = conflict;
    c->name = conflict_name(conflict);
    r->resolutions++;
    bool given = false; /* to some mode */
    for (int n = 0; n < tensor.shape.order; n++)
        given |= resolves(&plan, n, conflict);
    if (!plan.fits || !given)
        return STATUS_OK;

    struct backend b = {0};
    struct backend_built built;
    TRY_OR(done, open_backend(job, &b, &options, error));
    c->open_seconds = backend_times(&b)->seconds[OP_OPEN][0];
    TRY_OR(done, measure_modes(job, &b, c, error));
    backend_built(&b, &built); /* some orderings are built later */
    c->build = built.seconds;
done:
    backend_close(&b);
    return error->status;
}

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
        TRY(check_result(job, b, n, built.plan.conflict[n], s, error));
    }
    return STATUS_OK;
}

/* Warms up, verifies, and times iterations on an open backend, and MTTKRP of each mode within them.
 * The first iteration after the check is still part of the warm-up. */
static enum status run_als(struct bench_job *job, struct backend *b, struct error *error)
{
    struct bench_als *als = &job->result->als;
    const struct operation_times *times = backend_times(b);
    const uint64_t wanted = job->request->samples ? job->request->samples : BENCH_SAMPLES;
    struct backend_built built;
    als->seconds = memory_array(wanted, sizeof *als->seconds, error);
    for (int n = 0; n < b->order; n++)
        als->own.mode[n].seconds = memory_array(wanted, sizeof *als->seconds, error);
    TRY(error->status);
    TRY(backend_begin(b, &job->start, error));
    /* Until all modes have a kernel, on every rank: all make the same number of iterations. */
    for (int sweep = 0, trying = 1; sweep < MOST_WARM_UP && trying; sweep++) {
        TRY(cpals_sweep(b, NULL, &als->fit, error));
        backend_built(b, &built);
        trying = 0;
        for (int n = 0; n < b->order; n++)
            trying |= !built.kernel[n].chosen;
        TRY(comm_allreduce_max(b->ranks->all, &trying, error));
    }
    TRY(check_sweep(job, b, error));
    TRY(cpals_sweep(b, NULL, &als->fit, error));
    backend_clear_times(b);
    const double moving = rank_rows_seconds(b->ranks);
    while (als->count < wanted) {
        double before[MAX_ORDER];
        progress_update(job->progress, -1, "ALS iteration %d", (int)als->count + 1);
        const double start = clock_now();
        memcpy(before, times->seconds[OP_MTTKRP], sizeof before);
        TRY(cpals_sweep(b, NULL, &als->fit, error));
        als->seconds[als->count++] = clock_now() - start;
        for (int n = 0; n < b->order; n++) {
            struct bench_series *s = &als->own.mode[n];
            s->seconds[s->count++] = times->seconds[OP_MTTKRP][n] - before[n];
        }
    }
    job->result->communication = (rank_rows_seconds(b->ranks) - moving) / (double)als->count;
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &als->own.mode[n];
        TRY(bench_statistics(s->seconds, s->count, &s->statistics, error));
        s->measured = true;
        for (int op = 0; op < OP_COUNT; op++)
            als->operation[op][n] = times->seconds[op][n] / (double)als->count;
    }
    return bench_statistics(als->seconds, als->count, &als->statistics, error);
}

/* Measures ALS on a backend that is opened as a decomposition would open it. */
static enum status measure_als(struct bench_job *job, struct error *error)
{
    const struct bench_request *q = job->request;
    struct bench_als *als = &job->result->als;
    struct backend_options options = q->options;
    struct backend b = {0};
    options.iterations = UINT64_MAX; /* so that what pays in long runs is built */
    TRY_OR(done, open_backend(job, &b, &options, error));
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

enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error)
{
    const struct problem *problem = &request->options.problem;
    const enum conflict only = request->options.conflict;
    const struct rank_tensor *tensor = request->tensor;
    struct bench_job job = {.result = r, .request = request, .progress = progress};
    struct backend b;
    *r = (struct bench_result){.rank = problem->rank,
                               .precision = precision_first(problem->precision)};
    /* What cannot be measured is refused at once. A rank alone reads the nonzeros once for all
     * backends, unless they flow from their file or the host has no room for them. */
    TRY_OR(done,
           backend_prepare(&b, request->kind, request->tensor, &request->options, progress, error));
    const bool read =
        tensor->comm->size == 1 && !b.plan.streamed && plan_can_unpack(&b.plan.request);
    backend_close(&b);
    if (read)
        TRY_OR(done, rank_tensor_read(request->tensor, progress, error));
    r->shape = tensor->input.x.shape;
    r->nnz = tensor->input.x.nnz;
    progress_stage(progress, STAGE);
    if (tensor->rows.divided)
        TRY_OR(done, prepare_check(&job, error));
    /* `atomic` rounds once for each nonzero: in single precision only by name. */
    for (enum conflict c = CONFLICT_AUTO + 1; c < CONFLICTS && !request->als_only; c++)
        if (only == CONFLICT_AUTO ? !conflict_traits[c].each || r->precision == PRECISION_DOUBLE
                                  : c == only)
            TRY_OR(done, measure_resolution(&job, c, error));
    measure_als(&job, error);
done:
    bench_reference_free(&job.reference);
    ktensor_free(&job.start);
    TRY(error->status);
    progress_update(progress, -1, "limits of the machine");
    return request->kind->rates(&r->shape, &request->options, &r->rates, error);
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
