#include "plan/row_cuts.h"

#include <stddef.h>

#include "base/memory.h"

enum status row_sums_create(struct row_sums *s, const uint64_t *count, uint64_t length,
                            struct error *error)
{
    const uint64_t steps = length / ROW_SUMS_STEP + 1;
    uint64_t *before = memory_array(steps, sizeof *before, error), sum = 0;
    *s = (struct row_sums){0};
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < steps; k++) {
        uint64_t own = 0, end = k + 1 < steps ? (k + 1) * ROW_SUMS_STEP : length;
        for (uint64_t row = k * ROW_SUMS_STEP; row < end; row++)
            own += count[row];
        before[k] = own;
    }
    for (uint64_t k = 0; k < steps; k++) {
        uint64_t own = before[k];
        before[k] = sum;
        sum += own;
    }
    *s = (struct row_sums){.count = count, .length = length, .before = before, .all = sum};
    return STATUS_OK;
}

void row_sums_free(struct row_sums *s)
{
    memory_free(s->before);
    *s = (struct row_sums){0};
}

/* A row, and the nonzeros of the rows before the row. */
struct place {
    uint64_t row, sum;
};

/* The first place from `at` on whose row would bring the sum above `limit`. */
static struct place advance(const struct row_sums *s, struct place at, uint64_t limit)
{
    uint64_t low = at.row / ROW_SUMS_STEP, high = s->length / ROW_SUMS_STEP;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (s->before[middle] <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    if (low * ROW_SUMS_STEP > at.row)
        at = (struct place){low * ROW_SUMS_STEP, s->before[low]};
    while (at.row < s->length && at.sum + s->count[at.row] <= limit)
        at.sum += s->count[at.row++];
    return at;
}

/* Ranges of at most `most` nonzeros, as long as they can be, from the first row on; how many rows
 * they cover. cut may be NULL. */
static uint64_t cover(const struct row_sums *s, int parts, uint64_t most, uint64_t *cut)
{
    struct place at = {0};
    for (int p = 0; p < parts; p++) {
        if (cut)
            cut[p] = at.row;
        at = advance(s, at, at.sum + most);
    }
    if (cut)
        cut[parts] = at.row;
    return at.row;
}

uint64_t row_sums_cut(const struct row_sums *s, int parts, uint64_t *cut)
{
    uint64_t least = (s->all + (uint64_t)parts - 1) / (uint64_t)parts, most = s->all;
    while (least < most) {
        uint64_t middle = least + (most - least) / 2;
        if (cover(s, parts, middle, NULL) == s->length)
            most = middle;
        else
            least = middle + 1;
    }
    cover(s, parts, least, cut);
    return least;
}

uint64_t row_cuts_longest(const uint64_t *cut, int parts)
{
    uint64_t longest = 0;
    for (int p = 0; p < parts; p++)
        longest = cut[p + 1] - cut[p] > longest ? cut[p + 1] - cut[p] : longest;
    return longest;
}

int row_cuts_range(const uint64_t *cut, int parts, uint64_t row)
{
    int low = 0, high = parts - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (cut[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
