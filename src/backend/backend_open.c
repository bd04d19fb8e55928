/* From a tensor to an open backend: the plan, what the plan needs read, and the build. */
#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

#include "backend/value_scale.h"
#include "base/clock.h"
#include "base/memory.h"
#include "formats/tensor_input.h"
#include "ranks/rank_tensor.h"

struct plan_tensor backend_tensor_of_file(const struct blco_file *file)
{
    return (struct plan_tensor){.shape = file->shape,
                                .nnz = file->header->nnz,
                                .alto_bytes = file->header->data_bytes,
                                .segment_nnz = file->header->segment_nnz};
}

struct plan_tensor backend_tensor_of_input(const struct tensor_input *input)
{
    return input->unread ? backend_tensor_of_file(&input->file)
                         : (struct plan_tensor){.shape = input->x.shape, .nnz = input->x.nnz};
}

/* Plans with or without momentum, and streams where there is no room to unpack the file on the
 * host. */
static void plan_with(bool momentum, struct plan *plan, const struct plan_request *wanted,
                      const struct backend_options *options)
{
    struct plan_request request = *wanted;
    const struct plan_tensor *tensor = &request.tensor;
    request.momentum = momentum;
    for (int n = 0; momentum && n < tensor->shape.order; n++)
        request.second[n] = mode_rules_begins(&options->problem.rules, tensor->shape.order, n);
    plan_make(plan, &request);
    bool unpacks = plan->fits && tensor->segment_nnz > 0 && !plan_takes_packed(plan);
    if (unpacks && !plan->streamed && !plan_can_unpack(&request)) {
        request.must_stream = true;
        plan_make(plan, &request);
    }
}

/* Whether both plans hold the tensor in the same orderings at the same place. */
static bool holds_alike(const struct plan *a, const struct plan *b)
{
    return a->streamed == b->streamed && plan_orderings(a) == plan_orderings(b);
}

enum status backend_plan(struct plan *plan, const struct backend_kind *kind,
                         const struct plan_tensor *tensor, const struct backend_options *options,
                         const struct plan_forced *forced, struct error *error)
{
    struct plan_request request;
    if (kind->request(&request, tensor, options, error) != STATUS_OK)
        return error->status;
    if (forced)
        request.forced = *forced;
    plan_with(options->problem.acceleration != ACCELERATE_OFF, plan, &request, options);
    if (options->problem.acceleration == ACCELERATE_AUTO) {
        struct plan plain;
        plan_with(false, &plain, &request, options);
        if (!plan->fits || !holds_alike(plan, &plain))
            *plan = plain;
    }
    return STATUS_OK;
}

/* *other = the plan for `rank` within the budgets of *plan. */
static enum status plan_at(struct plan *other, const struct backend_kind *kind,
                           const struct plan *plan, const struct backend_options *options,
                           uint64_t rank, struct error *error)
{
    const struct plan_request *r = &plan->request;
    struct backend_options with = *options;
    with.problem.rank = rank;
    with.memory = r->budget;
    with.host_memory = r->can_stream ? r->host_budget : r->budget;
    return backend_plan(other, kind, &r->tensor, &with, &r->forced, error);
}

/* STATUS_MEMORY: what does not fit, and the largest rank that would. */
static enum status refuse(const struct backend_kind *kind, const struct plan *plan,
                          const struct backend_options *options, struct error *error)
{
    uint64_t fits = 0, too_large = options->problem.rank;
    struct plan other;
    while (too_large - fits > 1) {
        uint64_t rank = fits + (too_large - fits) / 2;
        if (plan_at(&other, kind, plan, options, rank, error) != STATUS_OK)
            return error->status;
        *(other.fits ? &fits : &too_large) = rank;
    }
    char obstacle[256], remedy[96] = "no lower rank would fit";
    if (fits > 0)
        snprintf(remedy, sizeof remedy, "rank %llu would fit", (unsigned long long)fits);
    plan_obstacle(plan, obstacle, sizeof obstacle);
    return error_set(error, STATUS_MEMORY, "backend %s, rank %llu: %s; %s", kind->name,
                     (unsigned long long)options->problem.rank, obstacle, remedy);
}

