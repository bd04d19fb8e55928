/* From a tensor to an open backend: the plan, what the plan needs read, and the build. */
#include "backend/backend.h"

#include <stdio.h>

#include "backend/value_scale.h"
#include "base/memory.h"

/* Plans with or without momentum, and streams where there is no room to unpack the file on the
 * host. */
static void plan_with(bool momentum, struct plan *plan, const struct plan_request *wanted,
                      const struct backend_options *options)
{
    struct plan_request request = *wanted;
    const struct plan_tensor *tensor = &request.tensor;
    request.momentum = momentum;
    for (int n = 0; momentum && n < tensor->shape.order; n++)
        request.previous[n] = mode_rules_begins(&options->problem.rules, tensor->shape.order, n);
    plan_make(plan, &request);
    bool unpacks = plan->fits && tensor->segment_nnz > 0 && !plan_takes_packed(plan);
    if (unpacks && !plan->streamed && !plan_can_unpack(&request)) {
        request.must_stream = true;
        plan_make(plan, &request);
    }
}

enum status backend_plan(struct plan *plan, const struct backend_kind *kind,
                         const struct plan_tensor *tensor, const struct backend_options *options,
                         struct error *error)
{
    struct plan_request request = {.tensor = *tensor,
                                   .rank = options->problem.rank,
                                   .precision = precision_last(options->problem.precision),
                                   .conflict = options->conflict,
                                   .iterations = options->iterations,
                                   .forced = options->forced};
    if (problem_by_rows(&options->problem)) /* each row's nonzeros have to be neighbours */
        request.conflict = CONFLICT_ORDERED;
    request.group = request.conflict == CONFLICT_AUTO && !options->no_sharing;
    TRY(kind->request(&request, options, error));
    plan_with(options->problem.acceleration != ACCELERATE_OFF, plan, &request, options);
    if (options->problem.acceleration == ACCELERATE_AUTO) {
        struct plan plain;
        plan_with(false, &plain, &request, options);
        /* momentum, unless the tensor is held in fewer orderings, or elsewhere, because of it */
        if (!plan->fits || plan->streamed != plain.streamed ||
            plan_orderings(plan) != plan_orderings(&plain))
            *plan = plain;
    }
    return STATUS_OK;
}

/* STATUS_MEMORY: what does not fit, and the largest rank that would. */
static enum status refuse(const struct backend_kind *kind, const struct plan *plan,
                          const struct backend_options *options, struct error *error)
{
    uint64_t fits = 0, too_large = options->problem.rank;
    const struct plan_request *r = &plan->request;
    struct backend_options with = *options; /* within the budgets of this plan */
    struct plan other;
    with.memory = r->budget;
    with.host_memory = r->can_stream ? r->host_budget : r->budget;
    while (too_large - fits > 1) {
        const uint64_t rank = with.problem.rank = fits + (too_large - fits) / 2;
        TRY(backend_plan(&other, kind, &r->tensor, &with, error));
        *(other.fits ? &fits : &too_large) = rank;
    }
    char obstacle[256], remedy[96] = "no lower rank would fit";
    if (fits > 0)
        snprintf(remedy, sizeof remedy, "rank %llu would fit", (unsigned long long)fits);
    plan_obstacle(plan, obstacle, sizeof obstacle);
    return error_set(error, STATUS_MEMORY, "backend %s, rank %llu: %s; %s", kind->name,
                     (unsigned long long)options->problem.rank, obstacle, remedy);
}

/* Plans, and refuses a plan that does not fit. */
static enum status plan_or_refuse(struct plan *plan, const struct backend_kind *kind,
                                  const struct rank_tensor *t,
                                  const struct backend_options *options, struct error *error)
{
    const struct plan_tensor tensor = rank_tensor_for_plan(t, problem_by_rows(&options->problem));
    TRY(backend_plan(plan, kind, &tensor, options, error));
    return plan->fits ? STATUS_OK : refuse(kind, plan, options, error);
}

