#include <string.h>

#include "plan/plan_layout.h"
#include "tensor/blco.h"

#define NONZEROS_OF_A_BLOCK 4096 /* on average, at least: blco_build aims at that */

/* Bytes of the factors, of previous ones, of an M as large as the largest factor, of as many rows
 * to send, and, in double precision, of the Grams and V. */
static uint64_t factor_bytes(const struct plan_request *r)
{
    uint64_t sum = 0, largest = 0, grams = 1; /* V */
    for (int n = 0; n < r->tensor.shape.order; n++) {
        uint64_t size = plan_factor_size(r, n);
        uint64_t matrices = r->previous[n] ? 2 : 1;
        sum = plan_add(sum, plan_multiply(matrices, size));
        largest = size > largest ? size : largest;
        grams += matrices;
    }
    uint64_t sent = plan_multiply(shape_longest(&r->tensor.shape), r->sent_bytes);
    uint64_t square = plan_multiply(r->rank, r->rank);
    return plan_add(plan_add(plan_add(sum, largest), sent),
                    plan_multiply(square, grams * sizeof(double)));
}

static uint64_t tensor_bytes(const struct plan_request *r)
{
    uint64_t blocks = r->tensor.nnz / NONZEROS_OF_A_BLOCK + 1;
    uint64_t nonzero = plan_index_words(r) * sizeof(uint64_t) + sizeof(double);
    uint64_t bytes = plan_add(plan_multiply(r->tensor.nnz, nonzero),
                              plan_multiply(blocks, sizeof(struct blco_block)));
    return bytes > r->slice_bytes ? bytes : r->slice_bytes;
}

/* As many orderings `mode n` as fit; where nothing fits, as many as take least. */
static void choose_replicas(struct plan *plan, int most, int least)
{
    uint64_t bytes = UINT64_MAX;
    int smallest = least;
    for (int replicas = most; replicas >= least && !plan->fits; replicas--) {
        plan_in_memory(plan, replicas);
        smallest = plan->total_bytes < bytes ? replicas : smallest;
        bytes = plan->total_bytes < bytes ? plan->total_bytes : bytes;
    }
    if (!plan->fits)
        plan_in_memory(plan, smallest);
}

void plan_make(struct plan *plan, const struct plan_request *request)
{
    bool chosen = request->conflict == CONFLICT_AUTO && !request->forced.one_copy;
    bool ordered = request->conflict == CONFLICT_ORDERED;
    int most = ordered || chosen ? request->tensor.shape.order : 0;
    int least = ordered ? request->tensor.shape.order : 0;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->tensor_bytes = tensor_bytes(request);
    plan->factor_bytes = factor_bytes(request);
    if (!request->must_stream && !request->forced.streamed)
        choose_replicas(plan, most, least);
    if (!plan->fits && plan_can_flow(request))
        plan_streamed(plan, least);
}

bool plan_make_smaller(struct plan *smaller, const struct plan *plan, uint64_t available)
{
    struct plan_request request = plan->request;
    request.budget = plan->total_bytes - 1;
    plan_make(smaller, &request);
    if (smaller->streamed && available < request.budget) {
        request.budget = available;
        plan_make(smaller, &request);
    }
    return smaller->fits;
}

bool plan_takes_packed(const struct plan *p)
{
    const struct plan_tensor *tensor = &p->request.tensor;
    if (tensor->segment_nnz == 0)
        return false;
    if (p->streamed)
        return tensor->segment_nnz <= p->batch_nnz;
    return plan_can_flow(&p->request);
}

bool plan_can_unpack(const struct plan_request *r)
{
    uint64_t bytes = (uint64_t)r->tensor.shape.order * sizeof(uint32_t) + sizeof(double);
    return !r->can_stream || r->tensor.nnz <= r->host_budget / bytes;
}
