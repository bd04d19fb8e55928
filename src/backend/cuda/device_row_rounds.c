#include "backend/cuda/device_row_rounds.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"

#define SENT_BYTES (UINT64_C(256) << 20) /* of the systems of a round, about */

static const char doing[] = "systems of rows on several GPUs";

uint64_t device_row_rounds_bytes(const struct shape *shape, const struct device_row_size *size)
{
    const uint64_t system = row_sent_length((uint32_t)size->rank, size->matrix, 0) * sizeof(double);
    const uint64_t rows = least_of(2 * shape_longest(shape), SENT_BYTES / system);
    return rows * (system + sizeof(struct row_totals));
}

static struct device_row_round round_of(const struct mode_rows *m,
                                        const struct device_row_sending *sending)
{
    const uint64_t peers = (uint64_t)m->peers->size;
    const struct device_row_size *size = &sending->size;
    struct device_row_round round = {
        .least = sending->counts && size->matrix,
        .length = row_sent_length((uint32_t)size->rank, size->matrix,
                                  sending->counts && size->matrix ? (uint32_t)peers : 0)};
    const uint64_t common = mode_rows_common(m, 0);
    uint64_t most = SENT_BYTES / (peers * round.length * sizeof(double));
    most = sending->rows > 0 ? sending->rows : most > 0 ? most : 1;
    if (common == 0)
        return round;
    round.rows = least_of(common, most);
    round.rounds = (uint32_t)((common + round.rows - 1) / round.rows);
    return round;
}

enum status device_row_rounds_open(struct device_row_rounds *r, const struct rank_rows *ranks,
                                   const struct device_row_sending *sending, struct error *error)
{
    uint64_t numbers = 0;
    for (int n = 0; n < ranks->part.whole.order; n++) {
        const struct mode_rows *m = &ranks->mode[n];
        const struct device_row_round round = round_of(m, sending);
        const uint64_t of_mode = (uint64_t)m->peers->size * round.rows * round.length;
        r->mode[n] = round;
        numbers = of_mode > numbers ? of_mode : numbers;
    }
    return device_array_into(&r->sent, numbers, sizeof *r->sent, error);
}

void device_row_rounds_close(struct device_row_rounds *r)
{
    device_free(r->sent);
    *r = (struct device_row_rounds){0};
}

/* The first row of round d, or the first one that is not common, in stripe k. */
static uint64_t first_row(const struct device_row_rounds *r, const struct mode_rows *m, int n,
                          int k, uint32_t d)
{
    return m->stripe_first[k] + least_of(d * r->mode[n].rows, mode_rows_common(m, k));
}

/* The piece of round d in stripe k. */
static uint32_t piece_of(const struct device_row_rounds *r, const struct mode_rows *m, int n, int k,
                         uint32_t d)
{
    return (uint32_t)k * r->mode[n].rounds + d + (k > m->peers->rank);
}

/* The piece of the rows whose nonzeros this rank has: they follow the common ones of its stripe. */
static uint32_t own_piece(const struct device_row_rounds *r, const struct mode_rows *m, int n)
{
    return piece_of(r, m, n, m->peers->rank, r->mode[n].rounds);
}

static uint32_t pieces_of(const struct device_row_rounds *r, const struct mode_rows *m, int n)
{
    return (uint32_t)m->peers->size * r->mode[n].rounds + 1;
}

enum status device_row_rounds_cut(const struct device_row_rounds *r, const struct rank_rows *ranks,
                                  int n, struct device_row_cuts *cuts, struct error *error)
{
    const struct mode_rows *m = &ranks->mode[n];
    const uint32_t cut = pieces_of(r, m, n) - 1, own = own_piece(r, m, n);
    uint64_t *row = memory_array(cut, sizeof *row, error);
    *cuts = (struct device_row_cuts){row, cut};
    if (!row)
        return error->status;
    for (int k = 0; k < m->peers->size; k++)
        for (uint32_t d = 0; d < r->mode[n].rounds; d++) {
            const uint32_t piece = piece_of(r, m, n, k, d);
            if (piece > 0)
                row[piece - 1] = first_row(r, m, n, k, d);
        }
    if (own > 0)
        row[own - 1] = first_row(r, m, n, m->peers->rank, r->mode[n].rounds);
    return STATUS_OK;
}

uint64_t device_row_rounds_steps(const struct device_row_rounds *r, const struct rank_rows *ranks,
                                 int n)
{
    return (uint64_t)pieces_of(r, &ranks->mode[n], n) + r->mode[n].rounds;
}

/* The place of the rows of round d in stripe k in what is sent. */
static struct row_sent place_of(const struct device_row_rounds *r, const struct mode_rows *m, int n,
                                int k, uint32_t d)
{
    const struct device_row_round *round = &r->mode[n];
    return (struct row_sent){.system = r->sent + (uint64_t)k * round->rows * round->length,
                             .first = (uint32_t)first_row(r, m, n, k, d),
                             .length = round->length,
                             .peers = round->least ? (uint32_t)m->peers->size : 0,
                             .peer = (uint32_t)m->peers->rank};
}

/* Sums the systems of the rows of round d, and solves those of this rank. */
static enum status run_round(const struct device_row_rounds *r, struct device_ranks *ranks,
                             struct device_row_systems *systems, const struct device_row_pass *pass,
                             uint32_t d, struct error *error)
{
    const int n = pass->mode;
    const struct mode_rows *m = &ranks->ranks->mode[n];
    const struct device_row_round *round = &r->mode[n];
    const int peers = m->peers->size, me = m->peers->rank;
    const uint64_t numbers = round->rows * round->length;
    if (cuda_status(
            cudaMemsetAsync(r->sent, 0, (uint64_t)peers * numbers * sizeof *r->sent, pass->stream),
            doing, error) != STATUS_OK)
        return error->status;
    for (int k = 0; k < peers; k++) {
        const struct row_sent sent = place_of(r, m, n, k, d);
        if (device_row_systems_piece(systems, pass, piece_of(r, m, n, k, d), &sent, error) !=
            STATUS_OK)
            return error->status;
    }
    if (device_ranks_scatter_numbers(ranks, n, r->sent, numbers, pass->stream, error) != STATUS_OK)
        return error->status;
    const struct row_sent mine = place_of(r, m, n, me, d);
    const uint64_t first = first_row(r, m, n, me, d);
    return device_row_systems_take(systems, pass, &mine, first_row(r, m, n, me, d + 1) - first,
                                   error);
}

static enum status sum_values(const struct device_row_rounds *r, const struct mode_rows *m,
                              struct device_row_systems *systems,
                              const struct device_row_pass *pass, struct error *error)
{
    for (uint32_t piece = 0; piece < pieces_of(r, m, pass->mode); piece++)
        if (device_row_systems_piece(systems, pass, piece, NULL, error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

enum status device_row_rounds_pass(const struct device_row_rounds *r, struct device_ranks *ranks,
                                   struct device_row_systems *systems,
                                   const struct device_row_pass *pass, struct error *error)
{
    const int n = pass->mode;
    const struct mode_rows *m = &ranks->ranks->mode[n];
    if (pass->values)
        return sum_values(r, m, systems, pass, error);
    for (uint32_t d = 0; d < r->mode[n].rounds; d++)
        if (run_round(r, ranks, systems, pass, d, error) != STATUS_OK)
            return error->status;
    return device_row_systems_piece(systems, pass, own_piece(r, m, n), NULL, error);
}
