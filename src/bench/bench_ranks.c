#include "bench/bench_ranks.h"

#include <string.h>

#include "base/memory.h"

static struct bench_rank summarise(const struct bench_result *r)
{
    struct bench_rank mine = {.nnz = r->nnz, .communication = r->communication};
    for (int n = 0; n < r->shape.order; n++) {
        mine.mttkrp[n] = r->als.own.mode[n].statistics.median;
        mine.update[n] = r->als.operation[OP_UPDATE][n];
    }
    return mine;
}

static enum status gather(struct bench_ranks *ranks, struct comm *c, const struct rank_tensor *t,
                          const struct bench_result *r, struct error *error)
{
    const struct bench_rank mine = summarise(r);
    uint64_t largest = 0;
    ranks->rank = memory_array((size_t)c->size, sizeof *ranks->rank, error);
    if (!ranks->rank) {
        comm_abort(c, error);
        return error->status;
    }
    if (comm_allgather(c, &mine, sizeof mine, ranks->rank, error) != STATUS_OK)
        return error->status;
    for (int k = 0; k < c->size; k++)
        largest = ranks->rank[k].nnz > largest ? ranks->rank[k].nnz : largest;
    ranks->imbalance = (double)largest * c->size / (double)t->nnz - 1;
    return STATUS_OK;
}

enum status bench_run_ranks(struct bench_ranks *ranks, struct bench_result *result, struct comm *c,
                            const char *path, const struct tns_options *tns,
                            const struct rank_request *split, const struct bench_request *request,
                            struct progress *progress, struct error *error)
{
    struct rank_tensor t;
    struct rank_rows place = {0};
    struct bench_request mine = *request;
    *ranks = (struct bench_ranks){.ranks = c->size};
    if (rank_tensor_open(&t, c, path, tns, split, progress, error) == STATUS_OK &&
        rank_rows_open(&place, c, &t.grid, error) == STATUS_OK) {
        place.devices = request->devices;
        memcpy(ranks->parts, t.grid.parts, sizeof ranks->parts);
        ranks->shape = t.shape;
        ranks->nnz = t.nnz;
        ranks->cost = t.cost;
        mine.part = &t;
        mine.ranks = &place;
        mine.als_only = true;
        if (bench_run(result, &mine, progress, error) == STATUS_OK)
            gather(ranks, c, &t, result, error);
        else
            comm_abort(c, error);
        ranks->read_seconds = t.read_seconds;
        ranks->exchange_seconds = t.exchange_seconds;
    }
    rank_rows_close(&place);
    rank_tensor_close(&t);
    return error->status;
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
