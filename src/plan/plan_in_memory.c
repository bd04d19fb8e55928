#include "plan/plan_layout.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Bytes while one ordering is sorted: of each nonzero a line (or its place and a key) and a value,
 * and as much again for the sort; or, where lines are longer than a word, what is gathered. */
static uint64_t sorting_bytes(const struct plan_request *r, uint64_t nonzero)
{
    uint64_t gathered = sizeof(uint64_t) + nonzero;
    return plan_multiply(r->tensor.nnz, larger(4 * sizeof(uint64_t), gathered));
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
    const uint64_t sorting = sorting_bytes(r, nonzero), given = r->nonzero_bytes;
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

/* The length of the longest mode that is hierarchical, where its copies of M take more than
 * `register` does; otherwise 0. */
static uint64_t longest_copied(const struct plan *p)
{
    const struct plan_request *r = &p->request;
    uint64_t longest = 0;
    for (int n = 0; n < r->tensor.shape.order; n++)
        if (p->conflict[n] == CONFLICT_HIERARCHICAL)
            longest = larger(longest, r->tensor.shape.dims[n]);
    return plan_multiply(longest, r->copies) > r->waiting_rows ? longest : 0;
}

/* Copies of M for modes that are short beside many nonzeros may take more than the tensor: where
 * memory has no room for them, modes do without, the longest first. */
void plan_in_memory(struct plan *p, int replicas)
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
        short_mode = longest_copied(p);
    } while (!p->fits && short_mode > 0 && r->conflict == CONFLICT_AUTO);
}
