#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "als/cpals.h"
#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench_reference.h"
#include "bench/bench_settle.h"

#define SEED  1
#define BATCH 16 /* calls that are queued before their times are read    */
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

/* What all measurements of one bench_run share. */
struct run {
    struct bench_result *result;
    const struct bench_request *request;
    struct progress *progress;
    struct ktensor start;
    struct bench_reference reference;
};

/* Calls MTTKRP until the backend has settled on a kernel; s->variant receives its name. */
static enum status warm_up(struct backend *b, int mode, struct bench_series *s, struct error *error)
{
    enum status status = STATUS_OK;
    bool settled = false;
    for (int call = 0; call < BENCH_MOST_WARMUP && !settled && status == STATUS_OK; call++) {
        status = backend_mttkrp(b, mode, error);
        settled = backend_describe(b, mode, s->variant, sizeof s->variant);
    }
    return status;
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
        if (backend_time_mttkrp(b, mode, batch, s->seconds + s->count, error) != STATUS_OK)
            return error->status;
        for (uint64_t i = 0; i < batch; i++)
            total += s->seconds[s->count + i];
        s->count += batch;
    }
    return bench_statistics(s->seconds, s->count, &s->statistics, error);
}

/* Verifies the last M, and notes the bytes that its MTTKRP copied from the host. */
static enum status check(const struct run *run, struct backend *b, int mode, enum conflict conflict,
                         struct bench_series *s, struct error *error)
{
    const struct bench_request *q = run->request;
    double tolerance = bench_tolerance(q->options.precision, conflict, run->result->nnz);
    s->bus_bytes = backend_bus_bytes(b, mode);
    if (bench_reference_compare(&run->reference, b, mode, &s->difference, error) != STATUS_OK)
        return error->status;
    if (!(s->difference <= tolerance))
        return error_set(error, STATUS_INTERNAL,
                         "mode %d, %s: the result is wrong: it differs by %.1e from that of %s, "
                         "expected %.1e at the most",
                         mode + 1, conflict_name(conflict), s->difference, run->reference.name,
                         tolerance);
    return STATUS_OK;
}

/* Whether the mode gets this conflict resolution, at once or when its own ordering is built later.
 */
static bool resolves(const struct plan *plan, int mode, enum conflict conflict)
{
    return plan->conflict[mode] == conflict || (plan->replicate && conflict == CONFLICT_ORDERED);
}

/* Measures the modes to which the open backend gives the resolution c->conflict. Each mode is
 * warmed up, then verified, then timed. */
static enum status measure_modes(struct run *run, struct backend *b, struct bench_resolution *c,
                                 struct error *error)
{
    struct backend_built built;
    backend_built(b, &built);
    enum status status = backend_load(b, &run->start, error);
    for (int n = 0; n < b->order && status == STATUS_OK; n++) {
        struct bench_series *s = &c->mode[n];
        if (!resolves(&built.plan, n, c->conflict))
            continue;
        progress_update(run->progress, -1, "%s, mode %d", conflict_name(c->conflict), n + 1);
        status = warm_up(b, n, s, error);
        if (status == STATUS_OK)
            status = backend_mttkrp(b, n, error);
        if (status == STATUS_OK)
            status = check(run, b, n, c->conflict, s, error);
        if (status == STATUS_OK)
            status = backend_mttkrp(b, n, error);
        if (status == STATUS_OK)
            status = take_samples(b, n, run->request->samples, s, error);
        s->measured = status == STATUS_OK;
    }
    return status;
}

/* Verifies MTTKRP of all modes for the start, with the kernels that were chosen. */
static enum status check_sweep(struct run *run, struct backend *b, struct error *error)
{
    struct backend_built built;
    backend_built(b, &built);
    enum status status = backend_load(b, &run->start, error);
    for (int n = 0; n < b->order && status == STATUS_OK; n++) {
        struct bench_series *s = &run->result->als.own.mode[n];
        backend_describe(b, n, s->variant, sizeof s->variant);
        status = backend_mttkrp(b, n, error);
        if (status == STATUS_OK)
            status = check(run, b, n, built.plan.conflict[n], s, error);
    }
    return status;
}

static enum status allocate_als(struct bench_als *als, int order, uint64_t count,
                                struct error *error)
{
    als->seconds = memory_array(count, sizeof *als->seconds, error);
    for (int n = 0; n < order && error->status == STATUS_OK; n++)
        als->own.mode[n].seconds = memory_array(count, sizeof *als->seconds, error);
    return error->status;
}

