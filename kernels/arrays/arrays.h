/* Sorts, selections, scans and sums of whole arrays. Device pointers only; nothing of src/ is known
 * here. All launchers are asynchronous and return the launch's error. With temporary NULL only
 * *temporary_bytes is set. */
#pragma once

#include <stddef.h>

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Keys, each with a value: pairs of 4 and 4 bytes (fewer than 2^32 of them), 8 and 4, 8 and 8, or
 * 16 and 8. The arrays are borrowed. */
struct array_pairs {
    uint64_t count;
    void *key[2];   /* (count x key_size) each: unsigned numbers */
    void *value[2]; /* (count x value_size) each                 */
    int key_size, value_size;
};

/* Stable sort by bits [begin, end) of the keys. The pairs start and end in key[0] and value[0]: if
 * sorting leaves them in key[1] and value[1], the pointers are swapped. */
cudaError_t arrays_sort(void *temporary, size_t *temporary_bytes, struct array_pairs *pairs,
                        int begin, int end, cudaStream_t stream);

/* place = the numbers i, ascending, of the flags (n) that are not 0, as numbers of place_size 4 or
 * 8 bytes; *count (device) = how many. */
cudaError_t arrays_select(void *temporary, size_t *temporary_bytes, const uint8_t *flag,
                          void *place, int place_size, uint64_t *count, uint64_t n,
                          cudaStream_t stream);

/* count[i] (n) = the sum of the counts before it. */
cudaError_t arrays_scan(void *temporary, size_t *temporary_bytes, uint64_t *count, uint64_t n,
                        cudaStream_t stream);

/* before[w] (words + 1) = the ones in the words before word w. */
cudaError_t arrays_scan_bits(void *temporary, size_t *temporary_bytes, const uint64_t *word,
                             uint64_t words, uint32_t *before, cudaStream_t stream);

/* *sum (device) = the sum of the squares of value (n), the same bits at each call. */
cudaError_t arrays_sum_squares(void *temporary, size_t *temporary_bytes, const double *value,
                               uint64_t n, double *sum, cudaStream_t stream);

LAUNCHERS_END
