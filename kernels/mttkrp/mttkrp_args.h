/* The arguments of an MTTKRP kernel. All arrays are in device memory. */
#pragma once

#include <stdint.h>

#include "numerics/max_order.h"
#include "numerics/precision.h"
#include "numerics/vector_bytes.h"

/* The place of a mode's row number in the index. */
struct mttkrp_field {
    int word;      /* of the index: 0 or 1                                                   */
    int shift;     /* within the word                                                        */
    uint32_t mask; /* right-aligned                                                          */
    int mode;      /* entry of a block's base whose bits are or-ed in; ignored without bases */
};

/* A table from which each nonzero gathers a row: a factor matrix, or the Khatri-Rao product of two
 * factor matrices whose fields are neighbours in the index. */
struct mttkrp_gather {
    struct mttkrp_field field;
    const void *rows; /* (.. x vectors * 16 bytes), row-major */
};

/* Consecutive nonzeros of one BLCO block that one thread block works on. */
struct mttkrp_chunk {
    uint64_t first;
    uint32_t count;
    uint32_t block;
};

enum mttkrp_path {
    MTTKRP_PLAIN,  /* the chunk is read as it stands                                       */
    MTTKRP_SORTED, /* the chunk is sorted by output row in shared memory first: for orderings in
                    * which the nonzeros of a row are not neighbours                       */
    MTTKRP_EACH,   /* every nonzero is added to M by itself: the baseline                  */
    MTTKRP_PATHS
};

struct mttkrp_args {
    const uint64_t *index[2];         /* (nnz) each; [1] NULL where the index is one word  */
    const void *value;                /* (nnz), of `precision`, or doubles                 */
    const struct mttkrp_chunk *chunk; /* (chunks)                                          */
    uint64_t chunks;
    const uint32_t *base; /* (blocks x MAX_ORDER); NULL where all bits are zero */
    int gathers;          /* 0 to MAX_ORDER - 1                                 */
    struct mttkrp_gather gather[MAX_ORDER - 1];
    struct mttkrp_field output;
    void *m;            /* (copies x I_n x vectors * 16 bytes)               */
    uint64_t copy_size; /* vectors in one copy of M                          */
    uint32_t copies;    /* 1 or more: thread block b adds to copy b % copies */
    uint32_t vectors;   /* 16-byte vectors in a row of every table and of M  */
    int ordered; /* a row's nonzeros are neighbours: only the first and the last row of a chunk can
                  * be shared with other chunks; the other rows are stored, not added */
    /* MTTKRP_SORTED: bit r is set where one chunk has all nonzeros of row r, which is then stored
     * too (chunks.h); NULL: no such rows are known. */
    const uint32_t *unshared;
    /* (nnz) MTTKRP_SORTED: the order in which chunks take the nonzeros; NULL: as they stand. */
    const uint32_t *position;
    enum precision precision; /* of value, tables and M ... */
    int wide_values;          /* ... but values are doubles in any case */
    enum mttkrp_path path;
};

/* Most nonzeros in a chunk of MTTKRP_SORTED. */
#define MTTKRP_SORTED_CHUNK 2048
