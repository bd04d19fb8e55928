#include "report/peaks.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

#define TOGETHER 8 /* columns that a thread reads together: what a cache line has */

/* A walk along a column, over its entries of one sign; heights are magnitudes. */
struct walk {
    bool climbing;         /* from the last valley, else down from the last peak */
    struct top_entry best; /* the highest entry of the climb                     */
    double valley;         /* the least height since the last peak               */
};

/* Puts a peak among the `count` highest so far, the highest first. */
static void offer(struct top_entry *peak, uint64_t count, const struct top_entry *found)
{
    uint64_t at = count;
    while (at > 0 && fabs(peak[at - 1].value) < fabs(found->value))
        at--;
    if (at == count)
        return;
    memmove(peak + at + 1, peak + at, (count - at - 1) * sizeof *peak);
    peak[at] = *found;
}

/* Goes on to entry i, of value x and of the given height. */
static void step(struct walk *w, uint64_t i, double x, double height, struct top_entry *peak,
                 uint64_t count)
{
    if (w->climbing && height > fabs(w->best.value)) {
        w->best = (struct top_entry){i, x};
    } else if (w->climbing && height <= PEAK_FALL * fabs(w->best.value)) {
        offer(peak, count, &w->best);
        *w = (struct walk){.valley = height};
    } else if (!w->climbing && height > 0 && w->valley <= PEAK_FALL * height) {
        *w = (struct walk){.climbing = true, .best = {i, x}};
    } else if (!w->climbing && height < w->valley) {
        w->valley = height;
    }
}

/* The peaks of the columns [first, end), TOGETHER or fewer. */
static void scan(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                 uint64_t first, uint64_t end)
{
    struct walk above[TOGETHER] = {0}, below[TOGETHER] = {0};
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = first; r < end; r++) {
            double x = a[i * rank + r];
            struct top_entry *peak = top->entry + r * top->count;
            step(&above[r - first], i, x, fmax(x, 0), peak, top->count);
            step(&below[r - first], i, x, fmax(-x, 0), peak, top->count);
        }
    for (uint64_t r = first; r < end; r++) {
        struct top_entry *peak = top->entry + r * top->count;
        if (above[r - first].climbing)
            offer(peak, top->count, &above[r - first].best);
        if (below[r - first].climbing)
            offer(peak, top->count, &below[r - first].best);
        for (uint64_t k = 1; k < top->count; k++)
            if (fabs(peak[k].value) < PEAK_LEAST * fabs(peak[0].value))
                peak[k] = (struct top_entry){0};
    }
}

enum status peaks_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                       uint64_t count, struct error *error)
{
    *top = (struct top_entries){.count = count < rows ? count : rows};
    if (top->count == 0)
        return STATUS_OK;
    top->entry = memory_zeros(rank, top->count * sizeof *top->entry, error);
    if (!top->entry) {
        *top = (struct top_entries){0};
        return error->status;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t first = 0; first < rank; first += TOGETHER)
        scan(top, a, rows, rank, first, first + TOGETHER < rank ? first + TOGETHER : rank);
    return STATUS_OK;
}
