/* The BLCO tensor: nonzeros sorted along an ordering's line, cut into blocks (BLCO paper, section
 * 4). */
#ifndef BLCO_BLCO_H
#define BLCO_BLCO_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/blco_presort.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

struct blco_block {
    uint64_t first, count;    /* its nonzeros: index and value [first, first + count)        */
    uint32_t base[MAX_ORDER]; /* the coordinate bits above the cut, in their place           */
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
    int kind;               /* ORDERING_ALTO or a mode                                          */
    int index_bits;         /* 0: 64, or 128 where 64 would leave blocks of only a few nonzeros */
    uint64_t max_block_nnz; /* 0: BLCO_MAX_BLOCK_NNZ                                            */
};

#define BLCO_MAX_BLOCK_NNZ (UINT64_C(1) << 27)
#define BLCO_FEW_NONZEROS  4096 /* a block: fewer on average are worth a second index word */

/* Builds *b from x, whose coordinates are distinct (coo_clean); x is only read. Parallel. On
 * failure *b is empty. The caller frees it with blco_free. */
enum status blco_build(struct blco *b, const struct coo *x, const struct blco_options *options,
                       struct error *error);

/* The same ordering `mode` from a source, in blocks of at most BLCO_MAX_BLOCK_NNZ. The ordering
 * that the source itself stands in takes its arrays over where `take` says that they are needed no
 * more.
 */
enum status blco_build_from(struct blco *b, struct blco_presort *source, int mode, bool take,
                            struct error *error);

/* The block in which nonzero i lies. */
uint64_t blco_block_of(const struct blco *b, uint64_t i);

/* Coordinates (order) of nonzero i, which lies in block `block`. */
void blco_coordinates(const struct blco *b, uint64_t block, uint64_t i, uint32_t *coordinate);

/* Nonzeros [first, first + count), in line order, to x, of the tensor's order, from place `to` on.
 * By the calling thread. */
void blco_decode(const struct blco *b, uint64_t first, uint64_t count, struct coo *x, uint64_t to);

/* The coordinate tensor in line order; *x is fresh, the caller frees it. On failure *x is empty. */
enum status blco_to_coo(const struct blco *b, struct coo *x, struct error *error);

/* Bytes of the arrays of *b. */
uint64_t blco_bytes(const struct blco *b);

void blco_free(struct blco *b);

#endif
