#include "plan/plan.h"

#include <string.h>

#include "formats/blco/packed_tensor.h"
#include "formats/blco/segment_pack.h"
#include "tensor/blco.h"
#include "tensor/ordering.h"

#define NONZEROS_OF_A_BLOCK 4096 /* on average, at the least: what blco_build aims at     */
#define BATCH_SEGMENTS      16   /* that flow at a time, where memory allows ...          */
#define SORTED_SEGMENTS     64   /* ... and where batches are sorted                      */
#define LEAST_SORTED        8    /* segments of a batch for which a sort pays              */
#define QUEUE_SHARE         3    /* queues take at most one in so many bytes that are left */

/* From alto, a batch is sorted by output row first where M is longer than this: hardly two nonzeros
 * of a chunk have the same row then, but many of a batch. Of 1.7 thousand million nonzeros in 1.8
 * to 4.8 million rows with a Zipf skew, counted in the first 16 to 33 million: a chunk of 2048 has
 * 0.57 to 0.74 rows for each of its nonzeros to add to, one of a sorted batch of 4 million 0.08 to
 * 0.11.
 */
#define SORTED_OUTPUT (UINT64_C(32) << 20) /* bytes of M */

static const char *const names[] = {"auto", "ordered", "hierarchical", "register", "atomic"};

const char *conflict_name(enum conflict c)
{
    return names[c];
}

int conflict_by_name(const char *name)
{
    for (int c = 0; c < (int)(sizeof names / sizeof *names); c++)
        if (strcmp(name, names[c]) == 0)
            return c;
    return -1;
}

/* Sums and products that stay at UINT64_MAX where they overflow: no budget is that large. */
static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t factor_size(const struct plan_request *r, int mode)
{
    return multiply(multiply(r->shape.dims[mode], r->rank), r->real_size);
}

/* Factors, an M as large as the largest of them, and the Grams with their product V in double. */
static uint64_t factor_bytes(const struct plan_request *r)
{
    uint64_t sum = 0, largest = 0;
    for (int n = 0; n < r->shape.order; n++) {
        uint64_t size = factor_size(r, n);
        sum = add(sum, size);
        largest = size > largest ? size : largest;
    }
    uint64_t grams =
        multiply(multiply(r->rank, r->rank), (uint64_t)(r->shape.order + 1) * sizeof(double));
    return add(add(sum, largest), grams);
}

/* 64-bit words of a nonzero's index. */
static uint64_t index_words(const struct plan_request *r)
{
    return ordering_line_bits(&r->shape) > 64 ? 2 : 1;
}

static uint64_t tensor_bytes(const struct plan_request *r)
{
    uint64_t blocks = r->nnz / NONZEROS_OF_A_BLOCK + 1;
    return add(multiply(r->nnz, index_words(r) * sizeof(uint64_t) + sizeof(double)),
               multiply(blocks, sizeof(struct blco_block)));
}

/* The longest mode without a replica. */
static int next_replica(const struct plan *p)
{
    int longest = -1;
    for (int n = 0; n < p->request.shape.order; n++)
        if (p->conflict[n] != CONFLICT_ORDERED &&
            (longest < 0 || p->request.shape.dims[n] > p->request.shape.dims[longest]))
            longest = n;
    return longest;
}

/* Completes a plan with `replicas` of the longest modes, the others resolved on alto: by `on_alto`,
 * or as their lengths say where that is CONFLICT_AUTO. */
static void lay_out(struct plan *p, int replicas, enum conflict on_alto)
{
    const struct plan_request *r = &p->request;
    p->replicas = replicas;
    p->alto = replicas < r->shape.order;
    p->copy_bytes = 0;
    for (int n = 0; n < r->shape.order; n++)
        p->conflict[n] = CONFLICT_AUTO;
    for (int i = 0; i < replicas; i++)
        p->conflict[next_replica(p)] = CONFLICT_ORDERED;
    for (int n = 0; n < r->shape.order; n++) {
        if (p->conflict[n] == CONFLICT_ORDERED)
            continue;
        p->conflict[n] = on_alto;
        if (on_alto == CONFLICT_AUTO)
            p->conflict[n] =
                r->shape.dims[n] < r->short_mode ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER;
        uint64_t copies = multiply(r->copies, factor_size(r, n));
        if (p->conflict[n] == CONFLICT_HIERARCHICAL && copies > p->copy_bytes)
            p->copy_bytes = copies;
    }
    uint64_t tensors = multiply((uint64_t)replicas + p->alto, p->tensor_bytes);
    p->total_bytes = add(add(tensors, p->factor_bytes), p->copy_bytes);
    p->fits = p->total_bytes <= r->budget;
}

/* Packed nonzeros in segments of so many. */
static uint64_t packed_at_most(const struct plan_request *r, uint64_t nnz, uint64_t segment_nnz)
{
    return segment_pack_at_most(ordering_line_bits(&r->shape), nnz, segment_nnz);
}

/* Whether batches are sorted by the rows of mode n. */
static bool sorts_batches(const struct plan *p, int n)
{
    return p->conflict[n] == CONFLICT_REGISTER && factor_size(&p->request, n) > SORTED_OUTPUT;
}

/* The queues' packed nonzeros; the index words and doubles that the lanes' are decoded to, and the
 * sort's room. */
static uint64_t queue_bytes(const struct plan_request *r, uint64_t batch, bool sorted)
{
    uint64_t decoded = (index_words(r) + 1) * sizeof(uint64_t);
    uint64_t sort = sorted ? PLAN_SORT_BYTES : 0;
    return add(multiply(PLAN_SLOTS, packed_at_most(r, batch, BLCO_SEGMENT_NNZ)),
               multiply(PLAN_WORKSPACES, multiply(batch, decoded + sort)));
}

