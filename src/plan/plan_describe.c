#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "plan/plan.h"
#include "plan/tile_choice.h"
#include "tensor/ordering.h"

/* A text that grows; what does not fit is cut off. */
struct text {
    char *to;
    uint64_t size, used;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct text *t, const char *format, ...)
{
    if (t->used >= t->size)
        return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(t->to + t->used, t->size - t->used, format, args);
    va_end(args);
    t->used = length < 0 ? t->size : t->used + (uint64_t)length;
}

/* tile: NULL where the ordering of mode n can have none. */
static void describe_mode(const struct plan *plan, int n, const struct tile *tile, struct text *t)
{
    const struct plan_request *r = &plan->request;
    const char *streamed = plan->streamed ? ", streamed" : "";
    struct cache_tile_request cached;
    append(t, "mode %d: length %" PRIu64 ", %s, ", n + 1, r->tensor.shape.dims[n],
           conflict_name(plan->conflict[n]));
    if (!conflict_traits[plan->conflict[n]].ordered)
        append(t, "the shared alto ordering%s", streamed);
    else if (plan->streamed)
        append(t, "its own ordering, streamed");
    else
        append(t, "its own ordering of %s", NUMBER_SIZE(plan->tensor_bytes));
    for (int k = 0; tile && k < tile->modes; k++)
        append(t, "%s %" PRIu64 " rows of mode %d", k == 0 ? ", in tiles of" : " and",
               tile_length(tile, r->tensor.shape.dims[tile->mode[k]]), tile->mode[k] + 1);
    cache_tile_request(&cached, plan, &r->tensor.shape, r->tensor.nnz);
    if (tile && tile->modes == 0 && cache_tile_open(&cached, n)) /* the nonzeros will decide */
        append(t, ", in tiles of the L2 cache where these pay");
    if (plan->sorted[n])
        append(t, ", batches sorted by row");
    if (conflict_traits[plan->conflict[n]].copied)
        append(t, ", copies of %s",
               NUMBER_SIZE(number_whole((double)r->copies * (double)r->tensor.shape.dims[n] *
                                        (double)r->row_bytes)));
    append(t, "\n");
}

static void describe_in_memory(const struct plan *plan, struct text *t)
{
    int orderings = plan_orderings(plan);
    append(t,
           "memory: %d ordering%s of %s + factors %s + copies %s = %s of the "
           "%s that may be used\n",
           orderings, orderings == 1 ? "" : "s", NUMBER_SIZE(plan->tensor_bytes),
           NUMBER_SIZE(plan->factor_bytes), NUMBER_SIZE(plan->copy_bytes),
           NUMBER_SIZE(plan_running_bytes(plan)), NUMBER_SIZE(plan->request.budget));
    if (plan->building_bytes > 0)
        append(t, "building: nonzeros, orderings and sorts take up to %s\n",
               NUMBER_SIZE(plan->building_bytes));
    if (plan->request.model_bytes > 0)
        append(t, "in addition: %s for the model\n", NUMBER_SIZE(plan->request.model_bytes));
}

/* What stays on the device serves every mode. The rest flows: of alto once for each mode, of
 * orderings `mode n` once for their mode. */
static void describe_streamed(const struct plan *plan, struct text *t)
{
    int orderings = plan_orderings(plan);
    uint64_t passes = plan->replicas > 0 ? 1 : (uint64_t)plan->request.tensor.shape.order;
    uint64_t stay =
        plan->resident_bytes < plan->host_bytes ? plan->resident_bytes : plan->host_bytes;
    append(t,
           "streaming: %d packed ordering%s in host memory, %s at most, of which %s stay on the "
           "GPU; %s at most flow in an iteration, %" PRIu64 " nonzeros at a time\n",
           orderings, orderings == 1 ? "" : "s", NUMBER_SIZE(plan->host_bytes), NUMBER_SIZE(stay),
           NUMBER_SIZE(passes * (plan->host_bytes - stay)), plan->batch_nnz);
    /* Once each mode has its own ordering, if these are as large as alto. */
    const uint64_t all = (uint64_t)plan->request.tensor.shape.order * plan->host_bytes;
    const uint64_t flows = all > plan->resident_bytes ? all - plan->resident_bytes : 0;
    if (plan->replicate)
        append(t,
               "once that pays: each mode from its own ordering, built on the GPU if host memory "
               "has room; %s in all, of which about %s flow\n",
               NUMBER_SIZE(all), NUMBER_SIZE(flows));
    append(t,
           "memory: what stays %s + %d queues %s + factors %s + copies %s = "
           "%s of the %s that may be used\n",
           NUMBER_SIZE(plan->resident_bytes), PLAN_SLOTS, NUMBER_SIZE(plan->flow_bytes),
           NUMBER_SIZE(plan->factor_bytes), NUMBER_SIZE(plan->copy_bytes),
           NUMBER_SIZE(plan->total_bytes - plan->system_bytes), NUMBER_SIZE(plan->request.budget));
}

