#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "tensor/ordering.h"

double bench_gathered_bytes(const struct bench_result *r)
{
    return (double)r->nnz * (double)(r->shape.order - 1) *
           (double)(r->rank * precision_bytes(r->precision));
}

struct bench_floor bench_floor(const struct bench_result *r, int mode)
{
    const double row = (double)(r->rank * precision_bytes(r->precision));
    /* A nonzero has at least its coordinates, without unused bits, and a value in single precision,
     * which is exact for most tensors. */
    double bytes = (double)r->nnz * (ordering_line_bits(&r->shape) / 8.0 + sizeof(float));
    for (int n = 0; n < r->shape.order; n++) {
        const uint64_t rows = r->shape.dims[n];
        bytes += row * (double)(n == mode ? rows : least_of(rows, r->nnz));
    }
    const double cache = bench_gathered_bytes(r) / r->rates.cache_bytes_per_second;
    const double memory = bytes / r->rates.copy_bytes_per_second;
    return (struct bench_floor){cache, memory, fmax(cache, memory),
                                cache > memory ? "cache" : "memory"};
}

double bench_als_seconds(const struct bench_als *als, enum operation op)
{
    double seconds = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        seconds += als->operation[op][n];
    return seconds;
}

double bench_transfer(const struct bench_result *r)
{
    return 16 * (double)r->nnz / r->rates.upload_bytes_per_second;
}

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
    TRY(error->status);
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

enum status bench_ranks_gather(struct bench_ranks *ranks, const struct rank_tensor *t,
                               const struct bench_result *result, struct error *error)
{
    struct bench_rank mine = {.nnz = result->nnz, .communication = result->communication};
    struct comm *c = t->comm;
    uint64_t largest = 0;
    *ranks = (struct bench_ranks){.ranks = c->size,
                                  .shape = t->shape,
                                  .nnz = t->nnz,
                                  .cost = t->cost,
                                  .read_seconds = t->input.read_seconds,
                                  .exchange_seconds = t->exchange_seconds};
    for (int n = 0; n < result->shape.order; n++) {
        mine.mttkrp[n] = result->als.own.mode[n].statistics.median;
        mine.update[n] = result->als.operation[OP_UPDATE][n];
    }
    memcpy(ranks->parts, t->grid.parts, sizeof ranks->parts);
    ranks->rank = memory_array((size_t)c->size, sizeof *ranks->rank, error);
    if (!ranks->rank) {
        comm_abort(c, error);
        return error->status;
    }
    TRY(comm_allgather(c, &mine, sizeof mine, ranks->rank, error));
    for (int k = 0; k < c->size; k++)
        largest = ranks->rank[k].nnz > largest ? ranks->rank[k].nnz : largest;
    ranks->imbalance = (double)largest * c->size / (double)t->nnz - 1;
    return STATUS_OK;
}

double bench_ranks_mttkrp(const struct bench_ranks *ranks, int order)
{
    double sum = 0;
    for (int n = 0; n < order; n++) {
        double slowest = 0;
        for (int k = 0; k < ranks->ranks; k++)
            slowest = ranks->rank[k].mttkrp[n] > slowest ? ranks->rank[k].mttkrp[n] : slowest;
        sum += slowest;
    }
    return sum;
}

void bench_ranks_free(struct bench_ranks *ranks)
{
    memory_free(ranks->rank);
    *ranks = (struct bench_ranks){0};
}
