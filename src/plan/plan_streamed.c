#include "plan/plan_layout.h"

#include <string.h>

#include "numerics/packed_size.h"
#include "tensor/ordering.h"

#define BATCH_SEGMENTS  16 /* segments of a batch, where memory allows ...                */
#define SORTED_SEGMENTS 64 /* ... and where batches are sorted                            */
#define LEAST_SORTED    8  /* segments of a batch, at least, for a sort to pay            */
#define REPLICA_MARGIN  16 /* a packed ordering `mode n` takes at most 1/16 more than alto */
#define FLOW_PART       3  /* slots and workspaces take at most 1/3 of what factors leave */

/* From alto, a batch is sorted by output row first where M is larger than this: in so large an M
 * the nonzeros of a chunk hardly ever share a row, but many nonzeros of a batch do. Rows that a
 * chunk of 2048 adds to, for each of its nonzeros: 0.57 to 0.74 unsorted, 0.08 to 0.11 from a
 * sorted batch of 4 million (1.7 billion nonzeros with a Zipf skew in 1.8 to 4.8 million
 * rows, counted in the first 16 to 33 million). */
#define SORTED_OUTPUT (UINT64_C(32) << 20) /* bytes of M */

/* The most bytes that nnz nonzeros take, packed in segments of segment_nnz. */
static uint64_t packed_at_most(const struct plan_request *r, uint64_t nnz, uint64_t segment_nnz)
{
    return packed_size_at_most(ordering_line_bits(&r->tensor.shape), nnz, segment_nnz);
}

/* Whether batches are sorted by the rows of mode n. */
static bool sorts_batches(const struct plan *p, int n)
{
    return p->conflict[n] == CONFLICT_REGISTER && plan_factor_size(&p->request, n) > SORTED_OUTPUT;
}

/* Bytes of the slots, each with a packed batch, and of the workspaces, each with a batch decoded to
 * index words and doubles and, where batches are sorted, with room for the sort. */
static uint64_t flow_bytes(const struct plan_request *r, uint64_t batch, bool sorted)
{
    uint64_t decoded = (plan_index_words(r) + 1) * sizeof(uint64_t);
    uint64_t sort = sorted ? PLAN_SORT_BYTES : 0;
    return plan_add(plan_multiply(PLAN_SLOTS, packed_at_most(r, batch, BLCO_SEGMENT_NNZ)),
                    plan_multiply(PLAN_WORKSPACES, plan_multiply(batch, decoded + sort)));
}

/* The nonzeros of a batch: as many as pay, or fewer, so that slots and workspaces take no more than
 * their part of the `left` bytes that the factors leave. */
static uint64_t choose_batch(const struct plan_request *r, uint64_t left, bool sorted)
{
    uint64_t batch = (sorted ? SORTED_SEGMENTS : BATCH_SEGMENTS) * BLCO_SEGMENT_NNZ;
    if (r->forced.batch_nnz)
        return r->forced.batch_nnz;
    while (batch > BLCO_SEGMENT_NNZ && flow_bytes(r, batch, sorted) > left / FLOW_PART)
        batch -= BLCO_SEGMENT_NNZ;
    return batch < r->tensor.nnz ? batch : r->tensor.nnz;
}

/* Decides how large batches are and for which modes they are sorted: for none where batches are so
 * small that few of their nonzeros share a row. */
static void choose_batches(struct plan *p, uint64_t left)
{
    const struct plan_request *r = &p->request;
    bool sorted = false;
    for (int n = 0; n < r->tensor.shape.order; n++)
        sorted |= p->sorted[n] = sorts_batches(p, n);
    p->batch_nnz = choose_batch(r, left, sorted);
    if (sorted && p->batch_nnz < LEAST_SORTED * BLCO_SEGMENT_NNZ) {
        memset(p->sorted, 0, sizeof p->sorted);
        sorted = false;
        p->batch_nnz = choose_batch(r, left, sorted);
    }
    p->flow_bytes = flow_bytes(r, p->batch_nnz, sorted);
}

