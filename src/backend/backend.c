#include "backend/backend.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "formats/tensor_input.h"

static const struct backend_ops *const backends[] = {&backend_cuda, &backend_host};

const char *operation_name(enum operation op)
{
    static const char *const names[OP_COUNT] = {"open",      "load", "mttkrp", "solve",
                                                "normalise", "gram", "fit",    "store"};
    return names[op];
}

enum status backend_choose(const struct backend_ops **ops, const char *name, struct error *why_not,
                           struct error *error)
{
    *ops = NULL;
    if (strcmp(name, "auto") == 0) {
        struct error reason = {0};
        *ops = backend_cuda.available(&reason) == STATUS_OK ? &backend_cuda : &backend_host;
        if (why_not)
            *why_not = reason;
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strcmp(name, backends[i]->name) != 0)
            continue;
        if (backends[i]->available(error) != STATUS_OK)
            return error_prefix(error, "backend %s: ", name);
        *ops = backends[i];
        return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT, "unknown backend \"%s\", expected auto, cuda or host",
                     name);
}

double backend_build_seconds(const struct backend_build *build)
{
    double seconds = build->upload + build->presort + build->alto + build->mode_groups;
    for (int n = 0; n < MAX_ORDER; n++)
        seconds += build->replica[n];
    return seconds;
}

/* Adds up the time between the stamps that have come together; the next ones count from now on. */
static enum status collect(struct backend *b, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 1; i <= b->stamps && status == STATUS_OK; i++) {
        double seconds = 0;
        status = b->ops->elapsed(b->state, i - 1, i, &seconds, error);
        b->seconds[b->stamped[i].op][b->stamped[i].mode] += seconds;
    }
    b->stamps = 0;
    return status == STATUS_OK ? b->ops->stamp(b->state, 0, error) : status;
}

/* Books the operation that `status` comes from. Where a backend works on after its calls have
 * returned, the time is that between stamps in its queue, read when the queue is known to be empty.
 */
static enum status account(struct backend *b, enum operation op, int mode, double start,
                           enum status status, struct error *error)
{
    b->calls[op][mode]++;
    if (op == OP_OPEN || op == OP_LOAD || !b->ops->stamp) {
        b->seconds[op][mode] += clock_now() - start;
        return status == STATUS_OK && op == OP_LOAD && b->ops->stamp
                   ? b->ops->stamp(b->state, 0, error)
                   : status;
    }
    if (status != STATUS_OK)
        return status;
    b->stamps++;
    b->stamped[b->stamps].op = op;
    b->stamped[b->stamps].mode = mode;
    status = b->ops->stamp(b->state, b->stamps, error);
    if (status == STATUS_OK && (op == OP_FIT || op == OP_STORE || b->stamps == BACKEND_STAMPS - 1))
        status = collect(b, error);
    return status;
}

enum status backend_check_norm(double norm_sq, struct error *error)
{
    if (!isfinite(norm_sq))
        return error_set(error, STATUS_NUMERICAL,
                         "the squared norm of the tensor is %g: values are not finite or too large",
                         norm_sq);
    if (norm_sq < DBL_MIN)
        return error_set(error, STATUS_INPUT,
                         "the squared norm of the tensor is %g: there is nothing to decompose, or "
                         "values are too small",
                         norm_sq);
    return STATUS_OK;
}

/* The plan for `rank` with the budgets of b->plan. */
static enum status plan_at(const struct backend *b, const struct coo *x,
                           const struct backend_options *options, uint64_t rank, struct plan *plan,
                           struct error *error)
{
    const struct plan_request *r = &b->plan.request;
    struct backend_options other = *options;
    other.rank = rank;
    other.memory = r->budget;
    other.host_memory = r->can_stream ? r->host_budget : r->budget;
    return b->ops->plan(x->shape.order, x->shape.dims, x->nnz, &other, plan, error);
}

/* Says what the plan needs and which rank would fit instead. */
static enum status refuse(const struct backend *b, const struct coo *x,
                          const struct backend_options *options, struct error *error)
{
    uint64_t fits = 0, too_large = options->rank;
    struct plan plan;
    while (too_large - fits > 1) {
        uint64_t rank = fits + (too_large - fits) / 2;
        if (plan_at(b, x, options, rank, &plan, error) != STATUS_OK)
            return error->status;
        *(plan.fits ? &fits : &too_large) = rank;
    }
    char obstacle[256], remedy[96] = "no lower rank would fit";
    if (fits > 0)
        snprintf(remedy, sizeof remedy, "rank %llu would fit", (unsigned long long)fits);
    plan_obstacle(&b->plan, obstacle, sizeof obstacle);
    return error_set(error, STATUS_MEMORY, "backend %s, rank %llu: %s; %s", b->ops->name,
                     (unsigned long long)options->rank, obstacle, remedy);
}

