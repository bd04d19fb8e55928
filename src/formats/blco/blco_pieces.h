/* Reads, samples or copies a .blco file some segments at a time, so that the tensor may be larger
 * than memory. */
#pragma once

#include "formats/blco/blco_file.h"
#include "formats/reader/tensor_reader.h"
#include "tensor/coo.h"
#include "tensor/value_change.h"

/* Reads a file that is open already (tensor_reader's `file`), or opens one. A share is a range of
 * segments. What a file lists besides nonzeros is compared with its header when all shares are
 * read. */
extern const struct tensor_format tensor_blco;

/* The most nonzeros of a piece (TENSOR_PIECES) of `memory` bytes: some segments for each OpenMP
 * thread, or as many as memory holds, but at least one. */
uint64_t blco_pieces_nnz(const struct blco_file *f, uint64_t memory);

/* *hash = fingerprint_hash of the nonzeros of share number `share` of `shares` of a file, which are
 * decoded some at a time. STATUS_INPUT if the file is damaged, STATUS_MEMORY. */
enum status blco_pieces_hash(const struct blco_file *f, int share, int shares, uint64_t *hash,
                             struct error *error);

/* Some nonzeros of a file, evenly spread over it, without decoding it all. Decodes every `every`-th
 * group (1 or more) of segments [begin, end), and so about every `every`-th nonzero, with all
 * OpenMP threads. Checksums are not checked. The caller frees *x, which is empty on failure.
 * STATUS_INPUT where a group is damaged, STATUS_MEMORY. */
enum status blco_sample(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                        uint64_t every, struct error *error);

/* How a file is copied. Borrowed. */
struct blco_copying {
    const char *path;                  /* of the new file                                */
    const struct mode_names *modes;    /* of its modes; NULL: as they are                */
    const struct value_change *change; /* what becomes of the values; NULL: they stay    */
    uint64_t memory;                   /* bytes to take, about                           */
    struct progress *progress;         /* may be NULL                                    */
};

/* Copies the tensor of `f`, with its segments packed again, some segments at a time (at least one
 * segment each for reading and writing, and some megabytes for each OpenMP thread). *bytes is the
 * length of the new file. STATUS_INPUT if `f` is damaged or its nonzeros are not in order, and from
 * value_change_apply; STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_copy(const struct blco_file *f, const struct blco_copying *how, uint64_t *bytes,
                      struct error *error);
