/* Copies a .blco file, with its segments packed again. */
#ifndef BLCO_BLCO_COPY_H
#define BLCO_BLCO_COPY_H

#include "formats/blco/blco_file.h"

/* Copies the tensor of `f` to the file `path`, some segments at a time, in about `memory` bytes (at
 * least one segment each for reading and writing, and some megabytes for each OpenMP thread).
 * *bytes is the length of the new file. STATUS_INPUT if `f` is damaged or its nonzeros are not in
 * order, STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_copy(const struct blco_file *f, const char *path, uint64_t memory, uint64_t *bytes,
                      struct progress *progress, struct error *error);

#endif
