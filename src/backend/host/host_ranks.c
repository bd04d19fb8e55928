#include "backend/host/host_ranks.h"

#include "backend/host/host_entries.h"

/* The rows that the ranks share, and the stripe of them that this rank solves: where its sums are,
 * and how many rows it has. */
struct shared_rows {
    uint64_t all, first, mine;
};

static struct shared_rows shared_rows(const struct mode_rows *rows)
{
    const uint64_t *stripe = rows->stripe_first;
    int rank = rows->peers->rank;
    return (struct shared_rows){.all = stripe[rows->peers->size],
                                .first = rows->first,
                                .mine = stripe[rank + 1] - stripe[rank]};
}

static void read_rows(struct host_state *h, void *from, uint64_t first, uint64_t count)
{
    host_entries_read(h->sent + first * h->rank, host_state_row(h, from, first), count * h->rank,
                      h->sweep.precision);
}

static void write_rows(struct host_state *h, void *to, uint64_t first, uint64_t count)
{
    host_entries_write(host_state_row(h, to, first), h->sent + first * h->rank, count * h->rank,
                       h->sweep.precision);
}

enum status host_ranks_scatter(struct host_state *h, int mode, void *m, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->sweep.precision == PRECISION_DOUBLE)
        return rank_rows_scatter(h->ranks, mode, m, h->rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    const struct shared_rows shared = shared_rows(rows);
    read_rows(h, m, 0, shared.all);
    if (rank_rows_scatter(h->ranks, mode, h->sent, h->rank, error) != STATUS_OK)
        return error->status;
    write_rows(h, m, shared.first, shared.mine);
    return STATUS_OK;
}

enum status host_ranks_gather(struct host_state *h, int mode, void *a, struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (h->sweep.precision == PRECISION_DOUBLE)
        return rank_rows_gather(h->ranks, mode, a, h->rank, error);
    if (rows->peers->size == 1)
        return STATUS_OK;
    const struct shared_rows shared = shared_rows(rows);
    read_rows(h, a, shared.first, shared.mine);
    if (rank_rows_gather(h->ranks, mode, h->sent, h->rank, error) != STATUS_OK)
        return error->status;
    write_rows(h, a, 0, shared.all);
    return STATUS_OK;
}
