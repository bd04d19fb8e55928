/* MTTKRP of each mode by itself. */
#include "bench/bench_job.h"

#include <string.h>

#include "base/memory.h"
#include "bench/bench_warm_up.h"

#define BATCH 16 /* calls that are queued before their times are read    */

/* Calls MTTKRP until the backend has chosen a kernel; s->variant receives its name. */
static enum status warm_up(struct backend *b, int mode, struct bench_series *s, struct error *error)
{
    struct backend_built built = {0};
    for (int call = 0; call < BENCH_MOST_WARM_UP && !built.kernel[mode].chosen; call++) {
        TRY(backend_mttkrp(b, mode, error));
        backend_built(b, &built);
    }
    memcpy(s->variant, built.kernel[mode].name, sizeof s->variant);
    return STATUS_OK;
}

static enum status take_samples(struct backend *b, int mode, uint64_t wanted,
                                struct bench_series *s, struct error *error)
{
    uint64_t least = wanted ? wanted : BENCH_SAMPLES, most = wanted ? wanted : BENCH_MOST;
    double total = 0;
    s->seconds = memory_array(most, sizeof *s->seconds, error);
    if (!s->seconds)
        return error->status;
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
    return plan->conflict[mode] == conflict || (plan->replicate && conflict == CONFLICT_ORDERED);
}

/* Warms up, verifies and times MTTKRP of one mode. */
static enum status measure_mode(struct bench_job *job, struct backend *b,
                                struct bench_resolution *c, int n, struct error *error)
{
    struct bench_series *s = &c->mode[n];
    progress_update(job->progress, -1, "%s, mode %d", conflict_name(c->conflict), n + 1);
    TRY(warm_up(b, n, s, error));
    TRY(backend_mttkrp(b, n, error));
    TRY(bench_check(job, b, n, c->conflict, s, error));
    TRY(backend_mttkrp(b, n, error));
    TRY(take_samples(b, n, job->request->samples, s, error));
    s->measured = true;
    return STATUS_OK;
}

/* Measures the modes to which the open backend gives the resolution c->conflict. */
static enum status measure_modes(struct bench_job *job, struct backend *b,
                                 struct bench_resolution *c, struct error *error)
{
    struct backend_built built;
    backend_built(b, &built);
    TRY(backend_load(b, &job->start, error));
    for (int n = 0; n < b->order; n++) {
        if (!resolves(&built.plan, n, c->conflict))
            continue;
        TRY(measure_mode(job, b, c, n, error));
    }
    return STATUS_OK;
}

/* How a backend is opened so that modes get this conflict resolution: with CONFLICT_AUTO, `ordered`
 * goes to the modes whose orderings memory has room for, and `hierarchical` to the short modes. */
static void force(const struct bench_request *q, enum conflict conflict,
                  struct backend_options *options)
{
    bool ordered = conflict == CONFLICT_ORDERED && q->options.conflict == CONFLICT_AUTO;
    bool hierarchical = conflict == CONFLICT_HIERARCHICAL;
    *options = q->options;
    options->conflict = ordered || hierarchical ? CONFLICT_AUTO : conflict;
    options->no_sharing = true; /* each mode by itself */
    options->forced.one_copy = hierarchical;
    options->forced.replicas_at_once = ordered;
}

/* Whether the plan gives this conflict resolution to some mode. */
static bool gives(const struct plan *plan, enum conflict conflict)
{
    bool given = false;
    for (int n = 0; n < plan->request.tensor.shape.order; n++)
        given |= resolves(plan, n, conflict);
    return given;
}

enum status bench_measure_modes(struct bench_job *job, enum conflict conflict, struct error *error)
{
    const struct bench_request *q = job->request;
    struct bench_result *r = job->result;
    struct bench_resolution *c = &r->resolution[r->resolutions];
    const struct plan_tensor tensor = rank_tensor_for_plan(q->tensor, false);
    struct backend_options options;
    struct plan plan;
    force(q, conflict, &options);
    TRY(backend_plan(&plan, q->kind, &tensor, &options, error));
    c->fits = plan.fits;
    c->conflict = conflict;
    c->name = conflict_name(conflict);
    r->resolutions++;
    if (!plan.fits || !gives(&plan, conflict))
        return STATUS_OK;

    struct backend b = {0};
    struct backend_built built;
    TRY_OR(done, bench_open(job, &b, &options, error));
    c->open_seconds = backend_times(&b)->seconds[OP_OPEN][0];
    TRY_OR(done, measure_modes(job, &b, c, error));
    backend_built(&b, &built); /* some orderings are built later */
    c->build = built.seconds;
done:
    backend_close(&b);
    return error->status;
}