/* Times one iteration, and MTTKRP of each mode within it. */
static enum status time_sweep(struct backend *b, struct bench_als *als, struct error *error)
{
    double before[MAX_ORDER], start = clock_now();
    memcpy(before, b->seconds[OP_MTTKRP], sizeof before);
    enum status status = cpals_sweep(b, &als->fit, error);
    als->seconds[als->count++] = clock_now() - start;
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &als->own.mode[n];
        s->seconds[s->count++] = b->seconds[OP_MTTKRP][n] - before[n];
    }
    return status;
}

static enum status summarise_als(struct backend *b, struct bench_als *als, struct error *error)
{
    for (int n = 0; n < b->order; n++) {
        struct bench_series *s = &als->own.mode[n];
        if (bench_statistics(s->seconds, s->count, &s->statistics, error) != STATUS_OK)
            return error->status;
        s->measured = true;
        for (int op = 0; op < OP_COUNT; op++)
            als->operation[op][n] = b->seconds[op][n] / (double)als->count;
    }
    return bench_statistics(als->seconds, als->count, &als->statistics, error);
}

/* Warms up, verifies, and times iterations on an open backend. The first iteration after the check
 * still belongs to the warming up and is not timed. */
static enum status run_als(struct run *run, struct backend *b, struct error *error)
{
    struct bench_als *als = &run->result->als;
    uint64_t wanted = run->request->samples ? run->request->samples : BENCH_SAMPLES;
    enum status status = allocate_als(als, b->order, wanted, error);
    if (status == STATUS_OK)
        status = backend_load(b, &run->start, error);
    if (status == STATUS_OK)
        status = bench_settle(b, &als->fit, error);
    if (status == STATUS_OK)
        status = check_sweep(run, b, error);
    if (status == STATUS_OK)
        status = cpals_sweep(b, &als->fit, error);
    backend_restart_clock(b);
    double moving = backend_ranks_seconds(b->ranks);
    while (als->count < wanted && status == STATUS_OK) {
        progress_update(run->progress, -1, "ALS iteration %d", (int)als->count + 1);
        status = time_sweep(b, als, error);
    }
    run->result->communication =
        als->count ? (backend_ranks_seconds(b->ranks) - moving) / (double)als->count : 0;
    return status == STATUS_OK ? summarise_als(b, als, error) : status;
}

/* Room for a model of the rows that are here. */
static enum status create_start(struct ktensor *k, const struct bench_request *q,
                                struct error *error)
{
    return q->ranks ? ktensor_create_part(k, &q->ranks->part, q->options.rank, error)
                    : ktensor_create(k, &q->input->x.shape, q->options.rank, error);
}

/* Makes the start, and what MTTKRP must give for the start. */
static enum status prepare_check(struct run *run, const struct tensor_input *input,
                                 struct error *error)
{
    const struct bench_request *q = run->request;
    if (create_start(&run->start, q, error) != STATUS_OK)
        return error->status;
    ktensor_randomise(&run->start, KTENSOR_RANDOM, SEED);
    bench_reference_create(&run->reference, q->kind, input, q->ranks, &q->options, &run->start,
                           run->progress, error);
    memcpy(run->result->reference, run->reference.name, sizeof run->result->reference);
    return error->status;
}

/* Opens the backend of one rank of several; now the rank has its rows and nonzeros, which the start
 * and the reference are for. On failure *b is closed. */
static enum status open_part(struct run *run, struct backend *b,
                             const struct backend_options *options, struct error *error)
{
    const struct bench_request *q = run->request;
    struct backend_built built;
    if (backend_prepare_part(b, q->kind, q->part, q->ranks, options, run->progress, error) !=
            STATUS_OK ||
        backend_open_part(b, q->part, q->ranks, options, run->progress, error) != STATUS_OK)
        return error->status;
    backend_built(b, &built);
    run->result->nnz = built.nnz;
    run->result->shape = part_shape(&q->ranks->part);
    struct tensor_input input = {
        .x = q->part->x, .unread = q->part->unread, .file = q->part->file}; /* borrowed */
    input.x.shape = run->result->shape;
    input.x.nnz = built.nnz;
    return prepare_check(run, &input, error);
}

/* On failure *b is closed. */
static enum status open_backend(struct run *run, struct backend *b,
                                const struct backend_options *options,
                                const struct plan_forced *forced, struct error *error)
{
    const struct bench_request *q = run->request;
    if (q->ranks)
        return open_part(run, b, options, error);
    if (backend_prepare(b, q->kind, q->input, options, forced, run->progress, error) != STATUS_OK)
        return error->status;
    progress_stage(run->progress, STAGE); /* again: reading the nonzeros was another stage */
    return backend_open_prepared(b, q->input, options, run->progress, error);
}