uint64_t plan_segment_nnz(const struct plan *p)
{
    return p->batch_nnz < BLCO_SEGMENT_NNZ ? p->batch_nnz : BLCO_SEGMENT_NNZ;
}

/* Bytes of packed alto, at most; exact where the file has it ready. */
static uint64_t alto_bytes(const struct plan *p)
{
    uint64_t nnz = p->request.tensor.nnz, segment = plan_segment_nnz(p);
    if (segment == BLCO_SEGMENT_NNZ && p->request.tensor.alto_bytes)
        return p->request.tensor.alto_bytes;
    return packed_at_most(&p->request, nnz, segment);
}

/* Bytes of the packed ordering of a mode, at most. Of files, they were up to 1/40 more than
 * alto's. */
static uint64_t replica_bytes(const struct plan *p)
{
    const uint64_t most = packed_at_most(&p->request, p->request.tensor.nnz, plan_segment_nnz(p));
    const uint64_t alto = alto_bytes(p), about = plan_add(alto, alto / REPLICA_MARGIN);
    return about < most ? about : most;
}

/* Of an ordering. */
static uint64_t batches(const struct plan *p)
{
    const uint64_t segment = plan_segment_nnz(p), of_batch = p->batch_nnz / segment * segment;
    return (p->request.tensor.nnz - 1) / of_batch + 1;
}

/* The most resident bytes that are of use: all packed orderings, or, where that is more, what it
 * takes to build an ordering from all nonzeros at once: for each nonzero its line and its value,
 * twice, and 2 bytes more. */
static uint64_t useful_bytes(const struct plan *p)
{
    uint64_t nonzero = plan_index_words(&p->request) * sizeof(uint64_t) + sizeof(double);
    uint64_t building = plan_multiply(p->request.tensor.nnz, 2 * nonzero + 2);
    uint64_t packed = plan_multiply((uint64_t)p->request.tensor.shape.order, alto_bytes(p));
    if (!p->replicate && p->replicas == 0)
        return p->host_bytes;
    return packed > building ? packed : building;
}

/* The `left` bytes, as far as they are of use and hold a segment; rounded down to five leading
 * bits, so that the next smaller plan, where memory has no room for this one, is a worthwhile step
 * down. */
static uint64_t resident_bytes(const struct plan *p, uint64_t left)
{
    uint64_t segment = packed_at_most(&p->request, plan_segment_nnz(p), plan_segment_nnz(p));
    int below = left >> 5 ? 64 - __builtin_clzll(left) - 5 : 0;
    left = left >> below << below;
    uint64_t most = useful_bytes(p);
    return left < segment ? 0 : left < most ? left : most;
}

void plan_streamed(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    plan_assign(p, replicas, r->short_mode);
    p->alto = true;
    uint64_t fixed = plan_add(plan_add(p->factor_bytes, p->copy_bytes), r->flow_system_bytes);
    uint64_t left = r->budget > fixed ? r->budget - fixed : 0;
    p->streamed = true;
    p->replicate = r->conflict == CONFLICT_AUTO && !r->forced.one_copy;
    choose_batches(p, left);
    const uint64_t of_batches = plan_multiply(batches(p), r->batch_system_bytes);
    p->system_bytes = plan_add(r->flow_system_bytes, of_batches);
    fixed = plan_add(plan_add(fixed, of_batches), p->flow_bytes);
    left = r->budget > fixed ? r->budget - fixed : 0;
    p->host_bytes = plan_add(alto_bytes(p), plan_multiply((uint64_t)replicas, replica_bytes(p)));
    p->resident_bytes = resident_bytes(p, left);
    p->total_bytes = plan_add(fixed, p->resident_bytes);
    p->fits = p->total_bytes <= r->budget && p->host_bytes <= r->host_budget;
}
