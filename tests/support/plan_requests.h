/* Requests for plans, and what holds for every plan. Include it after cmocka.h. */
#pragma once

#include "numerics/packed_group.h"
#include "plan/plan.h"
#include "tensor/ordering.h"

#define GB UINT64_C(1000000000)

/* A tensor whose orderings take 16 MB each, with one short mode (24). */
static inline struct plan_request request_of(uint64_t budget)
{
    return (struct plan_request){.tensor.shape.order = 4,
                                 .tensor.shape.dims = {183, 24, 1140, 1717},
                                 .tensor.nnz = 1000000,
                                 .rank = 16,
                                 .budget = budget,
                                 .row_bytes = 16 * sizeof(double),
                                 .copies = 4,
                                 .short_mode = 132,
                                 .conflict = CONFLICT_AUTO};
}

static inline void set_rank(struct plan_request *r, uint64_t rank)
{
    r->rank = rank;
    r->row_bytes = rank * sizeof(double);
}

static inline struct plan plan_with(uint64_t budget)
{
    struct plan_request request = request_of(budget);
    struct plan plan;
    plan_make(&plan, &request);
    return plan;
}

/* Two billion nonzeros, 32 GB an ordering, 23.5 packed; factors of 0.98 MB. */
static inline struct plan_request large_request(uint64_t budget, uint64_t host_budget)
{
    struct plan_request r = request_of(budget);
    r.tensor.nnz = 2000000000;
    r.can_stream = true;
    r.host_budget = host_budget;
    return r;
}

static inline void check_conflicts(const struct plan *p)
{
    int ordered = 0;
    for (int n = 0; n < p->request.tensor.shape.order; n++) {
        ordered += p->conflict[n] == CONFLICT_ORDERED;
        assert_int_not_equal(p->conflict[n], CONFLICT_AUTO);
    }
    assert_int_equal(ordered, p->replicas);
    assert_int_equal(p->alto, p->streamed || p->replicas < p->request.tensor.shape.order);
}

static inline void check_in_memory(const struct plan *p)
{
    uint64_t orderings = (uint64_t)p->replicas + p->alto;
    assert_false(p->streamed);
    assert_int_equal(p->system_bytes, p->request.system_bytes);
    assert_int_equal(p->total_bytes, orderings * p->tensor_bytes + p->factor_bytes + p->copy_bytes +
                                         p->system_bytes);
    assert_int_equal(p->fits, p->total_bytes <= p->request.budget);
    assert_true(p->flow_bytes + p->resident_bytes + p->host_bytes + p->batch_nnz == 0);
    check_conflicts(p);
}

static inline void check_streamed(const struct plan *p)
{
    const struct plan_request *r = &p->request;
    assert_true(p->streamed && r->can_stream);
    assert_true(p->alto);
    assert_int_equal(p->total_bytes, p->factor_bytes + p->copy_bytes + p->system_bytes +
                                         p->flow_bytes + p->resident_bytes);
    assert_int_equal(p->fits, p->total_bytes <= r->budget && p->host_bytes <= r->host_budget);
    uint64_t orderings = (uint64_t)p->replicas + p->alto;
    int bits = ordering_line_bits(&r->tensor.shape);
    if (!r->tensor.alto_bytes)
        assert_int_equal(p->host_bytes,
                         orderings * packed_size_at_most(bits, r->tensor.nnz, plan_segment_nnz(p)));
    assert_true(!p->replicate || (p->alto && r->conflict == CONFLICT_AUTO));
    assert_true(p->replicate || p->replicas > 0 || p->resident_bytes <= p->host_bytes);
    assert_true(p->batch_nnz > 0);
    bool sorted = false;
    for (int n = 0; n < r->tensor.shape.order; n++)
        sorted |= p->sorted[n];
    for (int n = 0; n < r->tensor.shape.order; n++) {
        bool is_long = r->tensor.shape.dims[n] * r->row_bytes > 32 << 20;
        assert_int_equal(p->sorted[n], sorted && is_long && p->conflict[n] == CONFLICT_REGISTER);
        assert_true(p->batch_nnz >= 1 << 19 || !p->sorted[n]);
        assert_true(p->batch_nnz <= 1 << 20 || sorted || r->forced.batch_nnz);
    }
    /* In bits: a packed nonzero takes a value and its line but for eight, and up to four more; a
     * decoded one its index words and a value; and its order. */
    uint64_t words = bits > 64 ? 2 : 1;
    uint64_t packed = 64 + (uint64_t)bits - 8, decoded = 8 * words + 8 + (sorted ? 17 : 0);
    uint64_t least = p->batch_nnz * (3 * packed + 2 * 8 * decoded) / 8;
    assert_in_range(p->flow_bytes, least, least + 3 * (p->batch_nnz * 4 / 8 + 200));
    check_conflicts(p);
}

static inline void check_sums(const struct plan *p)
{
    if (p->streamed)
        check_streamed(p);
    else
        check_in_memory(p);
}
