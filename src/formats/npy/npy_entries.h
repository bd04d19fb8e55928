/* Entries of a tensor in NumPy arrays, of any type and order of the arrays. */
#ifndef BLCO_NPY_ENTRIES_H
#define BLCO_NPY_ENTRIES_H

#include "formats/npy/npy_tensor.h"

/* Reads entries first to first + count - 1 to x, from its entry `at` on, by all
 * OpenMP threads, and raises t->largest. STATUS_INPUT where an index or a value is bad: the first
 * such entry, counted from 0, as NumPy does. */
enum status npy_entries_read(struct npy_tensor *t, uint64_t first, uint64_t count, struct coo *x,
                             uint64_t at, struct error *error);

#endif
