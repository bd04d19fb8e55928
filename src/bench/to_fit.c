#include "bench/to_fit.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench_warm_up.h"
#include "problem/initial_guess.h"

#define WARM_ITERATIONS 12 /* of the throw-away run: enough for all that is built later */

/* The backend and the start of one way. */
struct place {
    struct backend b;
    struct ktensor start; /* of the rows that are here */
};

static enum status open_place(struct place *p, const struct to_fit_request *q,
                              const struct backend_options *options, struct progress *progress,
                              struct error *error)
{
    TRY(backend_prepare(&p->b, q->kind, q->tensor, options, progress, error));
    TRY(backend_build(&p->b, q->tensor, progress, error));
    return ktensor_create_part(&p->start, &q->tensor->rows.part, options->problem.rank, error);
}

static void close_place(struct place *p)
{
    ktensor_free(&p->start);
    backend_close(&p->b);
}

static void make_start(struct place *p, uint64_t seed)
{
    const struct initial_guess guess = {.kind = GUESS_RANDOM, .seed = seed};
    initial_guess_fill(&p->start, &p->b.ranks->part.whole, &guess,
                       p->b.options.problem.rules.nonneg);
}

/* A throw-away run: kernels are chosen, libraries loaded, and late orderings built. */
static enum status warm_up(struct place *p, const struct way *way, const struct to_fit_request *q,
                           struct error *error)
{
    struct backend_fit fit;
    struct cpals_result result;
    const struct cpals_options options = way_options(way, WARM_ITERATIONS, 0, NULL);
    make_start(p, q->seed);
    TRY(backend_load(&p->b, &p->start, error));
    TRY(bench_warm_up(&p->b, &fit, error));
    return cpals_iterate(&p->b, &p->start, &options, NULL, &result, error);
}

/* Keeps the least seconds of each iteration: other work of the machine only makes it longer. */
static void take_least(struct fit_trace *trace, const struct fit_trace *again)
{
    for (size_t i = 0; i < trace->count && i < again->count; i++)
        trace->seconds[i] = fmin(trace->seconds[i], again->seconds[i]);
}

/* Repeats a run that took `taken` seconds if that is too short to measure it well. */
static enum status repeat_run(struct place *p, const struct way *way,
                              const struct to_fit_request *q, struct fit_trace *trace, double taken,
                              struct error *error)
{
    struct fit_trace again = {0};
    const struct cpals_options options =
        way_options(way, q->iterations, q->tolerance, trace ? &again : NULL);
    for (int runs = 1;; runs++) {
        struct cpals_result result;
        int go_on = taken < TO_FIT_SECONDS && runs < q->repeats; /* on any rank */
        TRY_OR(done, comm_allreduce_max(p->b.ranks->all, &go_on, error));
        if (!go_on)
            goto done;
        TRY_OR(done, cpals_iterate(&p->b, &p->start, &options, NULL, &result, error));
        if (trace)
            take_least(trace, &again);
        taken += result.seconds;
    }
done:
    fit_trace_free(&again);
    return error->status;
}

/* By how much the last fit was off before the residual gave it. Where the residual gave more fits
 * than that, rounding was in the way, and the trace has the residual's. */
static double fits_off_by(const struct fit_trust *trust)
{
    return trust->checks == 1 ? trust->error : 0;
}

static enum status make_run(struct place *p, const struct way *way, const struct to_fit_request *q,
                            struct to_fit_run *run, struct error *error)
{
    struct cpals_result result;
    struct fit_trace *trace = q->tensor->comm->rank == 0 ? &run->trace : NULL;
    const struct cpals_options options = way_options(way, q->iterations, q->tolerance, trace);
    make_start(p, run->seed);
    TRY(cpals_iterate(&p->b, &p->start, &options, NULL, &result, error));
    TRY(repeat_run(p, way, q, trace, result.seconds, error));
    run->iterations = result.iterations;
    run->fit = result.fit;
    run->off_by = fits_off_by(&result.trust);
    run->stop = result.stop;
    run->seconds = trace ? trace->seconds[trace->count - 1] : result.seconds;
    return STATUS_OK;
}