/* Measures ALS on a backend that is opened as a decomposition would open it. */
static enum status measure_als(struct run *run, struct error *error)
{
    const struct bench_request *q = run->request;
    struct bench_als *als = &run->result->als;
    struct backend_options options = q->options;
    struct backend b = {0};
    options.iterations = UINT64_MAX; /* so that what pays in long runs is built */
    enum status status = open_backend(run, &b, &options, NULL, error);
    if (status == STATUS_OK) {
        als->own.name = "in ALS";
        als->own.fits = true;
        als->own.open_seconds = b.seconds[OP_OPEN][0];
        status = run_als(run, &b, error);
        backend_built(&b, &als->built); /* some orderings are built later */
        als->own.build = als->built.seconds;
    }
    backend_close(&b);
    return status;
}

/* How a backend is opened so that modes get this conflict resolution: with CONFLICT_AUTO, `ordered`
 * goes to the modes whose orderings memory has room for, and `hierarchical` to the short modes. */
static void force(const struct bench_request *q, enum conflict conflict,
                  struct backend_options *options, struct plan_forced *forced)
{
    bool ordered = conflict == CONFLICT_ORDERED && q->options.conflict == CONFLICT_AUTO;
    bool hierarchical = conflict == CONFLICT_HIERARCHICAL;
    *options = q->options;
    options->conflict = ordered || hierarchical ? CONFLICT_AUTO : conflict;
    options->no_sharing = true; /* each mode by itself */
    *forced = (struct plan_forced){.one_copy = hierarchical, .replicas_at_once = ordered};
}

/* Whether the plan gives this conflict resolution to some mode. */
static bool gives(const struct plan *plan, enum conflict conflict)
{
    bool given = false;
    for (int n = 0; n < plan->request.tensor.shape.order; n++)
        given |= resolves(plan, n, conflict);
    return given;
}

static enum status measure_resolution(struct run *run, enum conflict conflict, struct error *error)
{
    const struct bench_request *q = run->request;
    struct bench_result *r = run->result;
    struct bench_resolution *c = &r->resolution[r->resolutions];
    const struct plan_tensor tensor = backend_tensor_of_input(q->input);
    struct backend_options options;
    struct plan_forced forced;
    struct plan plan;
    force(q, conflict, &options, &forced);
    if (backend_plan(&plan, q->kind, &tensor, &options, &forced, error) != STATUS_OK)
        return error->status;
    c->fits = plan.fits;
    c->conflict = conflict;
    c->name = conflict_name(conflict);
    r->resolutions++;
    if (!plan.fits || !gives(&plan, conflict))
        return STATUS_OK;

    struct backend b = {0};
    enum status status = open_backend(run, &b, &options, &forced, error);
    if (status == STATUS_OK) {
        struct backend_built built;
        c->open_seconds = b.seconds[OP_OPEN][0];
        status = measure_modes(run, &b, c, error);
        backend_built(&b, &built);
        c->build = built.seconds;
    }
    backend_close(&b);
    return status;
}

static enum status measure_all(struct run *run, struct error *error)
{
    static const enum conflict all[BENCH_RESOLUTIONS] = {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                                         CONFLICT_REGISTER, CONFLICT_ATOMIC};
    const struct bench_request *q = run->request;
    enum conflict only = q->options.conflict;
    for (int i = 0; i < BENCH_RESOLUTIONS && !q->als_only; i++) {
        /* `atomic` rounds once for each nonzero: in single precision only where asked for. */
        bool wanted = only == CONFLICT_AUTO &&
                      (all[i] != CONFLICT_ATOMIC || q->options.precision == PRECISION_DOUBLE);
        if (wanted || only == all[i])
            if (measure_resolution(run, all[i], error) != STATUS_OK)
                return error->status;
    }
    return measure_als(run, error);
}

/* A result with what the request already tells. */
static struct bench_result empty_result(const struct bench_request *request)
{
    const struct coo *x = request->ranks ? &request->part->x : &request->input->x;
    return (struct bench_result){.shape = x->shape,
                                 .nnz = x->nnz,
                                 .rank = request->options.rank,
                                 .precision = request->options.precision};
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

enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error)
{
    struct run run = {.result = r, .request = request, .progress = progress};
    *r = empty_result(request);
    enum status status = request->ranks ? STATUS_OK : prepare(request, progress, error);
    progress_stage(progress, STAGE);
    if (status == STATUS_OK && !request->ranks)
        status = prepare_check(&run, request->input, error);
    if (status == STATUS_OK)
        status = measure_all(&run, error);
    bench_reference_free(&run.reference);
    ktensor_free(&run.start);
    if (status == STATUS_OK) {
        progress_update(progress, -1, "limits of the machine");
        status = request->kind->rates(&r->shape, &request->options, &r->rates, error);
    }
    return status;
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
