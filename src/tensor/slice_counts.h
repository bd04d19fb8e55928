/* How many nonzeros each index of a mode has: counters for a share of the indices, those of one
 * remainder by a power of two. So the indices of a mode can be shared out to threads, which then
 * never meet, and to passes over a tensor whose counters do not all fit into memory. */
#ifndef BLCO_SLICE_COUNTS_H
#define BLCO_SLICE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct slice_count;

struct slice_counts {
    int bits;        /* indices whose lowest `bits` bits ... */
    uint32_t share;  /* ... are these are counted            */
    uint64_t *dense; /* (indices of the share), by the index's upper bits; owned, or NULL       */
    uint64_t length;
    struct slice_count *sparse; /* (room) a hash table of the indices that occur; owned, or NULL */
    uint64_t room, used;
};

/* The most bytes that the counters of a share take, for a mode of `length` indices in a tensor of
 * `nnz` nonzeros: 8 for each index, or, where there are many more indices than nonzeros, up to 64
 * for each index that occurs (as if these were spread evenly over the shares). */
uint64_t slice_counts_bytes(uint64_t length, uint64_t nnz, int bits);

/* All counters zero. On failure *c is empty. STATUS_MEMORY. */
enum status slice_counts_create(struct slice_counts *c, uint64_t length, uint64_t nnz, int bits,
                                uint32_t share, struct error *error);

/* Counts index[0..nnz), as far as they are of the share. By the calling thread alone.
 * STATUS_MEMORY. */
enum status slice_counts_add(struct slice_counts *c, const uint32_t *index, uint64_t nnz,
                             struct error *error);

/* How many indices of the share have a nonzero, and how many nonzeros the one with most has. */
void slice_counts_total(const struct slice_counts *c, uint64_t *occurring, uint64_t *most);

/* Accepts an empty one. */
void slice_counts_free(struct slice_counts *c);

#endif
