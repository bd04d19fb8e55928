/* Decodes a .blco file some segments at a time, so that the tensor may be larger than memory. */
#ifndef BLCO_BLCO_PIECES_H
#define BLCO_BLCO_PIECES_H

#include "formats/blco/blco_file.h"
#include "tensor/coo.h"

/* The segments [begin, end) of a file, `length` of them a piece. */
struct blco_pieces {
    const struct blco_file *file; /* borrowed */
    uint64_t begin, end, length;
};

/* All segments, some for each OpenMP thread at a time, or as many as `memory` bytes hold when
 * decoded, but at least one (unless the file has none). */
struct blco_pieces blco_pieces_of(const struct blco_file *f, uint64_t memory);

/* Decodes the pieces, one after the other, with all OpenMP threads, and gives each to `take` (with
 * `context`); where there are no nonzeros, one piece without nonzeros. Takes memory for one piece.
 * STATUS_INPUT if the file is damaged, STATUS_MEMORY, and errors of `take`. */
enum status blco_pieces_each(const struct blco_pieces *p, coo_taker take, void *context,
                             struct error *error);

/* *hash = fingerprint_hash of the nonzeros of segments [begin, end) of a file, which are decoded
 * some at a time. STATUS_INPUT if the file is damaged, STATUS_MEMORY. */
enum status blco_pieces_hash(const struct blco_file *f, uint64_t begin, uint64_t end,
                             uint64_t *hash, struct error *error);

#endif
