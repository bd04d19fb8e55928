/* A rank's share of a file. Every rank reads its share of a file that has shares (a regular file of
 * plain text, NumPy arrays, a .blco file). Others are read by rank 0 alone, which deals out the
 * entries of each piece evenly. A rank alone reads all. */
#pragma once

#include "formats/tensor_file.h"
#include "ranks/share.h"

/* STATUS_INPUT on all ranks where a rank's file is not rank 0's (ranks may be on several hosts):
 * they differ in the two numbers of `identity` (tensor_reader.h). */
enum status share_check_same_file(struct comm *c, const char *path, const uint64_t identity[2],
                                  struct error *error);

/* Reads this rank's share of the file of *r, whose first members are set, the same on all ranks but
 * for `progress` and `cut`. Every rank of c calls it. Entries of a format that is not clean may
 * take options->memory bytes, or this rank's part of what the machine has, with TENSOR_CLEAN_BYTES
 * for each to clean them; beyond that STATUS_MEMORY, so that the system does not run out of memory.
 * The caller frees *s with share_free, which is empty on failure, which all ranks see, and closes
 * *r, after a failure too. Errors of the reader, with the message that one process gives. */
enum status share_read(struct share *s, struct comm *c, struct tensor_reader *r,
                       const struct tns_options *options, struct error *error);

/* Reads only about every `every`-th nonzero (1 or more) of the share of a .blco file; s->total is
 * the number of nonzeros that all ranks have read. Likewise. */
enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error);
