#include "bench/bench_statistics.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* At `part` (0 to 1) of the way from the first to the last of the sorted samples. */
static double quantile(const double *sorted, uint64_t count, double part)
{
    double place = part * (double)(count - 1);
    uint64_t below = (uint64_t)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

enum status bench_statistics(const double *sample, uint64_t count, struct bench_statistics *s,
                             struct error *error)
{
    double *sorted = memory_array(count, sizeof *sorted, error);
    if (!sorted)
        return error->status;
    memcpy(sorted, sample, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    *s = (struct bench_statistics){.least = sorted[0],
                                   .lower = quantile(sorted, count, 0.25),
                                   .median = quantile(sorted, count, 0.5),
                                   .upper = quantile(sorted, count, 0.75),
                                   .most = sorted[count - 1]};
    memory_free(sorted);
    return STATUS_OK;
}
