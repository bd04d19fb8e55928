/* The half of a tensor: the entries in the slices that halves.h says. It has the lengths and the
 * rows of the whole tensor; the slices of the other half are empty. */
#ifndef BLCO_HALF_TENSOR_H
#define BLCO_HALF_TENSOR_H

#include "ranks/rank_tensor.h"
#include "tensor/halves.h"

/* nonzeros[k] = how many entries of half k are known and not 0, on all ranks. The nonzeros of t
 * have been read. Every rank calls it. Failures of other ranks. */
enum status half_tensor_count(const struct rank_tensor *t, const struct halves *h,
                              uint64_t nonzeros[2], struct error *error);

/* *half = half k (0 or 1) of t, whose rows are divided and whose nonzeros are there; t must outlive
 * it. No entry of it is held out: those that t holds out are unknown. Every rank calls it. The
 * caller frees *half with half_tensor_free, after a failure too. STATUS_MEMORY, failures of other
 * ranks. */
enum status half_tensor_take(struct rank_tensor *half, const struct rank_tensor *t,
                             const struct halves *h, int k, struct error *error);

/* Accepts an empty one. */
void half_tensor_free(struct rank_tensor *half);

#endif
