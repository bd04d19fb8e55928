/* Makes a replica piece, part of the ordering `mode n` of a streamed tensor, from its decoded
 * batches: nonzeros of consecutive rows of mode n, which arrays_sort sorts along that ordering's
 * line. Device pointers only; nothing of src/ is known here. All launchers are asynchronous and
 * return the launch's error. */
#pragma once

#include "numerics/launchers.h"
#include "numerics/packed_group.h"

LAUNCHERS_BEGIN

/* A decoded batch; each mode has its whole coordinate in one of at most two words. */
struct replica_batch {
    const uint64_t *index[PACKED_WORDS]; /* (nnz) each; [1] is not read where lines have one word */
    const double *value;                 /* (nnz) */
    uint64_t nnz;
};

/* Where the coordinates are in a decoded nonzero, and on the line, on which the bits of a mode are
 * neighbours. */
struct replica_map {
    int order;
    int words; /* 1 or 2, of a decoded nonzero and of the line */
    int bits;  /* of the line                                  */
    int kind;  /* the mode on top of the line                  */
    struct {
        uint32_t mask;
        uint8_t word;
        uint8_t shift;
        uint8_t place; /* of its lowest bit on the line */
    } mode[MAX_ORDER];
};

/* A replica piece: nonzeros of rows [begin, end). A line has 8 * words bytes, and is aligned to as
 * many. */
struct replica_piece {
    uint32_t begin, end;
    void *line;      /* (room x words)                                        */
    double *value;   /* (room)                                                */
    uint64_t *count; /* (1) nonzeros appended; more than room are not written */
    uint64_t room;
};

/* Adds each nonzero to its row's count (I_n); a count of 2^32 or more wraps. */
cudaError_t replica_count_rows(const struct replica_batch *batch, const struct replica_map *map,
                               uint32_t *count, cudaStream_t stream);

/* Appends the batch's nonzeros of the replica piece's rows, in an order that may differ from call
 * to call. */
cudaError_t replica_append(const struct replica_batch *batch, const struct replica_map *map,
                           const struct replica_piece *piece, cudaStream_t stream);

LAUNCHERS_END
