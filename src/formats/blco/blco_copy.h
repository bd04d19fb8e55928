/* Copies a .blco file, with its segments packed again. */
#ifndef BLCO_BLCO_COPY_H
#define BLCO_BLCO_COPY_H

#include "formats/blco/blco_file.h"
#include "tensor/value_change.h"

/* How a file is copied. Borrowed. */
struct blco_copying {
    const char *path;                  /* of the new file                                */
    const struct value_change *change; /* what becomes of the values; NULL: they stay    */
    uint64_t memory;                   /* bytes to take, about                           */
    struct progress *progress;         /* may be NULL                                    */
};

/* Copies the tensor of `f`, some segments at a time (at least one segment each for reading and
 * writing, and some megabytes for each OpenMP thread). *bytes is the length of the new file.
 * STATUS_INPUT if `f` is damaged or its nonzeros are not in order, and from value_change_apply;
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_copy(const struct blco_file *f, const struct blco_copying *how, uint64_t *bytes,
                      struct error *error);

#endif
