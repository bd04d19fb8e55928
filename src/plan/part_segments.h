/* Which segments of a .blco file a rank has to read for its part of the tensor. */
#ifndef BLCO_PART_SEGMENTS_H
#define BLCO_PART_SEGMENTS_H

#include "formats/blco/blco_file.h"

/* number[0..*count) = the segments, ascending, that may have nonzeros in the rows of `part`, as the
 * lines at both ends of each segment tell. Reads the first group of each segment, by all OpenMP
 * threads. The caller frees *number with memory_free; it is NULL on failure. STATUS_INPUT where the
 * file cannot be read, STATUS_MEMORY. */
enum status part_segments(uint64_t **number, uint64_t *count, const struct blco_file *f,
                          const struct part *part, struct error *error);

#endif
