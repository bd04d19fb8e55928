/* The peaks of a component in a mode whose indices have an order, as times have. */
#ifndef BLCO_PEAKS_H
#define BLCO_PEAKS_H

#include "report/top_entries.h"

/* Between two peaks the column falls to PEAK_FALL of the lower one, or less; peaks below PEAK_LEAST
 * of the highest one are left out. */
#define PEAK_FALL  0.5
#define PEAK_LEAST 0.1

/* *top = the `count` highest peaks of each column of the factor matrix A (rows x R, row-major), or
 * as many as there are rows: entries that are the largest between two falls, or, of negative
 * entries, the least; of a plateau its first entry. The highest peak, the entry of largest
 * magnitude, comes first; entries after the last peak have value 0. NaN counts as 0. A is
 * read once, by as many OpenMP threads as it has eights of columns. The caller frees *top with
 * top_entries_free; it is empty on failure. STATUS_MEMORY. */
enum status peaks_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                       uint64_t count, struct error *error);

#endif