/* Plans, and refuses a plan that does not fit. On failure *b is closed. */
static enum status begin(struct backend *b, const struct backend_kind *kind,
                         const struct plan_tensor *tensor, const struct backend_options *options,
                         const struct plan_forced *forced, struct error *error)
{
    memset(b, 0, sizeof *b);
    b->kind = kind;
    b->order = tensor->shape.order;
    b->problem = options->problem;
    b->precision = options->problem.precision;
    b->m_mode = b->updated_mode = -1;
    enum status status = backend_plan(&b->plan, kind, tensor, options, forced, error);
    if (status == STATUS_OK && !b->plan.fits)
        status = refuse(kind, &b->plan, options, error);
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

/* Gives a source without ranks the one rank that there is. */
static enum status stand_alone(struct backend *b, struct tensor_source *source, struct error *error)
{
    b->self = comm_self(error);
    source->ranks = &b->alone;
    return b->self ? rank_rows_alone(&b->alone, b->self, &source->x->shape, error) : error->status;
}

static enum status sum_norms(struct tensor_source *known, struct error *error)
{
    known->norm_sq = coo_norm_sq(known->x);
    return comm_allreduce_sum(known->ranks->all, &known->norm_sq, 1, error);
}

/* Sets the norm of nonzeros in memory, and scales them where it takes that; *scaled then has the
 * values that *known points to. The caller frees scaled->value. */
static enum status take_norm(struct backend *b, struct tensor_source *known, struct coo *scaled,
                             enum precision precision, struct error *error)
{
    if (sum_norms(known, error) != STATUS_OK)
        return error->status;
    if (value_scale_needed(known->norm_sq, known->x->shape.order, precision)) {
        if (value_scale_apply(scaled, &b->exponent, known->x, known->ranks->all, error) !=
            STATUS_OK)
            return error->status;
        known->x = scaled;
        known->spent = NULL;
        if (sum_norms(known, error) != STATUS_OK)
            return error->status;
    }
    return backend_check_norm(known->norm_sq, NULL, error);
}

/* Builds what b->plan asks for. On failure *b is closed. */
static enum status build(struct backend *b, const struct tensor_source *source,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error)
{
    double start = clock_now();
    struct tensor_source known = *source;
    struct coo scaled = {0};
    enum status status = STATUS_OK;
    if (!source->ranks)
        status = stand_alone(b, &known, error);
    b->ranks = known.ranks;
    if (status == STATUS_OK && !source->file)
        status = take_norm(b, &known, &scaled, problem_first_precision(&options->problem), error);
    if (status == STATUS_OK)
        status = b->kind->open(&b->state, &known, &b->plan, options, progress, error);
    memory_free(scaled.value);
    b->calls[OP_OPEN][0]++;
    b->seconds[OP_OPEN][0] += clock_now() - start;
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

/* Plans, and builds from nonzeros in memory. On failure *b is closed. */
static enum status open_source(struct backend *b, const struct backend_kind *kind,
                               const struct tensor_source *source,
                               const struct backend_options *options,
                               const struct plan_forced *forced, struct progress *progress,
                               struct error *error)
{
    const struct plan_tensor tensor = {.shape = source->x->shape, .nnz = source->x->nnz};
    enum status status = begin(b, kind, &tensor, options, forced, error);
    return status == STATUS_OK ? build(b, source, options, progress, error) : status;
}

enum status backend_open(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options, const struct plan_forced *forced,
                         struct progress *progress, struct error *error)
{
    const struct tensor_source source = {.x = x};
    return open_source(b, kind, &source, options, forced, progress, error);
}

enum status backend_prepare(struct backend *b, const struct backend_kind *kind,
                            struct tensor_input *input, const struct backend_options *options,
                            const struct plan_forced *forced, struct progress *progress,
                            struct error *error)
{
    const struct plan_tensor tensor = backend_tensor_of_input(input);
    enum status status = begin(b, kind, &tensor, options, forced, error);
    if (status != STATUS_OK || plan_takes_packed(&b->plan))
        return status;
    status = tensor_input_read(input, progress, error);
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

enum status backend_open_prepared(struct backend *b, struct tensor_input *input,
                                  const struct backend_options *options, struct progress *progress,
                                  struct error *error)
{
    const struct tensor_source source = {.x = &input->x,
                                         .spent = options->spends ? &input->x : NULL,
                                         .file = input->unread ? &input->file : NULL,
                                         .file_name = input->file.name};
    return build(b, &source, options, progress, error);
}

/* The tensor of this rank of `all` as a plan sees it. */
static struct plan_tensor tensor_of_part(const struct rank_tensor *t, const struct comm *all)
{
    return (struct plan_tensor){.shape = t->x.shape,
                                .nnz = t->x.nnz,
                                .segment_nnz = t->unread ? t->file.header->segment_nnz : 0,
                                .is_part = all->size > 1};
}

/* Whether the backend takes this rank's part from the file as the plan has it. */
static bool takes_part(const struct backend_kind *kind, const struct plan *plan)
{
    return kind->takes_parts && plan->fits && !plan->streamed && plan_takes_packed(plan);
}

/* Reads the nonzeros of t unless every rank's backend takes its part from the file. */
static enum status read_where_needed(const struct backend_kind *kind, struct rank_tensor *t,
                                     struct comm *all, const struct backend_options *options,
                                     struct progress *progress, struct error *error)
{
    struct plan plan = {0};
    const struct plan_tensor tensor = tensor_of_part(t, all);
    backend_plan(&plan, kind, &tensor, options, NULL, error);
    int needed = !takes_part(kind, &plan);
    if (comm_allreduce_error(all, error) != STATUS_OK ||
        comm_allreduce_max(all, &needed, error) != STATUS_OK || !needed)
        return error->status;
    return rank_tensor_read(t, all, progress, error);
}

static enum status begin_part(struct backend *b, const struct backend_kind *kind,
                              const struct rank_tensor *t, const struct comm *all,
                              const struct backend_options *options, struct error *error)
{
    const struct plan_tensor tensor = tensor_of_part(t, all);
    return begin(b, kind, &tensor, options, NULL, error);
}

/* Plans once more where this rank has room for momentum, but another has not. */
static enum status agree_on_momentum(struct backend *b, const struct rank_tensor *t,
                                     struct comm *all, const struct backend_options *options,
                                     struct error *error)
{
    struct backend_options plain = *options;
    plain.problem.acceleration = ACCELERATE_OFF;
    int without = !b->plan.request.momentum;
    if (comm_allreduce_max(all, &without, error) == STATUS_OK && without &&
        b->plan.request.momentum)
        begin_part(b, b->kind, t, all, &plain, error);
    return comm_end_phase(all, error);
}

enum status backend_prepare_part(struct backend *b, const struct backend_kind *kind,
                                 struct rank_tensor *t, struct rank_rows *ranks,
                                 const struct backend_options *options, struct progress *progress,
                                 struct error *error)
{
    memset(b, 0, sizeof *b);
    if (t->unread && read_where_needed(kind, t, ranks->all, options, progress, error) != STATUS_OK)
        return comm_end_phase(ranks->all, error);
    if (t->unread || rank_rows_divide(ranks, &t->x, error) == STATUS_OK)
        begin_part(b, kind, t, ranks->all, options, error);
    if (comm_end_phase(ranks->all, error) == STATUS_OK &&
        options->problem.acceleration == ACCELERATE_AUTO)
        agree_on_momentum(b, t, ranks->all, options, error);
    if (error->status != STATUS_OK)
        backend_close(b);
    return error->status;
}

enum status backend_open_part(struct backend *b, const struct rank_tensor *t,
                              struct rank_rows *ranks, const struct backend_options *options,
                              struct progress *progress, struct error *error)
{
    const struct tensor_source source = {.x = &t->x,
                                         .file = t->unread ? &t->file : NULL,
                                         .file_name = t->file.name,
                                         .parts = t->unread,
                                         .ranks = ranks};
    return build(b, &source, options, progress, error);
}