static enum status make_runs(struct place *p, struct to_fit *t, struct to_fit_way *way,
                             const struct to_fit_request *q, struct progress *progress,
                             struct error *error)
{
    double start = clock_now();
    progress_stage(progress, "%s", way->way->name);
    way->open_seconds = backend_times(&p->b)->seconds[OP_OPEN][0];
    TRY(warm_up(p, way->way, q, error));
    for (int s = 0; s < t->starts; s++) {
        struct to_fit_run *run = &way->run[s];
        progress_update(progress, (double)s / t->starts, "start %d of %d", s + 1, t->starts);
        if (make_run(p, way->way, q, run, error) != STATUS_OK)
            return error_prefix(error, "%s, seed %ju: ", way->way->name, (uintmax_t)run->seed);
    }
    backend_built(&p->b, &way->built); /* some orderings are built later */
    progress_done(progress, "%d run%s, %.2f s", t->starts, t->starts == 1 ? "" : "s",
                  clock_now() - start);
    return STATUS_OK;
}

static void describe(struct to_fit *t, const struct rank_tensor *tensor)
{
    t->shape = tensor->shape;
    t->nnz = tensor->nnz;
    t->ranks = tensor->comm->size > 1 ? tensor->comm->size : 0;
    memcpy(t->parts, tensor->grid.parts, sizeof t->parts);
}

/* Measures one way. If that fails, the other ranks learn of it before the backend closes. */
static enum status go(struct to_fit *t, struct to_fit_way *way, const struct to_fit_request *q,
                      struct progress *progress, struct error *error)
{
    struct place p = {0};
    struct backend_options options = way_backend(way->way, &q->options);
    options.iterations = (uint64_t)q->iterations;
    TRY_OR(done, open_place(&p, q, &options, progress, error));
    make_runs(&p, t, way, q, progress, error);
done:
    if (error->status != STATUS_OK)
        comm_abort(q->tensor->comm, error);
    close_place(&p);
    return error->status;
}

static enum status create(struct to_fit *t, const struct to_fit_request *q, struct error *error)
{
    size_t starts = (size_t)q->starts;
    int count = 0;
    while (ways[count].name)
        count++;
    t->starts = q->starts;
    t->best = memory_zeros(starts, sizeof *t->best, error);
    t->way = memory_zeros((size_t)count, sizeof *t->way, error);
    TRY(error->status);
    for (int w = 0; w < count; w++) {
        if (!way_possible(&ways[w], q->kind, &q->options))
            continue;
        struct to_fit_way *way = &t->way[t->ways++];
        way->way = &ways[w];
        way->run = memory_zeros(starts, sizeof *way->run, error);
        if (!way->run)
            return error->status;
        for (size_t s = 0; s < starts; s++)
            way->run[s].seed = q->seed + s;
    }
    return STATUS_OK;
}

enum status to_fit_measure(struct to_fit *t, const struct to_fit_request *request,
                           struct progress *progress, struct error *error)
{
    *t = (struct to_fit){0};
    describe(t, request->tensor);
    if (create(t, request, error) != STATUS_OK) {
        comm_abort(request->tensor->comm, error);
        return error->status;
    }
    for (int w = 0; w < t->ways; w++)
        TRY(go(t, &t->way[w], request, progress, error));
    return to_fit_reach(t, error);
}

void to_fit_free(struct to_fit *t)
{
    for (int w = 0; w < t->ways; w++) {
        for (int s = 0; t->way[w].run && s < t->starts; s++)
            fit_trace_free(&t->way[w].run[s].trace);
        memory_free(t->way[w].run);
    }
    memory_free(t->way);
    memory_free(t->best);
    *t = (struct to_fit){0};
}
