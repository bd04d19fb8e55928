#include "plan/plan_layout.h"

#include "tensor/ordering.h"

uint64_t plan_factor_size(const struct plan_request *r, int mode)
{
    return plan_multiply(r->tensor.shape.dims[mode], r->row_bytes);
}

uint64_t plan_index_words(const struct plan_request *r)
{
    return ordering_line_bits(&r->tensor.shape) > 64 ? 2 : 1;
}

void plan_in_memory(struct plan *p, int replicas)
{
    const struct plan_request *r = &p->request;
    const struct shape *shape = &r->tensor.shape;
    p->replicas = replicas;
    p->alto = replicas < shape->order;
    p->copy_bytes = 0;
    conflict_assign(p->conflict, shape, replicas, r->conflict, r->short_mode);
    for (int n = 0; n < shape->order; n++) {
        uint64_t bytes = 0;
        if (p->conflict[n] == CONFLICT_HIERARCHICAL)
            bytes = plan_multiply(r->copies, plan_factor_size(r, n));
        else if (p->conflict[n] == CONFLICT_REGISTER)
            bytes = plan_multiply(r->waiting_rows, r->row_bytes);
        p->copy_bytes = bytes > p->copy_bytes ? bytes : p->copy_bytes;
    }
    uint64_t tensors = plan_multiply((uint64_t)plan_orderings(p), p->tensor_bytes);
    p->total_bytes = plan_add(plan_add(tensors, p->factor_bytes), p->copy_bytes);
    p->fits = p->total_bytes <= r->budget;
}