enum status backend_check_fits(const struct backend_kind *kind, const struct rank_tensor *t,
                               const struct backend_options *options, struct error *error)
{
    struct plan plan;
    if (t->estimated) /* nobody knows yet */
        return STATUS_OK;
    return plan_or_refuse(&plan, kind, t, options, error);
}

/* Whether the backend builds from the bytes of the file; with several ranks, each takes its part
 * from them. Where rows have systems of their own, values are looked at first: only a tensor that
 * is streamed, of which all listed values are known and not 0, stays in the file. */
static bool builds_from_file(const struct backend *b, const struct rank_tensor *t)
{
    if (!t->input.unread || !b->plan.fits || !plan_takes_packed(&b->plan))
        return false;
    if (problem_by_rows(&b->options.problem) &&
        (t->comm->size > 1 || !b->plan.streamed || t->listed.unknown > 0 || t->listed.zeros > 0))
        return false;
    return t->comm->size == 1 || (b->kind->takes_parts && !b->plan.streamed);
}

/* Plans, and reads what the plan needs. Where numbers are estimates, the nonzeros are read unless
 * every rank's backend takes its part from the file. */
static enum status plan_and_read(struct backend *b, struct rank_tensor *t,
                                 struct progress *progress, struct error *error)
{
    struct comm *all = t->comm;
    const bool by_rows = problem_by_rows(&b->options.problem);
    if (t->estimated) {
        const struct plan_tensor tensor = rank_tensor_for_plan(t, by_rows);
        backend_plan(&b->plan, b->kind, &tensor, &b->options, error);
        TRY(comm_allreduce_error(all, error));
        int needed = !builds_from_file(b, t);
        TRY(comm_allreduce_max(all, &needed, error));
        if (needed)
            TRY(rank_tensor_read(t, progress, error));
    }
    if (!t->input.unread)
        TRY(rank_tensor_divide_rows(t, by_rows, error));
    TRY(plan_or_refuse(&b->plan, b->kind, t, &b->options, error));
    if (!t->input.unread || builds_from_file(b, t))
        return STATUS_OK;
    TRY(rank_tensor_read(t, progress, error));
    return rank_tensor_divide_rows(t, by_rows, error);
}

/* Plans once more where this rank has room for momentum, but another has not. */
static enum status agree_on_momentum(struct backend *b, const struct rank_tensor *t,
                                     struct error *error)
{
    struct backend_options plain = b->options;
    plain.problem.acceleration = ACCELERATE_OFF;
    int without = !b->plan.request.momentum;
    TRY_OR(done, comm_allreduce_max(t->comm, &without, error));
    if (without && b->plan.request.momentum)
        plan_or_refuse(&b->plan, b->kind, t, &plain, error);
done:
    return comm_end_phase(t->comm, error);
}

enum status backend_prepare(struct backend *b, const struct backend_kind *kind,
                            struct rank_tensor *t, const struct backend_options *options,
                            struct progress *progress, struct error *error)
{
    struct comm *all = t->comm; /* *t is empty after a read that fails */
    const uint64_t unknown = t->listed.unknown;
    *b = (struct backend){.kind = kind,
                          .options = *options,
                          .order = t->shape.order,
                          .precision = precision_last(options->problem.precision),
                          .problem = {.asked = &b->options.problem,
                                      .order = t->shape.order,
                                      .count = problem_count(&options->problem, -1)},
                          .last.op = OP_OPEN};
    /* Unknown entries need systems of rows, which the caller must ask for (struct unlisted). */
    if (unknown > 0 && !options->problem.unlisted.weighed)
        error_set(error, STATUS_INPUT,
                  "the tensor has %llu unknown entr%s (nan), which only blco cpd takes",
                  (unsigned long long)unknown, unknown == 1 ? "y" : "ies");
    if (comm_end_phase(all, error) != STATUS_OK) /* plan_and_read needs every rank */
        goto done;
    plan_and_read(b, t, progress, error);
    TRY_OR(done, comm_end_phase(all, error));
    if (options->problem.acceleration == ACCELERATE_AUTO)
        agree_on_momentum(b, t, error);
done:
    if (error->status != STATUS_OK)
        backend_close(b);
    return error->status;
}

