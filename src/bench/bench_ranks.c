#include "bench/bench_ranks.h"

#include <string.h>

#include "base/memory.h"

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
