/* A .blco file that is decoded some segments at a time, so that its size does not matter. */
#ifndef BLCO_BLCO_PIECES_H
#define BLCO_BLCO_PIECES_H

#include "formats/blco/blco_file.h"
#include "tensor/coo_pieces.h"

/* How many of the file's segments to decode at a time: some for each OpenMP thread, or as many, at
 * least one, as `memory` bytes hold when decoded. */
uint64_t blco_pieces_length(const struct blco_file *f, uint64_t memory);

/* Decodes `length` segments at a time, by all OpenMP threads, and gives each piece to `take`; one
 * of no nonzeros where the file has none. Memory for one piece is taken; pages of the file are let
 * go of when they are decoded. STATUS_INPUT where the file is damaged, STATUS_MEMORY, and what the
 * taker fails with. */
enum status blco_pieces_each(const struct blco_file *f, uint64_t length, coo_taker take,
                             void *context, struct error *error);

#endif
