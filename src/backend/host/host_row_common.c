#include "backend/host/host_row_common.h"

#include <omp.h>
#include <string.h>

#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"

#define SENT_BYTES (UINT64_C(32) << 20) /* of systems that ranks sum at a time, about */

/* Doubles of a system that is sent: its numbers, b, of counts q, G's entries (i, j) with i <= j,
 * and for each peer the least value in its part of the row. */
static uint64_t sent_length(const struct host_row_pass *s, int peers)
{
    const struct host_row_systems *systems = &s->h->systems;
    const uint64_t rank = s->h->model.rank;
    return SYSTEM_NUMBERS + rank + (systems->loss == LOSS_POISSON ? rank : 0) +
           (host_row_pass_has_matrix(systems) ? rank * (rank + 1) / 2 : 0) + (uint64_t)peers;
}

static void copy_part(double *part, double **sent, uint64_t count, bool back)
{
    memcpy(back ? part : *sent, back ? *sent : part, count * sizeof *part);
    *sent += count;
}

/* Copies the part of a system that counts to `sent`, or back. Returns where the least values are.
 */
static double *copy_system(const struct host_row_systems *s, const struct host_system *system,
                           double *sent, uint64_t rank, bool back)
{
    const uint64_t ld = host_system_ld(rank);
    copy_part(system->number, &sent, SYSTEM_NUMBERS, back);
    copy_part(system->b, &sent, rank, back);
    if (s->loss == LOSS_POISSON)
        copy_part(system->q, &sent, rank, back);
    for (uint64_t i = 0; host_row_pass_has_matrix(s) && i < rank; i++)
        copy_part(system->g + i * ld + i, &sent, rank - i, back);
    return sent;
}

/* Keeps the systems of rows, to be summed with those of other ranks. */
static void keep_systems(void *context, const struct host_system_rows *rows, double *scratch,
                         struct host_row_totals *totals)
{
    const struct host_row_pass *s = context;
    const struct comm *peers = s->peers;
    (void)scratch, (void)totals;
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *system = &rows->system[l];
        double *sent = s->sent + (rows->row[l] - s->from) * sent_length(s, peers->size);
        double *least = copy_system(&s->h->systems, system, sent, s->h->model.rank, false);
        least[peers->rank] = system->number[SYSTEM_LEAST];
    }
}

/* The summed system that was sent. */
static void take_system(const struct host_row_pass *s, const struct host_system *system,
                        double *sent)
{
    const double *least = copy_system(&s->h->systems, system, sent, s->h->model.rank, true);
    system->number[SYSTEM_LEAST] = 0;
    for (int k = 0; k < s->peers->size; k++)
        system->number[SYSTEM_LEAST] = host_system_least(system->number[SYSTEM_LEAST], least[k]);
}

/* Solves common rows [first, first + count) after s->from, at most host_row_pass_rows, whose summed
 * systems are at `sent`. */
static void solve_some(struct host_row_pass *s, int mode, double *sent, uint64_t first,
                       uint64_t count, double *room, struct host_row_totals *totals)
{
    const struct host_state *h = s->h;
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank, ld = host_system_ld(rank);
    const uint64_t length = host_system_length(rank, host_row_pass_has_matrix(&h->systems));
    struct host_system_rows rows = {.count = count};
    for (uint64_t l = 0; l < count; l++, room += length + ld) {
        double *a = room + length;
        const void *old = host_model_row(model, model->factor[mode].entries, s->from + first + l);
        rows.row[l] = s->from + first + l;
        rows.system[l] = host_system_at(room, rank);
        rows.a[l] = a;
        host_entries_read(a, old, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            a[r] *= h->systems.now[r];
        take_system(s, &rows.system[l], sent + (first + l) * sent_length(s, s->peers->size));
    }
    host_row_pass_solve(s, &rows, room, totals);
}

/* Solves `count` common rows from s->from on, whose summed systems are in `sent`. */
static enum status solve_sent(struct host_row_pass *s, int mode, double *sent, uint64_t count,
                              struct error *error)
{
    struct host_state *h = s->h;
    const uint64_t rank = h->model.rank, some = host_row_pass_rows(s);
    const uint64_t length = host_system_length(rank, host_row_pass_has_matrix(&h->systems));
    const uint64_t room = some * (length + host_system_ld(rank)) + host_row_pass_scratch(s);
    const uint64_t times = (count + some - 1) / some;
    struct host_row_totals *totals = memory_zeros(times, sizeof *totals, error);
    double *rooms = memory_zeros((size_t)omp_get_max_threads(), room * sizeof *rooms, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static) if (times > 1)
    for (uint64_t k = 0; k < times; k++)
        solve_some(s, mode, sent, k * some, least_of(some, count - k * some),
                   rooms + (uint64_t)omp_get_thread_num() * room, &totals[k]);
    for (uint64_t k = 0; k < times; k++)
        host_row_totals_add(&h->systems.totals, &totals[k]);
done:
    memory_free(totals);
    memory_free(rooms);
    return error->status;
}

/* The common rows of stripe k that are summed after `done` rows of each stripe. */
struct rows_at_once {
    uint64_t first, count;
};

static struct rows_at_once rows_at_once(const struct mode_rows *rows, int k, uint64_t done,
                                        uint64_t step)
{
    const uint64_t begin = rows->stripe_first[k], common = mode_rows_common(rows, k);
    const uint64_t at = least_of(done, common);
    return (struct rows_at_once){begin + at, least_of(step, common - at)};
}

/* Some rows of every stripe at a time. */
enum status host_row_common_solve(struct host_row_pass *s, int mode, struct error *error)
{
    const struct mode_rows *rows = &s->h->ranks->mode[mode];
    const int peers = rows->peers->size, me = rows->peers->rank;
    const uint64_t length = sent_length(s, peers);
    const uint64_t most = SENT_BYTES / ((uint64_t)peers * length * sizeof *s->sent);
    const uint64_t common = mode_rows_common(rows, 0), step = least_of(common, most > 0 ? most : 1);
    uint64_t *first = memory_array((size_t)peers + 1, sizeof *first, error);
    s->peers = rows->peers;
    s->sent = memory_array((uint64_t)peers * step, length * sizeof *s->sent, error);
    TRY_OR(done, error->status);
    for (int k = 0; k <= peers; k++)
        first[k] = (uint64_t)k * step;
    for (uint64_t done = 0; done < common; done += step) {
        const struct comm_rows sums = {first, length};
        memset(s->sent, 0, (uint64_t)peers * step * length * sizeof *s->sent);
        for (int k = 0; k < peers; k++) {
            const struct rows_at_once at = rows_at_once(rows, k, done, step);
            s->from = at.first - first[k]; /* may wrap around: row - from is right */
            TRY_OR(done,
                   host_row_pass_sum(s, mode, keep_systems, at.first, at.first + at.count, error));
        }
        TRY_OR(done, comm_reduce_scatter(rows->peers, s->sent, &sums, error));
        const struct rows_at_once mine = rows_at_once(rows, me, done, step);
        s->from = mine.first;
        TRY_OR(done, solve_sent(s, mode, s->sent + first[me] * length, mine.count, error));
    }
done:
    memory_free(first);
    memory_free(s->sent);
    return error->status;
}
