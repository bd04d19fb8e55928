/* Which rows of a mode the nonzeros of a segment can have, found from the encoding lines at both
 * ends of the segment; and so which segments a rank has to read for its part of the tensor. */
#pragma once

#include "formats/blco/packed_tensor.h"
#include "tensor/ordering.h"

/* range[b] = the rows of `mode` that batch b can have; range (ceil(p->nsegments / segments)). A
 * batch is `segments` segments; the last batch may have fewer. The segments must stand in the order
 * of p->kind. Reads only the first group of each segment, by all OpenMP threads. */
void segment_rows_of_batches(struct row_range *range, const struct packed_tensor *p, int mode,
                             uint64_t segments);

/* number[0..*count) = the segments of the file, ascending, that may have nonzeros of `part`. Reads
 * the first group of each segment, by all OpenMP threads. The caller frees *number with
 * memory_free; it is NULL on failure. STATUS_INPUT where the file cannot be read, STATUS_MEMORY. */
enum status segment_rows_of_part(uint64_t **number, uint64_t *count, const struct blco_file *f,
                                 const struct part *part, struct error *error);
