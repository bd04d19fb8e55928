/* The two ways in which plan_make lays a tensor out, in memory or streamed, and helpers of both;
 * for the plan_*.c files only. Sums and products that overflow become UINT64_MAX, which no budget
 * reaches. Implemented in plan_layout.c, plan_in_memory.c and plan_streamed.c. */
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

/* Bytes of the factor matrix of `mode`. */
uint64_t plan_factor_size(const struct plan_request *r, int mode);

/* 64-bit words of a nonzero's index. */
uint64_t plan_index_words(const struct plan_request *r);

/* Whether the tensor can be streamed: the backend can, there are nonzeros, and the device can
 * decode their lines, which takes all bits of a line in one or two words and each mode's bits in
 * one of the words. */
bool plan_can_flow(const struct plan_request *r);

/* Gives *p, which has its request, `replicas` orderings `mode n`, for the longest modes, and alto
 * for the others, of which those shorter than `short_mode` are hierarchical unless the user asked
 * for another conflict resolution; p->copy_bytes follows from that. */
void plan_assign(struct plan *p, int replicas, uint64_t short_mode);

/* Completes *p, which has its request, tensor_bytes and factor_bytes, with `replicas` orderings
 * `mode n`, for the longest modes, and alto for the others, all in the backend's memory. */
void plan_in_memory(struct plan *p, int replicas);

/* Completes *p, which has its request and factor_bytes, with alto packed in host memory, from where
 * batches flow; and with orderings `mode n` of `replicas` modes, all or none, packed likewise. */
void plan_streamed(struct plan *p, int replicas);

#endif
