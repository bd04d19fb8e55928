/* Cutting a mode's rows into ranges by plain passes over all rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of rows that ranges of at most `most` nonzeros cover, each as long as possible, from
 * the first row on. */
static inline uint64_t naive_cover(const uint64_t *count, uint64_t length, int parts, uint64_t most,
                                   uint64_t *cut)
{
    uint64_t row = 0;
    for (int p = 0; p < parts; p++) {
        cut[p] = row;
        for (uint64_t sum = 0; row < length && sum + count[row] <= most; row++)
            sum += count[row];
    }
    cut[parts] = row;
    return row;
}

/* The result that row_sums_cut promises: the least load of the fullest range, covering all rows. */
static inline uint64_t naive_cut(const uint64_t *count, uint64_t length, int parts, uint64_t *cut)
{
    uint64_t least = 0, most = 0;
    for (uint64_t i = 0; i < length; i++)
        most += count[i];
    while (least < most) {
        uint64_t middle = least + (most - least) / 2;
        if (naive_cover(count, length, parts, middle, cut) == length)
            most = middle;
        else
            least = middle + 1;
    }
    naive_cover(count, length, parts, least, cut);
    return least;
}
