/* Whether coordinates are distinct, found out without sorting. */
#ifndef BLCO_COO_DISTINCT_H
#define BLCO_COO_DISTINCT_H

#include <stdbool.h>

#include "tensor/coo.h"

/* *distinct = true where no two entries of x have the same coordinates. Where it is false, two
 * entries probably have the same coordinates; only of a tensor whose coordinates take more than 64
 * bits, or of one made for that, may all be distinct. Takes the more passes over x the fewer
 * entries (at_once, about) a pass may compare; 8 bytes for each of these, and 1 MB a thread. By all
 * OpenMP threads. STATUS_MEMORY. */
enum status coo_distinct(const struct coo *x, uint64_t at_once, bool *distinct,
                         struct error *error);

#endif
