/* Chunks of the nonzeros of a mode's ordering, and the rows that chunks share. An ordering in
 * device memory is one piece, or is cut into pieces of whole rows. Each batch of a streamed
 * ordering is a piece, whose nonzeros are counted from its first; the parts of a row that pieces
 * share are joined as those of a row that chunks share. */
#pragma once

#include "backend/cuda/stream/device_stream.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/rows/row_systems.h"

/* Where an ordering `mode n` in device memory is cut into pieces of whole rows: the first row of
 * each piece but the first one, ascending; a piece may have no nonzeros. */
struct device_row_cuts {
    uint64_t *row; /* (count); owned */
    uint32_t count;
};

struct device_row_piece {
    uint32_t first, chunks;           /* its chunks: [first, first + chunks)                  */
    uint32_t first_join, joins;       /* what its chunks share: [first_join, first_join + joins) */
    bool enters;                      /* its first row begins in a piece before: part 0     */
    bool leaves;                      /* its last row, another one, ends in a piece after   */
    uint32_t leaving;                 /* its part of that row                               */
    uint32_t most_parts;              /* of a join                                    */
    bool first_is_part, last_is_part; /* of its joins: as in struct row_systems_args  */
};

/* The chunks of one mode. Device arrays are owned. */
struct device_row_chunks {
    int mode;
    const struct device_tensor *tensor; /* the ordering of the mode; borrowed; NULL: streamed, or
                                         * there is none                                     */
    struct device_row_piece *piece;     /* (pieces); host, owned                             */
    uint32_t pieces;                    /* 0: the mode has no ordering                       */
    uint32_t most_chunks;               /* of a piece                                        */
    uint32_t totals;     /* chunks and joins: of all pieces; streamed, of a piece at most        */
    uint64_t *chunk;     /* (chunks + pieces): those of piece p from its first + p on */
    uint32_t *block;     /* (chunks)                                           */
    uint32_t *continued; /* (chunks + 1)                                       */
    struct row_join *join;   /* (joins): of all pieces                            */
    struct row_join *shared; /* (shared_rows): rows that pieces share                  */
    uint32_t shared_rows;
};

#define DEVICE_ROW_CHUNK_NNZ 128 /* nonzeros of a chunk, at least, on average */

/* Device memory of the tables of a piece of so many nonzeros, at most. */
uint64_t device_row_chunks_bytes(uint64_t nnz);

/* An ordering in device memory, that of the mode. */
struct device_row_ordering {
    const struct device_tensor *tensor;
    int mode;
    const struct device_row_cuts *cuts; /* NULL: it is one piece */
    uint64_t most;                      /* chunks of a piece, about */
};

/* The caller closes *d, also after a failure. STATUS_MEMORY. */
enum status device_row_chunks_open(struct device_row_chunks *d,
                                   const struct device_row_ordering *ordering, cudaStream_t stream,
                                   struct error *error);

/* The same for a streamed ordering of the mode, each batch of which has about `most` chunks; reads
 * it once. STATUS_INPUT where the tensor is damaged. */
enum status device_row_chunks_stream(struct device_row_chunks *d, struct device_stream *s, int mode,
                                     uint64_t most, cudaStream_t stream, struct error *error);

/* Accepts a zeroed one. */
void device_row_chunks_close(struct device_row_chunks *d);

/* Whether piece p has nonzeros. */
bool device_row_chunks_any(const struct device_row_chunks *d, uint64_t p);

/* args->chunk, block, continued, joins: those of piece p. */
void device_row_chunks_args(const struct device_row_chunks *d, uint64_t p,
                            struct row_systems_args *args);