void plan_describe(const struct plan *plan, const struct mode_groups *groups, char *text,
                   uint64_t size)
{
    struct text t = {.to = text, .size = size};
    struct tile tile[MAX_ORDER];
    char obstacle[256];
    bool ordered[MAX_ORDER];
    const struct plan_tensor *x = &plan->request.tensor;
    /* Whether each mode has an ordering of its own, of the tensor itself: not where modes share. */
    const bool shared = groups && groups->groups < x->shape.order;
    for (int n = 0; n < x->shape.order; n++)
        ordered[n] = !plan->streamed && !shared && conflict_traits[plan->conflict[n]].ordered;
    const uint64_t sums = tile_choose_all(tile, plan, &x->shape, x->nnz, ordered);
    for (int n = 0; n < x->shape.order; n++)
        describe_mode(plan, n, ordered[n] ? &tile[n] : NULL, &t);
    for (int g = 0; groups && g < groups->groups; g++)
        if (mode_groups_size(groups, g) > 1)
            append(&t, "modes %d to %d share partial products and one ordering\n",
                   groups->first[g] + 1, groups->first[g + 1]);
    if (plan->streamed)
        describe_streamed(plan, &t);
    else
        describe_in_memory(plan, &t);
    if (plan->system_bytes > 0)
        append(&t, "in addition: %s for systems of rows\n", NUMBER_SIZE(plan->system_bytes));
    if (sums > 0)
        append(&t, "in addition: about %s for the partial sums of tiles\n", NUMBER_SIZE(sums));
    if (plan->fits)
        return;
    plan_obstacle(plan, obstacle, sizeof obstacle);
    append(&t, "does not fit: %s\n", obstacle);
}

void plan_obstacle(const struct plan *plan, char *text, uint64_t size)
{
    const struct plan_request *r = &plan->request;
    char budget[NUMBER_SIZE_TEXT], factors[NUMBER_SIZE_TEXT], tensor[NUMBER_SIZE_TEXT];
    struct text t = {.to = text, .size = size};
    uint64_t fixed = plan->factor_bytes + plan->copy_bytes + r->model_bytes + plan->system_bytes;
    number_size(r->budget, budget);
    number_size(fixed < plan->factor_bytes ? UINT64_MAX : fixed, factors);
    if (fixed < plan->factor_bytes || fixed > r->budget) {
        append(&t, "factors of %s do not fit into the %s of memory that may be used", factors,
               budget);
    } else if (!plan->streamed && plan->building_bytes > plan_running_bytes(plan)) {
        append(&t,
               "building an ordering of %" PRIu64 " nonzeros takes %s, more than the %s of memory "
               "that may be used",
               r->tensor.nnz, number_size(plan->total_bytes, tensor), budget);
    } else if (!plan->streamed) {
        int orderings = plan_orderings(plan);
        uint64_t bytes = (uint64_t)orderings * plan->tensor_bytes;
        append(&t, "factors of %s and %s of %s do not fit into the %s of memory that may be used",
               factors, orderings == 1 ? "an ordering" : "orderings", number_size(bytes, tensor),
               budget);
        if (r->can_stream)
            append(&t, ", and an encoding line of %d bits is too long to be streamed",
                   ordering_line_bits(&r->tensor.shape));
    } else if (plan->total_bytes > r->budget) {
        append(&t,
               "factors of %s and queues of %s, through which the tensor flows, do not fit into "
               "the %s of memory that may be used",
               factors, number_size(plan->flow_bytes, tensor), budget);
    } else {
        append(&t,
               "the packed tensor takes %s at most, more than the %s of host memory that may "
               "be used",
               number_size(plan->host_bytes, tensor), number_size(r->host_budget, budget));
    }
}
