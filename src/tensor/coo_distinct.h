/* Whether coordinates are distinct, found out without sorting. */
#pragma once

#include <stdbool.h>

#include "tensor/coo.h"

/* *distinct = true: no two entries of x have the same coordinates. false: two entries probably have
 * the same coordinates; all may be distinct nevertheless where coordinates take more than 64 bits,
 * or where a tensor was made to deceive. A pass over x compares about `at_once` entries and takes 8
 * bytes for each; fewer entries need more passes. 1 MB a thread besides. By all OpenMP threads.
 * STATUS_MEMORY. */
enum status coo_distinct(const struct coo *x, uint64_t at_once, bool *distinct,
                         struct error *error);
