/* The two ways in which plan_make lays a tensor out, and the bytes that they count. Sums and
 * products stay at UINT64_MAX where they overflow: no budget is that large. */
#ifndef BLCO_PLAN_LAYOUT_H
#define BLCO_PLAN_LAYOUT_H

#include "plan/plan.h"

static inline uint64_t plan_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t plan_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Bytes of mode n's factor matrix. */
uint64_t plan_factor_size(const struct plan_request *r, int mode);

/* 64-bit words of a nonzero's index. */
uint64_t plan_index_words(const struct plan_request *r);

/* Whether a tensor of this shape can flow: packed nonzeros are decoded on the device, all bits of a
 * line into one or two words, a mode's into one of them. */
bool plan_can_flow(const struct plan_request *r);

/* Completes a plan that has its request, tensor_bytes and factor_bytes: `replicas` orderings
 * `mode n`, for the longest modes, and alto for the others, all in the backend's memory. */
void plan_in_memory(struct plan *p, int replicas);

/* Completes such a plan with the same orderings packed in host memory, from where they flow. */
void plan_streamed(struct plan *p, int replicas);

#endif
