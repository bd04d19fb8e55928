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

bool plan_can_flow(const struct plan_request *r)
{
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, &r->tensor.shape, 128);
    return r->can_stream && r->tensor.nnz > 0 && o.cut == o.line_bits;
}

void plan_assign(struct plan *p, int replicas, uint64_t short_mode)
{
    const struct plan_request *r = &p->request;
    const struct shape *shape = &r->tensor.shape;
    p->replicas = replicas;
    p->alto = replicas < shape->order;
    p->copy_bytes = 0;
    conflict_assign(p->conflict, shape, replicas, r->conflict, short_mode);
    for (int n = 0; n < shape->order; n++) {
        uint64_t bytes = 0;
        if (p->conflict[n] == CONFLICT_HIERARCHICAL)
            bytes = plan_multiply(r->copies, plan_factor_size(r, n));
        else if (p->conflict[n] == CONFLICT_REGISTER)
            bytes = plan_multiply(r->waiting_rows, r->row_bytes);
        p->copy_bytes = bytes > p->copy_bytes ? bytes : p->copy_bytes;
    }
}

uint64_t plan_running_bytes(const struct plan *p)
{
    uint64_t tensors = plan_multiply((uint64_t)plan_orderings(p), p->tensor_bytes);
    return plan_add(plan_add(tensors, p->factor_bytes), p->copy_bytes);
}

int plan_orderings(const struct plan *p)
{
    return p->replicas + p->alto;
}
