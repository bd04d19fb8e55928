#include "backend/host/host_ranks.h"

#include "backend/host/host_entries.h"

/* Rows of the model's entries to h->solve.sent, or back. */
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

/* How many rows the stripe of this rank has, which begins at rows->first. */
static uint64_t own_rows(const struct mode_rows *rows)
{
    const uint64_t *stripe = rows->stripe_first + rows->peers->rank;
    return stripe[1] - stripe[0];
}

enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_reduce_scatter(h->ranks, mode, m, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    read_rows(h, m, 0, rows->stripe_first[rows->peers->size]);
    TRY(rank_rows_reduce_scatter(h->ranks, mode, h->solve.sent, h->model.rank, error));
    write_rows(h, m, rows->first, own_rows(rows));
    return STATUS_OK;
}

enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->model.precision == PRECISION_DOUBLE)
        return rank_rows_allgather(h->ranks, mode, a, h->model.rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    read_rows(h, a, rows->first, own_rows(rows));
    TRY(rank_rows_allgather(h->ranks, mode, h->solve.sent, h->model.rank, error));
    write_rows(h, a, 0, rows->stripe_first[rows->peers->size]);
    return STATUS_OK;
}
