/* The BLCO tensor: nonzeros sorted along the line of an ordering and cut into blocks (Nguyen et
 * al.: Efficient, out-of-memory sparse MTTKRP on massively parallel architectures, ICS 2022,
 * section 4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"
#include "tensor/ordering.h"

struct blco_block {
    uint64_t first, count;    /* the block's nonzeros are [first, first + count)              */
    uint32_t base[MAX_ORDER]; /* the coordinate bits above the cut, at their own places      */
};

struct blco {
    struct shape shape;
    uint64_t nnz;
    struct ordering ordering;
    uint64_t *index[2]; /* (nnz) each; index[1] is NULL where ordering.words is 1; owned */
    double *value;      /* (nnz); owned                                                  */
    uint64_t nblocks;
    struct blco_block *block; /* (nblocks), in line order, none empty; owned                   */
    double norm_sq;           /* ||X||^2                                                       */
};

struct blco_options {
    int kind;          /* ORDERING_ALTO or a mode                                          */
    int index_bits;    /* 0: 64, or 128 where 64 would leave blocks of only a few nonzeros */
    struct coo *spent; /* NULL, or the tensor itself: its arrays are taken or freed as soon as
                        * they are not needed, to save memory; its shape and nnz stay           */
};

#define BLCO_FEW_NONZEROS 4096 /* blocks with fewer on average are worth another index word */

/* Builds *b from x, whose coordinates are distinct (coo_clean); x is only read. By all OpenMP
 * threads. The caller frees *b with blco_free. STATUS_MEMORY leaves *b empty. */
enum status blco_build(struct blco *b, const struct coo *x, const struct blco_options *options,
                       struct error *error);

/* Builds *b in the common ordering (ordering_common), from which every ordering `mode n` is made by
 * little more than a split by mode n's bits. The lines of x have at most 64 bits, and its
 * coordinates are distinct; faster where they ascend, mode by mode. x is only read, unless it is
 * also `spent`, which may be NULL and means what it means in struct blco_options. By all OpenMP
 * threads. The caller frees *b with blco_free. STATUS_MEMORY leaves *b empty. */
enum status blco_build_common(struct blco *b, const struct coo *x, struct coo *spent,
                              struct error *error);

/* Builds *b in the ordering `mode` from *common, which blco_build_common has made, as blco_build
 * with default options and a 64-bit index. If `take`, *b may take over *common (it does where the
 * ordering is the same). STATUS_MEMORY leaves *b empty. */
enum status blco_build_from(struct blco *b, struct blco *common, int mode, bool take,
                            struct error *error);

/* The number of the block of nonzero i. */
uint64_t blco_block_of(const struct blco *b, uint64_t i);

/* coordinate (count) = those of mode `mode` of nonzeros [first, first + count), in line order. By
 * the calling thread alone. */
void blco_decode_mode(const struct blco *b, int mode, uint64_t first, uint64_t count,
                      uint32_t *coordinate);

/* Writes nonzeros [first, first + count), in line order, to x, which has the same order, from place
 * `to` on. By the calling thread alone. */
void blco_decode(const struct blco *b, uint64_t first, uint64_t count, struct coo *x, uint64_t to);

/* Builds the coordinate tensor, in line order. The caller frees *x with coo_free. STATUS_MEMORY
 * leaves *x empty. */
enum status blco_to_coo(const struct blco *b, struct coo *x, struct error *error);

/* Frees the arrays and empties *b; accepts an empty one. */
void blco_free(struct blco *b);
