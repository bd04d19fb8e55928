#include "plan/plan.h"

#include <string.h>

#include "base/least.h"
#include "numerics/packed_group.h"
#include "tensor/blco.h"
#include "tensor/ordering.h"

/* Sums and products that overflow become UINT64_MAX, which no budget reaches. */
static uint64_t plan_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t plan_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Bytes of the factor matrix of `mode`. */
static uint64_t plan_factor_size(const struct plan_request *r, int mode)
{
    return plan_multiply(r->tensor.shape.dims[mode], r->row_bytes);
}

/* 64-bit words of a nonzero's index. */
static uint64_t plan_index_words(const struct plan_request *r)
{
    return ordering_line_bits(&r->tensor.shape) > 64 ? 2 : 1;
}

/* Whether the tensor can be streamed: the backend can, there are nonzeros, and the device can
 * decode their lines, which takes all bits of a line in one or two words and each mode's bits in
 * one of the words. */
static bool plan_can_flow(const struct plan_request *r)
{
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, &r->tensor.shape, 128);
    return r->can_stream && r->tensor.nnz > 0 && o.cut == o.line_bits;
}

/* Gives *p, which has its request, `replicas` orderings `mode n`, for the longest modes, and alto
 * for the others, of which those shorter than `short_mode` are hierarchical unless the user asked
 * for another conflict resolution; p->copy_bytes follows from that. */
static void plan_assign(struct plan *p, int replicas, uint64_t short_mode)
{
    const struct plan_request *r = &p->request;
    const struct shape *shape = &r->tensor.shape;
    p->replicas = replicas;
    p->alto = replicas < shape->order;
    p->copy_bytes = 0;
    conflict_assign(p->conflict, shape, replicas, r->conflict, short_mode);
    for (int n = 0; n < shape->order; n++) {
        uint64_t bytes = 0;
        if (conflict_traits[p->conflict[n]].copied)
            bytes = plan_multiply(r->copies, plan_factor_size(r, n));
        else if (conflict_traits[p->conflict[n]].direct)
            bytes = plan_multiply(r->waiting_rows, r->row_bytes);
        p->copy_bytes = bytes > p->copy_bytes ? bytes : p->copy_bytes;
    }
}

uint64_t plan_running_bytes(const struct plan *p)
{
    uint64_t tensors = plan_multiply((uint64_t)plan_orderings(p), p->tensor_bytes);
    return plan_add(plan_add(tensors, p->factor_bytes), p->copy_bytes);
}

bool plan_has_room(const struct plan *p, uint64_t bytes)
{
    const struct plan_request *r = &p->request;
    const uint64_t given = r->spends ? 0 : r->nonzero_bytes;
    const uint64_t more = plan_add(plan_add(given, r->model_bytes), p->system_bytes);
    return plan_add(plan_add(plan_running_bytes(p), more), bytes) <= r->budget;
}

int plan_orderings(const struct plan *p)
{
    return p->replicas + p->alto;
}

/* --- In memory. --- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Bytes, beside orderings that are ready, while orderings `mode n` are built from lines that are
 * sorted once: those lines with their values, the same for the ordering, and what its slices add.
 */
static uint64_t presort_bytes(const struct plan *p, int done)
{
    const struct plan_request *r = &p->request;
    uint64_t pairs = plan_multiply(r->tensor.nnz, 2 * sizeof(uint64_t));
    uint64_t sorting = plan_multiply(3, pairs);
    uint64_t slicing = plan_add(plan_add(pairs, pairs / 2), p->tensor_bytes);
    return plan_add(larger(sorting, slicing), plan_multiply((uint64_t)done, p->tensor_bytes));
}

/* Bytes while the orderings are built from nonzeros that are beside them (host_sweep.c): alto
 * first, then the orderings `mode n`, one after the other. Where lines are a word, the last sort
 * that needs the nonzeros may spend them: once they have become lines, only their values are left,
 * which the sort takes over. */
static uint64_t building_bytes(const struct plan *p)
{
    const struct plan_request *r = &p->request;
    const uint64_t index = plan_index_words(r) * sizeof(uint64_t), nonzero = index + sizeof(double);
    const bool spends = r->spends && index == sizeof(uint64_t);
    /* While one ordering is sorted: of each nonzero a line (or its place and a key) and a value,
     * and as much again for the sort; or, where lines are longer than a word, what is gathered. */
    const uint64_t sorted = larger(4 * sizeof(uint64_t), sizeof(uint64_t) + nonzero);
    const uint64_t sorting = plan_multiply(r->tensor.nnz, sorted), given = r->nonzero_bytes;
    const uint64_t lines = plan_add(given, plan_multiply(r->tensor.nnz, sizeof(uint64_t)));
    const uint64_t alto = p->alto ? p->tensor_bytes : 0, left = spends ? 0 : given;
    uint64_t most = p->alto ? plan_add(sorting, p->replicas > 0 ? given : left) : 0;
    if (p->replicas > 1 && index == sizeof(uint64_t)) {
        most = larger(most, plan_add(alto, plan_add(left, presort_bytes(p, p->replicas - 1))));
    } else if (p->replicas > 0) {
        uint64_t done = plan_multiply((uint64_t)(p->replicas - 1), p->tensor_bytes);
        uint64_t slicing = plan_add(plan_multiply(r->tensor.nnz, index), p->tensor_bytes);
        uint64_t one = plan_add(done, larger(sorting, slicing));
        most = larger(most, plan_add(plan_add(alto, left), one));
    }
    return larger(most, plan_add(lines, p->replicas > 0 ? alto : 0));
}

