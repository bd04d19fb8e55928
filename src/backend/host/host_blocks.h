/* Blocks of neighbouring nonzeros in the ordering of a mode, of one row or of several, which are
 * worked on together, so that vectors are full even where rows are short. */
#ifndef BLCO_HOST_BLOCKS_H
#define BLCO_HOST_BLOCKS_H

#include "backend/host/host_slices.h"
#include "backend/host/host_systems_simd.h"
#include "backend/host/host_terms.h"
#include "base/error.h"

/* What blocks are read from; borrowed. */
struct host_blocks {
    const struct host_slices *slices;
    const struct host_systems_kernels *kernel;
    const struct host_rows *factors;
    const double *now; /* (R): times the rows of the mode, their weights */
    struct host_products products;
    uint64_t most; /* nonzeros of a block, a multiple of HOST_SYSTEM_PAD */
};

/* The nonzeros of a block that belong to one row. */
struct host_block_part {
    uint64_t slice;
    uint64_t first, count; /* of the block's nonzeros */
};

/* A block in one thread's room. */
struct host_block {
    uint64_t first, count; /* nonzeros [first, first + count), at most b->most */
    uint64_t parts;
    struct host_block_part part[HOST_SYSTEM_BLOCK];
    const double *row[HOST_SYSTEM_BLOCK]; /* of each nonzero, laid out, in `laid` */
    double *laid;                         /* (HOST_SYSTEM_BLOCK x ld): the parts' rows */
    uint64_t laid_slice;                  /* whose row stands first in `laid` */
    double *z, *wz;                       /* (HOST_SYSTEM_BLOCK x ld) */
    double *a;                            /* (ld) */
    struct host_terms t;
};

/* matrix: whether wz is needed, too. */
struct host_blocks host_blocks_of(const struct host_slices *slices, const struct host_rows *factors,
                                  const double *now, bool matrix);

/* Doubles of a block's arrays, which are 0 at first. */
uint64_t host_block_room(uint64_t ld);

/* A block whose arrays are in `room`. */
void host_block_begin(struct host_block *x, uint64_t ld, double *room);

/* *x = the next of nonzeros [first, last), of which the first is in `slice`: its parts, z and t.m.
 */
void host_block_read(const struct host_blocks *b, struct host_block *x, uint64_t slice,
                     uint64_t first, uint64_t last);

/* a (ld) = row `row` as it is, with its weights. */
void host_blocks_row(const struct host_blocks *b, uint64_t row, double *a);

#endif
