/* A .blco file written anew, as this program writes them, whatever its segments were. */
#ifndef BLCO_BLCO_COPY_H
#define BLCO_BLCO_COPY_H

#include "formats/blco/blco_file.h"

/* Copies the tensor of `f` to the file `path`, some segments at a time, in about `memory` bytes (at
 * least one segment for reading and writing each, and some megabytes for each OpenMP thread).
 * *bytes says how long the file is. STATUS_INPUT where `f` is damaged or its nonzeros are not in
 * order, STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_copy(const struct blco_file *f, const char *path, uint64_t memory, uint64_t *bytes,
                      struct progress *progress, struct error *error);

#endif
