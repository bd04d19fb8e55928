/* Draws one of many items by their masses: searches the running sum, from a place near the item
 * that a table gives. */
#ifndef BLCO_GUIDE_TABLE_H
#define BLCO_GUIDE_TABLE_H

#include <stdint.h>

#define GUIDE_STEPS 1024

struct guide_table {
    const double *sum; /* ascending; the mass of item i is sum[i + 1] - sum[i]; not owned */
    double begin, mass;
    uint64_t step[GUIDE_STEPS + 1]; /* the item in which each step of the mass begins */
};

/* The last of items [first, last) that begins at `value` or below; `first` if there is none. */
static inline uint64_t guide_table_search(const double *sum, uint64_t first, uint64_t last,
                                          double value)
{
    for (uint64_t count = last - first; count > 1;) {
        uint64_t half = count / 2;
        first = sum[first + half] <= value ? first + half : first;
        count -= half;
    }
    return first;
}

/* A guide to items [first, last), at least one. `sum` outlives *g. */
static inline void guide_table_create(struct guide_table *g, const double *sum, uint64_t first,
                                      uint64_t last)
{
    g->sum = sum;
    g->begin = sum[first];
    g->mass = sum[last] - sum[first];
    uint64_t item = first, stride = (last - first) / GUIDE_STEPS + 1;
    for (int i = 0; i < GUIDE_STEPS; i++) {
        double value = g->begin + g->mass * i / GUIDE_STEPS;
        uint64_t ahead = stride;
        while (ahead < last - item && sum[item + ahead] <= value)
            ahead *= 2;
        item = guide_table_search(sum, item, ahead < last - item ? item + ahead : last, value);
        g->step[i] = item;
    }
    g->step[GUIDE_STEPS] = last - 1;
}

/* The item at the quantile u in [0, 1). */
static inline uint64_t guide_table_find(const struct guide_table *g, double u)
{
    uint32_t i = (uint32_t)(u * GUIDE_STEPS);
    return guide_table_search(g->sum, g->step[i], g->step[i + 1] + 1, g->begin + g->mass * u);
}

#endif