/* Completes *p, which has its request, tensor_bytes and factor_bytes, with `replicas` orderings
 * `mode n`, for the longest modes, and alto for the others, all in the backend's memory. Copies of
 * M for modes that are short beside many nonzeros may take more than the tensor: where memory has
 * no room for them, modes do without, the longest first. */
static void plan_in_memory(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    uint64_t short_mode = r->short_mode;
    p->system_bytes = r->system_bytes;
    do {
        plan_assign(p, replicas, short_mode);
        p->building_bytes = r->nonzero_bytes ? building_bytes(p) : 0;
        p->total_bytes = plan_add(larger(plan_running_bytes(p), p->building_bytes),
                                  plan_add(r->model_bytes, p->system_bytes));
        p->fits = p->total_bytes <= r->budget;
        short_mode = 0;
        for (int n = 0; n < r->tensor.shape.order; n++)
            if (conflict_traits[p->conflict[n]].copied)
                short_mode = larger(short_mode, r->tensor.shape.dims[n]);
        if (plan_multiply(short_mode, r->copies) <= r->waiting_rows) /* `register` takes more */
            short_mode = 0;
    } while (!p->fits && short_mode > 0 && r->conflict == CONFLICT_AUTO);
}

/* --- Streamed. --- */

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
        sorted |= p->sorted[n] =
            conflict_traits[p->conflict[n]].direct && plan_factor_size(r, n) > SORTED_OUTPUT;
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

/* The `left` bytes, as far as they are of use and hold a segment; rounded down to five leading
 * bits, so that the next smaller plan, where memory has no room for this one, is a worthwhile step
 * down. */
static uint64_t resident_bytes(const struct plan *p, uint64_t left)
{
    uint64_t segment = packed_at_most(&p->request, plan_segment_nnz(p), plan_segment_nnz(p));
    int below = left >> 5 ? 64 - __builtin_clzll(left) - 5 : 0;
    left = left >> below << below;
    /* Of use are all packed orderings, or, where that is more, what it takes to build an ordering
     * from all nonzeros at once: for each its line and its value, twice, and 2 bytes more. */
    const uint64_t nnz = p->request.tensor.nnz;
    const uint64_t nonzero = plan_index_words(&p->request) * sizeof(uint64_t) + sizeof(double);
    const uint64_t building = plan_multiply(nnz, 2 * nonzero + 2);
    const uint64_t packed = plan_multiply((uint64_t)p->request.tensor.shape.order, alto_bytes(p));
    const uint64_t most =
        p->replicate || p->replicas > 0 ? larger(packed, building) : p->host_bytes;
    return left < segment ? 0 : left < most ? left : most;
}

/* Completes *p, which has its request and factor_bytes, with alto packed in host memory, from where
 * batches flow; and with orderings `mode n` of `replicas` modes, all or none, packed likewise. */
static void plan_streamed(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    plan_assign(p, replicas, r->short_mode);
    p->alto = true;
    uint64_t fixed = plan_add(plan_add(p->factor_bytes, p->copy_bytes), r->flow_system_bytes);
    uint64_t left = r->budget > fixed ? r->budget - fixed : 0;
    p->streamed = true;
    p->replicate = r->conflict == CONFLICT_AUTO && !r->forced.one_copy;
    choose_batches(p, left);
    const uint64_t segment = plan_segment_nnz(p), batch = p->batch_nnz / segment * segment;
    const uint64_t of_batches =
        plan_multiply((r->tensor.nnz - 1) / batch + 1, r->batch_system_bytes);
    p->system_bytes = plan_add(r->flow_system_bytes, of_batches);
    fixed = plan_add(plan_add(fixed, of_batches), p->flow_bytes);
    left = r->budget > fixed ? r->budget - fixed : 0;
    /* The packed ordering of a mode takes this at most. Of files, they were up to 1/40 more than
     * alto's. */
    const uint64_t alto = alto_bytes(p);
    const uint64_t most = packed_at_most(r, r->tensor.nnz, segment);
    const uint64_t replica = least_of(plan_add(alto, alto / REPLICA_MARGIN), most);
    p->host_bytes = plan_add(alto, plan_multiply((uint64_t)replicas, replica));
    p->resident_bytes = resident_bytes(p, left);
    p->total_bytes = plan_add(fixed, p->resident_bytes);
    p->fits = p->total_bytes <= r->budget && p->host_bytes <= r->host_budget;
}

/* --- The first that fits. --- */

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

void plan_make(struct plan *plan, const struct plan_request *request)
{
    bool chosen = request->conflict == CONFLICT_AUTO && !request->forced.one_copy;
    bool ordered = conflict_traits[request->conflict].ordered;
    int most = ordered || chosen ? request->tensor.shape.order : 0;
    int least = ordered ? request->tensor.shape.order : 0;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    const uint64_t blocks = request->tensor.nnz / NONZEROS_OF_A_BLOCK + 1;
    const uint64_t nonzero = plan_index_words(request) * sizeof(uint64_t) + sizeof(double);
    plan->tensor_bytes =
        larger(request->slice_bytes, plan_add(plan_multiply(request->tensor.nnz, nonzero),
                                              plan_multiply(blocks, sizeof(struct blco_block))));
    plan->factor_bytes = factor_bytes(request);
    if (!request->must_stream && !request->forced.streamed) {
        /* As many orderings `mode n` as fit; where nothing fits, as many as take least. */
        uint64_t bytes = UINT64_MAX;
        int smallest = least;
        for (int replicas = most; replicas >= least && !plan->fits; replicas--) {
            plan_in_memory(plan, replicas);
            smallest = plan->total_bytes < bytes ? replicas : smallest;
            bytes = least_of(plan->total_bytes, bytes);
        }
        if (!plan->fits)
            plan_in_memory(plan, smallest);
    }
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
