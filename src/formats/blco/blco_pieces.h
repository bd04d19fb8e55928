/* Decodes a .blco file some segments at a time, so that the tensor may be larger than memory. */
#ifndef BLCO_BLCO_PIECES_H
#define BLCO_BLCO_PIECES_H

#include "formats/blco/blco_file.h"
#include "tensor/coo_pieces.h"

/* The number of segments to decode at a time: some for each OpenMP thread, or as many as `memory`
 * bytes hold when decoded, but at least one (unless the file has none). */
uint64_t blco_pieces_length(const struct blco_file *f, uint64_t memory);

/* Decodes `length` segments at a time with all OpenMP threads, and gives each piece to `take` (with
 * `context`); a file without nonzeros gives one piece without nonzeros. Takes memory for one piece.
 * STATUS_INPUT if the file is damaged,
 * STATUS_MEMORY, and what `take` fails with. */
enum status blco_pieces_each(const struct blco_file *f, uint64_t length, coo_taker take,
                             void *context, struct error *error);

/* blco_pieces_each of segments [begin, behind). */
enum status blco_pieces_some(const struct blco_file *f, uint64_t begin, uint64_t behind,
                             uint64_t length, coo_taker take, void *context, struct error *error);

#endif