static enum status sum_norms(struct tensor_source *known, struct error *error)
{
    known->norm_sq = coo_norm_sq(known->x);
    return comm_allreduce_sum(known->ranks->all, &known->norm_sq, 1, error);
}

/* Sets the norm of nonzeros in memory, and scales them where that is needed; *scaled then has the
 * values that *known points to. The caller frees scaled->value. */
static enum status take_norm(struct backend *b, struct tensor_source *known, struct coo *scaled,
                             struct error *error)
{
    const enum precision precision = precision_first(b->options.problem.precision);
    TRY(sum_norms(known, error));
    if (loss_of(b->options.problem.loss)->kind != POISSON_COUNTS ||
        !value_scale_needed(known->norm_sq, known->x->shape.order, precision))
        return backend_check_norm(known->norm_sq, NULL, error);
    TRY(value_scale_apply(scaled, &b->problem.exponent, known->x, known->ranks->all, error));
    known->x = scaled;
    known->spent = NULL;
    TRY(sum_norms(known, error));
    return backend_check_norm(known->norm_sq, NULL, error);
}

enum status backend_build(struct backend *b, struct rank_tensor *t, struct progress *progress,
                          struct error *error)
{
    const bool unread = t->input.unread;
    struct coo scaled = {0};
    struct tensor_source source = {
        .x = &t->input.x,
        .spent = b->options.spends && !t->borrowed && !unread ? &t->input.x : NULL,
        .file = unread ? &t->input.file : NULL,
        .file_name = t->input.file.name,
        .parts = unread && t->comm->size > 1,
        .ranks = &t->rows,
        .problem = &b->problem};
    const struct unlisted *u = &b->options.problem.unlisted;
    b->ranks = &t->rows;
    b->problem.listed = (double)t->nnz;
    double unlisted = (double)t->holdout_set.all_unlisted, unknown = (double)t->listed.unknown;
    for (int n = 0; n < t->shape.order; n++) {
        b->problem.listed /= (double)t->shape.dims[n];
        unlisted /= (double)t->shape.dims[n];
        unknown /= (double)t->shape.dims[n];
    }
    unlisted = 1 - b->problem.listed - unlisted;
    b->problem.unknown = unknown + (1 - problem_count(&b->options.problem, -1).weight) * unlisted;
    TRY_OR(done, operation_begin(&b->clock, OP_OPEN, error));
    if (!unread)
        TRY_OR(done, take_norm(b, &source, &scaled, error));
    if (problem_has_rates(&b->options.problem)) {
        const struct count_weights weights = {loss_of(b->options.problem.loss), u->weighed,
                                              u->weight, b->problem.exponent};
        TRY_OR(done,
               count_null_find(&b->problem.null, source.x, source.file, &t->rows, &weights, error));
    }
    TRY_OR(done, b->kind->open(&b->state, &source, &b->plan, &b->options, progress, error));
    TRY_OR(done, operation_end(&b->clock, OP_OPEN, 0, error));
    b->clock.events = b->kind->ops->events;
    b->clock.queue = b->state;
done:
    memory_free(scaled.value);
    if (error->status != STATUS_OK)
        backend_close(b);
    return error->status;
}

enum status backend_open(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error)
{
    struct rank_tensor *t = memory_zeros(1, sizeof *t, error);
    struct comm *self = comm_self(error);
    *b = (struct backend){0};
    TRY_OR(failed, error->status);
    TRY_OR(failed, rank_tensor_share(t, self, x, NULL, error));
    TRY_OR(failed, backend_prepare(b, kind, t, options, progress, error));
    TRY_OR(failed, backend_build(b, t, progress, error));
    b->own = t;
    b->self = self;
    return STATUS_OK;
failed:
    if (t)
        rank_tensor_close(t);
    memory_free(t);
    comm_finalize(self);
    return error->status;
}
