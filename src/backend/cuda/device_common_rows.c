#include "backend/cuda/device_common_rows.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"

#define USUAL_RANKS 64 /* more take more memory than the plan knows of */

static const char doing[] = "systems of rows on several GPUs";

uint64_t device_common_rows_bytes(const struct shape *shape, const struct device_row_size *size)
{
    const uint64_t numbers = row_sent_length((uint32_t)size->rank, size->matrix, USUAL_RANKS);
    const uint64_t system = numbers * sizeof(double) + sizeof(struct row_totals);
    const uint64_t few = USUAL_RANKS * ROW_DEAL_SHARES, all = ROW_DEAL_SENT / system;
    return least_of(shape_longest(shape), few > all ? few : all) * system;
}

enum status device_common_rows_open(struct device_common_rows *c, const struct rank_rows *ranks,
                                    const struct device_row_size *size, bool counts,
                                    struct error *error)
{
    const uint32_t all = (uint32_t)ranks->all->size;
    uint64_t most = 0;
    *c = (struct device_common_rows){.ranks = ranks, .least = counts && size->matrix};
    c->length = row_sent_length((uint32_t)size->rank, size->matrix, c->least ? all : 0);
    for (int n = 0; n < ranks->part.whole.order; n++) {
        c->rows[n] = mode_rows_common(&ranks->mode[n], 0);
        most = c->rows[n] > most ? c->rows[n] : most;
    }
    return device_array_into(&c->sent, all * most * c->length, sizeof *c->sent, error);
}

void device_common_rows_close(struct device_common_rows *c)
{
    device_free(c->sent);
    *c = (struct device_common_rows){0};
}

/* The piece of the common rows of stripe k; that of the rank's other rows comes after those of its
 * own stripe. */
static uint32_t piece_of(const struct device_common_rows *c, int k)
{
    return (uint32_t)(k + (k > c->ranks->all->rank));
}

static uint32_t own_piece(const struct device_common_rows *c, int n)
{
    return c->rows[n] > 0 ? (uint32_t)c->ranks->all->rank + 1 : 0;
}

static uint32_t pieces_of(const struct device_common_rows *c, int n)
{
    return c->rows[n] > 0 ? (uint32_t)c->ranks->all->size + 1 : 1;
}

enum status device_common_rows_cut(const struct device_common_rows *c, int n,
                                   struct device_row_cuts *cuts, struct error *error)
{
    const struct mode_rows *m = &c->ranks->mode[n];
    const uint32_t count = pieces_of(c, n) - 1, own = own_piece(c, n);
    uint64_t *row = memory_array(count, sizeof *row, error);
    *cuts = (struct device_row_cuts){row, count};
    if (!row || count == 0)
        return error->status;
    for (int k = 1; k < m->peers->size; k++)
        row[piece_of(c, k) - 1] = m->stripe_first[k];
    row[own - 1] = m->first + mode_rows_common(m, m->peers->rank);
    return STATUS_OK;
}

/* The place of the common rows of stripe k in what is sent. */
static struct row_sent place_of(const struct device_common_rows *c, int n, int k)
{
    return (struct row_sent){.system = c->sent + (uint64_t)k * c->rows[n] * c->length,
                             .first = (uint32_t)c->ranks->mode[n].stripe_first[k],
                             .length = c->length,
                             .peers = c->least ? (uint32_t)c->ranks->all->size : 0,
                             .peer = (uint32_t)c->ranks->all->rank};
}

/* Sums the systems of common rows, and solves those of this rank. */
static enum status solve_common(const struct device_common_rows *c, struct device_ranks *ranks,
                                struct device_row_systems *systems,
                                const struct device_row_pass *pass, struct error *error)
{
    const int n = pass->mode, size = c->ranks->all->size, me = c->ranks->all->rank;
    const uint64_t numbers = c->rows[n] * c->length;
    const size_t bytes = (size_t)size * numbers * sizeof *c->sent;
    TRY(cuda_status(cudaMemsetAsync(c->sent, 0, bytes, pass->stream), doing, error));
    for (int k = 0; k < size; k++) {
        const struct row_sent sent = place_of(c, n, k);
        TRY(device_row_systems_piece(systems, pass, piece_of(c, k), &sent, error));
    }
    TRY(device_ranks_scatter_numbers(ranks, n, c->sent, numbers, pass->stream, error));
    const struct row_sent mine = place_of(c, n, me);
    return device_row_systems_take(systems, pass, &mine, mode_rows_common(&c->ranks->mode[n], me),
                                   error);
}

static enum status sum_values(const struct device_common_rows *c,
                              struct device_row_systems *systems,
                              const struct device_row_pass *pass, struct error *error)
{
    for (uint32_t piece = 0; piece < pieces_of(c, pass->mode); piece++)
        TRY(device_row_systems_piece(systems, pass, piece, NULL, error));
    return STATUS_OK;
}

enum status device_common_rows_pass(const struct device_common_rows *c, struct device_ranks *ranks,
                                    struct device_row_systems *systems,
                                    const struct device_row_pass *pass, struct error *error)
{
    const int n = pass->mode;
    if (pass->values)
        return sum_values(c, systems, pass, error);
    if (c->rows[n] > 0)
        TRY(solve_common(c, ranks, systems, pass, error));
    return device_row_systems_piece(systems, pass, own_piece(c, n), NULL, error);
}
