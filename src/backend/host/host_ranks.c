#include "backend/host/host_ranks.h"

#include "backend/host/host_entries.h"

/* The common rows of the peers, and the stripe of them that this rank solves: where the stripe's
 * sums are, and how many rows it has. */
struct common_rows {
    uint64_t all, first, mine;
};

static struct common_rows common_rows(const struct mode_rows *rows)
{
    const uint64_t *stripe = rows->stripe_first;
    int rank = rows->peers->rank;
    return (struct common_rows){.all = stripe[rows->peers->size],
                                .first = rows->first,
                                .mine = stripe[rank + 1] - stripe[rank]};
}

static void read_rows(struct host_state *h, void *from, uint64_t first, uint64_t count)
{
    const struct host_model *model = &h->model;
    host_entries_read(h->solve.sent + first * model->rank, host_model_row(model, from, first),
                      count * model->rank, model->precision);
}

static void write_rows(struct host_state *h, void *to, uint64_t first, uint64_t count)
{
    const struct host_model *model = &h->model;
    host_entries_write(host_model_row(model, to, first), h->solve.sent + first * model->rank,
                       count * model->rank, model->precision);
}

enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_reduce_scatter(h->ranks, mode, m, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    const struct common_rows common = common_rows(rows);
    read_rows(h, m, 0, common.all);
    TRY(rank_rows_reduce_scatter(h->ranks, mode, h->solve.sent, h->model.rank, error));
    write_rows(h, m, common.first, common.mine);
    return STATUS_OK;
}

enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_allgather(h->ranks, mode, a, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    const struct common_rows common = common_rows(rows);
    read_rows(h, a, common.first, common.mine);
    TRY(rank_rows_allgather(h->ranks, mode, h->solve.sent, h->model.rank, error));
    write_rows(h, a, 0, common.all);
    return STATUS_OK;
}
