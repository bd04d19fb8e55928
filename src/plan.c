#include "plan.h"

#include <string.h>

#include "blco.h"
#include "blco_pack.h"
#include "ordering.h"
#include "packed.h"

#define NONZEROS_OF_A_BLOCK 4096 /* on average, at the least: what blco_build aims at     */
#define BATCH_SEGMENTS      16   /* that flow at a time, where memory allows              */
#define QUEUE_SHARE         3    /* queues take at most one in so many bytes that are left */

/* A streamed mode has its own replica where M is too long for a cache: then atomics would bound it,
 * not the bus. All others stream from alto, which shares what stays on the device: on an H200 11.0
 * instead of 14.1 ms a mode on 77 million nonzeros in 12 to 29 thousand rows. */
#define LONG_OUTPUT (UINT64_C(256) << 20) /* bytes of M */

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
    return multiply(multiply(r->dims[mode], r->rank), r->real_size);
}

/* Factors, an M as large as the largest of them, and the Grams with their product V in double. */
static uint64_t factor_bytes(const struct plan_request *r)
{
    uint64_t sum = 0, largest = 0;
    for (int n = 0; n < r->order; n++) {
        uint64_t size = factor_size(r, n);
        sum = add(sum, size);
        largest = size > largest ? size : largest;
    }
    uint64_t grams =
        multiply(multiply(r->rank, r->rank), (uint64_t)(r->order + 1) * sizeof(double));
    return add(add(sum, largest), grams);
}

/* 64-bit words of a nonzero's index. */
static uint64_t index_words(const struct plan_request *r)
{
    return ordering_line_bits(r->order, r->dims) > 64 ? 2 : 1;
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
    for (int n = 0; n < p->request.order; n++)
        if (p->conflict[n] != CONFLICT_ORDERED &&
            (longest < 0 || p->request.dims[n] > p->request.dims[longest]))
            longest = n;
    return longest;
}

/* Completes a plan with `replicas` of the longest modes, the others resolved on alto: by `on_alto`,
 * or as their lengths say where that is CONFLICT_AUTO. */
static void lay_out(struct plan *p, int replicas, enum conflict on_alto)
{
    const struct plan_request *r = &p->request;
    p->replicas = replicas;
    p->alto = replicas < r->order;
    p->copy_bytes = 0;
    for (int n = 0; n < r->order; n++)
        p->conflict[n] = CONFLICT_AUTO;
    for (int i = 0; i < replicas; i++)
        p->conflict[next_replica(p)] = CONFLICT_ORDERED;
    for (int n = 0; n < r->order; n++) {
        if (p->conflict[n] == CONFLICT_ORDERED)
            continue;
        p->conflict[n] = on_alto;
        if (on_alto == CONFLICT_AUTO)
            p->conflict[n] = r->dims[n] < r->short_mode ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER;
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
    return blco_pack_at_most(ordering_line_bits(r->order, r->dims), nnz, segment_nnz);
}

/* A queue's packed nonzeros, and the index words and values that they decode to. */
static uint64_t queue_bytes(const struct plan_request *r, uint64_t batch)
{
    uint64_t decoded = multiply(batch, index_words(r) * sizeof(uint64_t) + r->real_size);
    return add(packed_at_most(r, batch, BLCO_SEGMENT_NNZ), decoded);
}

/* As many nonzeros as pay, fewer where queues would take more than their share of what the factors
 * leave. */
static uint64_t choose_batch(const struct plan_request *r, uint64_t left)
{
    uint64_t batch = BATCH_SEGMENTS * BLCO_SEGMENT_NNZ;
    if (r->batch_nnz)
        return r->batch_nnz;
    while (batch > BLCO_SEGMENT_NNZ &&
           multiply(PLAN_QUEUES, queue_bytes(r, batch)) > left / QUEUE_SHARE)
        batch -= BLCO_SEGMENT_NNZ;
    return batch < r->nnz ? batch : r->nnz;
}

uint64_t plan_segment_nnz(const struct plan *p)
{
    return p->batch_nnz < BLCO_SEGMENT_NNZ ? p->batch_nnz : BLCO_SEGMENT_NNZ;
}

/* Of one ordering. */
static uint64_t packed_bytes(const struct plan *p)
{
    uint64_t nnz = p->request.nnz, segment = plan_segment_nnz(p);
    if (segment == BLCO_SEGMENT_NNZ && p->alto && p->request.alto_bytes)
        return p->request.alto_bytes;
    return packed_at_most(&p->request, nnz, segment);
}

/* Whole segments, to the five leading bits: for a budget that is a byte too small the next plan
 * then is a worthwhile step down. */
static uint64_t resident_bytes(const struct plan *p, uint64_t left)
{
    uint64_t segment = packed_at_most(&p->request, plan_segment_nnz(p), plan_segment_nnz(p));
    int below = left >> 5 ? 64 - __builtin_clzll(left) - 5 : 0;
    left = left >> below << below;
    return left < segment ? 0 : left < p->host_bytes ? left : p->host_bytes;
}

/* Modes whose own replica pays when streamed; they are the longest ones. */
static int long_outputs(const struct plan_request *r)
{
    int count = 0;
    for (int n = 0; n < r->order; n++)
        count += factor_size(r, n) > LONG_OUTPUT;
    return count;
}

/* Completes a streamed plan with replicas of so many modes. */
static void stream(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    lay_out(p, replicas, r->conflict);
    uint64_t fixed = add(p->factor_bytes, p->copy_bytes);
    uint64_t left = r->budget > fixed ? r->budget - fixed : 0;
    uint64_t coordinates = (uint64_t)r->order * sizeof(uint32_t) + sizeof(double);
    p->streamed = true;
    p->batch_nnz = choose_batch(r, left);
    p->queue_bytes = multiply(PLAN_QUEUES, queue_bytes(r, p->batch_nnz));
    p->host_bytes = multiply((uint64_t)replicas + p->alto, packed_bytes(p));
    p->packing_bytes = replicas == 0 ? 0 : multiply(r->nnz, coordinates + PACKED_BUILD_BYTES);
    p->resident_bytes = resident_bytes(p, left > p->queue_bytes ? left - p->queue_bytes : 0);
    p->total_bytes = add(fixed, add(p->queue_bytes, p->resident_bytes));
    p->fits = p->total_bytes <= r->budget && add(p->host_bytes, p->packing_bytes) <= r->host_budget;
}

/* Batches are decoded into one block: all bits of a line in one or two words, a mode's in one of
 * them. */
static bool can_stream(const struct plan_request *r)
{
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, r->order, r->dims, 128);
    return r->can_stream && r->nnz > 0 && o.cut == o.line_bits;
}

void plan_make(struct plan *plan, const struct plan_request *request)
{
    bool chosen = request->conflict == CONFLICT_AUTO;
    bool ordered = request->conflict == CONFLICT_ORDERED;
    int most = ordered || (chosen && !request->no_replicas) ? request->order : 0;
    int least = ordered ? request->order : 0;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->tensor_bytes = tensor_bytes(request);
    plan->factor_bytes = factor_bytes(request);
    for (int replicas = most; replicas >= least && !plan->fits && !request->must_stream; replicas--)
        lay_out(plan, replicas, request->conflict);
    if (plan->fits || !can_stream(request))
        return;
    int replicas = ordered || most == 0 ? most : long_outputs(request);
    stream(plan, replicas);
    if (!plan->fits && least < replicas)
        stream(plan, least);
}
