/* A replicate of a tensor: the entries in the slices that are not in the part that it leaves out
 * (slice_parts.h). It has the lengths and the rows of the whole tensor; the slices of that part are
 * empty. */
#pragma once

#include "ranks/rank_tensor.h"
#include "tensor/slice_parts.h"

/* nonzeros[d N + k] = how many entries of part k of division d are known and not 0, on all ranks.
 * The nonzeros of t have been read. Every rank calls it. STATUS_MEMORY, failures of other ranks. */
enum status replicate_tensor_count(const struct rank_tensor *t, const struct slice_parts *s,
                                   uint64_t nonzeros[MOST_REPLICATES], struct error *error);

/* *replicate = this replicate, from 0, of t, whose rows are divided and whose nonzeros are there; t
 * must outlive it. No entry of it is held out: those that t holds out are unknown. Every rank calls
 * it. The caller frees *replicate with replicate_tensor_free, after a failure too. STATUS_MEMORY,
 * failures of other ranks. */
enum status replicate_tensor_take(struct rank_tensor *replicate, const struct rank_tensor *t,
                                  const struct slice_parts *s, int number, struct error *error);

/* Accepts an empty one. */
void replicate_tensor_free(struct rank_tensor *replicate);