/* Plans for a tensor of x's shape. On failure *b is closed. */
static enum status make_plan(struct backend *b, const struct backend_ops *ops, const struct coo *x,
                             const struct backend_options *options, struct error *error)
{
    memset(b, 0, sizeof *b);
    b->ops = ops;
    b->order = x->shape.order;
    enum status status = ops->plan(x->shape.order, x->shape.dims, x->nnz, options, &b->plan, error);
    if (status == STATUS_OK && !b->plan.fits)
        status = refuse(b, x, options, error);
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

/* Builds what was planned. On failure *b is closed. */
static enum status build(struct backend *b, const struct tensor_source *source,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error)
{
    double start = clock_now();
    struct tensor_source known = *source;
    enum status status = STATUS_OK;
    if (!source->file) {
        known.norm_sq = coo_norm_sq(source->x);
        status = backend_check_norm(known.norm_sq, error);
    }
    if (status == STATUS_OK)
        status = b->ops->open(&b->state, &known, &b->plan, options, progress, error);
    status = account(b, OP_OPEN, 0, start, status, error);
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

enum status backend_open(struct backend *b, const struct backend_ops *ops, const struct coo *x,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error)
{
    const struct tensor_source source = {.x = x};
    enum status status = make_plan(b, ops, x, options, error);
    return status == STATUS_OK ? build(b, &source, options, progress, error) : status;
}

/* Nonzeros that are still in the input's file can stay there until they are built from. */
static bool takes_file(const struct plan *plan, const struct tensor_input *input)
{
    return input->unread && plan_takes_packed(plan, input->file.header->segment_nnz);
}

enum status backend_prepare(struct backend *b, const struct backend_ops *ops,
                            struct tensor_input *input, const struct backend_options *options,
                            struct progress *progress, struct error *error)
{
    struct backend_options known = *options;
    if (input->unread)
        known.alto_bytes = input->file.header->data_bytes;
    enum status status = make_plan(b, ops, &input->x, &known, error);
    if (status == STATUS_OK && input->unread && !b->plan.streamed && !takes_file(&b->plan, input) &&
        !plan_can_unpack(&b->plan.request)) {
        known.must_stream = true;
        status = make_plan(b, ops, &input->x, &known, error);
    }
    if (status != STATUS_OK || takes_file(&b->plan, input))
        return status;
    status = tensor_input_read(input, progress, error);
    if (status != STATUS_OK)
        backend_close(b);
    return status;
}

enum status backend_open_prepared(struct backend *b, const struct tensor_input *input,
                                  const struct backend_options *options, struct progress *progress,
                                  struct error *error)
{
    const struct tensor_source source = {.x = &input->x,
                                         .file = input->unread ? &input->file : NULL};
    return build(b, &source, options, progress, error);
}

enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->load(b->state, k, error);
    return account(b, OP_LOAD, 0, start, status, error);
}

enum status backend_mttkrp(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->mttkrp(b->state, mode, error);
    return account(b, OP_MTTKRP, mode, start, status, error);
}

enum status backend_solve(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->solve(b->state, mode, error);
    return account(b, OP_SOLVE, mode, start, status, error);
}

enum status backend_normalise(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->normalise(b->state, mode, error);
    return account(b, OP_NORMALISE, mode, start, status, error);
}

enum status backend_gram(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->gram(b->state, mode, error);
    return account(b, OP_GRAM, mode, start, status, error);
}

enum status backend_fit(struct backend *b, int mode, double *fit, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->fit(b->state, mode, fit, error);
    return account(b, OP_FIT, mode, start, status, error);
}

enum status backend_store(struct backend *b, struct ktensor *k, struct error *error)
{
    double start = clock_now();
    enum status status = b->ops->store(b->state, k, error);
    return account(b, OP_STORE, 0, start, status, error);
}

void backend_close(struct backend *b)
{
    if (b->ops && b->state)
        b->ops->close(b->state);
    memset(b, 0, sizeof *b);
}