/* As many nonzeros as pay, fewer where queues would take more than their share of what the factors
 * leave. */
static uint64_t choose_batch(const struct plan_request *r, uint64_t left, bool sorted)
{
    uint64_t batch = (sorted ? SORTED_SEGMENTS : BATCH_SEGMENTS) * BLCO_SEGMENT_NNZ;
    if (r->batch_nnz)
        return r->batch_nnz;
    while (batch > BLCO_SEGMENT_NNZ && queue_bytes(r, batch, sorted) > left / QUEUE_SHARE)
        batch -= BLCO_SEGMENT_NNZ;
    return batch < r->nnz ? batch : r->nnz;
}

/* The batches, and for which modes they are sorted: for none where they would be so small that few
 * of their nonzeros are in the same row. */
static void choose_queues(struct plan *p, uint64_t left)
{
    const struct plan_request *r = &p->request;
    bool sorted = false;
    for (int n = 0; n < r->shape.order; n++)
        sorted |= p->sorted[n] = sorts_batches(p, n);
    p->batch_nnz = choose_batch(r, left, sorted);
    if (sorted && p->batch_nnz < LEAST_SORTED * BLCO_SEGMENT_NNZ) {
        memset(p->sorted, 0, sizeof p->sorted);
        sorted = false;
        p->batch_nnz = choose_batch(r, left, sorted);
    }
    p->queue_bytes = queue_bytes(r, p->batch_nnz, sorted);
}

uint64_t plan_segment_nnz(const struct plan *p)
{
    return p->batch_nnz < BLCO_SEGMENT_NNZ ? p->batch_nnz : BLCO_SEGMENT_NNZ;
}

/* Packed nonzeros are decoded on the device: all bits of a line into one or two words, a mode's
 * into one of them. */
static bool can_stream(const struct plan_request *r)
{
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, &r->shape, 128);
    return r->can_stream && r->nnz > 0 && o.cut == o.line_bits;
}

bool plan_takes_packed(const struct plan *p, uint64_t segment_nnz)
{
    const struct plan_request *r = &p->request;
    if (p->streamed)
        return p->replicas == 0 && segment_nnz <= p->batch_nnz;
    return can_stream(r);
}

bool plan_can_unpack(const struct plan_request *r)
{
    uint64_t bytes = (uint64_t)r->shape.order * sizeof(uint32_t) + sizeof(double);
    return !r->can_stream || r->nnz <= r->host_budget / bytes;
}

/* Of one ordering. */
static uint64_t packed_bytes(const struct plan *p)
{
    uint64_t nnz = p->request.nnz, segment = plan_segment_nnz(p);
    if (segment == BLCO_SEGMENT_NNZ && p->alto && p->request.alto_bytes)
        return p->request.alto_bytes;
    return packed_at_most(&p->request, nnz, segment);
}

/* What resident bytes are of use: for all packed orderings, or, where more, for building one from
 * all nonzeros at once: lines and values, twice, and a byte or two more. */
static uint64_t useful_bytes(const struct plan *p)
{
    uint64_t nonzero = index_words(&p->request) * sizeof(uint64_t) + sizeof(double);
    uint64_t building = multiply(p->request.nnz, 2 * nonzero + 2);
    uint64_t packed = multiply((uint64_t)p->request.shape.order, p->host_bytes);
    if (!p->replicate)
        return p->host_bytes;
    return packed > building ? packed : building;
}

/* Whole segments, to the five leading bits: for a budget that is a byte too small the next plan
 * then is a worthwhile step down. */
static uint64_t resident_bytes(const struct plan *p, uint64_t left)
{
    uint64_t segment = packed_at_most(&p->request, plan_segment_nnz(p), plan_segment_nnz(p));
    int below = left >> 5 ? 64 - __builtin_clzll(left) - 5 : 0;
    left = left >> below << below;
    uint64_t most = useful_bytes(p);
    return left < segment ? 0 : left < most ? left : most;
}

/* Completes a streamed plan with replicas of so many modes. */
static void stream(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    lay_out(p, replicas, r->conflict);
    uint64_t fixed = add(p->factor_bytes, p->copy_bytes);
    uint64_t left = r->budget > fixed ? r->budget - fixed : 0;
    uint64_t coordinates = (uint64_t)r->shape.order * sizeof(uint32_t) + sizeof(double);
    p->streamed = true;
    p->replicate = r->conflict == CONFLICT_AUTO && !r->no_replicas;
    choose_queues(p, left);
    p->host_bytes = multiply((uint64_t)replicas + p->alto, packed_bytes(p));
    p->packing_bytes =
        replicas == 0 ? 0 : multiply(r->nnz, coordinates + PACKED_TENSOR_BUILD_BYTES);
    p->resident_bytes = resident_bytes(p, left > p->queue_bytes ? left - p->queue_bytes : 0);
    p->total_bytes = add(fixed, add(p->queue_bytes, p->resident_bytes));
    p->fits = p->total_bytes <= r->budget && add(p->host_bytes, p->packing_bytes) <= r->host_budget;
}

void plan_make(struct plan *plan, const struct plan_request *request)
{
    bool chosen = request->conflict == CONFLICT_AUTO;
    bool ordered = request->conflict == CONFLICT_ORDERED;
    int most = ordered || (chosen && !request->no_replicas) ? request->shape.order : 0;
    int least = ordered ? request->shape.order : 0;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->tensor_bytes = tensor_bytes(request);
    plan->factor_bytes = factor_bytes(request);
    for (int replicas = most; replicas >= least && !plan->fits && !request->must_stream; replicas--)
        lay_out(plan, replicas, request->conflict);
    if (plan->fits || !can_stream(request))
        return;
    stream(plan, least);
}
