#include "ranks/known_rows.h"

#include <math.h>

#include "base/least.h"
#include "base/memory.h"

/* Of the rows of a mode that a rank solves. */
struct mode_known {
    uint64_t known, unknown, first; /* struct known_rows */
};

/* has (rows of mode n that are here x 2): 1 where this rank has a known entry; ... an unknown one.
 */
static void mark_rows(const struct coo *x, int n, double *has)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        has[2 * (uint64_t)x->index[n][i] + (isnan(x->value[i]) ? 1 : 0)] = 1;
}

static enum status count_rows(struct mode_known *k, const struct rank_tensor *t, int n, bool all,
                              struct error *error)
{
    const struct mode_rows *own = &t->rows.mode[n];
    const uint64_t *row = t->rows.part.row[n];
    double *has = memory_zeros(2 * t->rows.part.here.dims[n], sizeof *has, error);
    *k = (struct mode_known){.first = NO_ROW};
    if (!has)
        return error->status;
    mark_rows(&t->input.x, n, has);
    TRY_OR(done, rank_rows_reduce_scatter(&t->rows, n, has, 2, error));
    for (uint64_t i = own->first; i < own->first + own->count; i++) {
        const bool known = has[2 * i] > 0, unknown = !known && has[2 * i + 1] > 0;
        k->known += known;
        k->unknown += unknown;
        if (all ? !known : unknown)
            k->first = least_of(k->first, row ? row[i] : t->rows.part.first[n] + i);
    }
done:
    memory_free(has);
    return error->status;
}

enum status known_rows_count(struct known_rows *k, const struct rank_tensor *t, bool all,
                             struct error *error)
{
    const struct coo *x = &t->input.x;
    const int order = t->shape.order, ranks = t->comm->size;
    double known = (double)(x->nnz - coo_count_listed(x).unknown);
    struct mode_known mine[MAX_ORDER] = {{0}}, *of_rank;
    for (int n = 0; n < order; n++)
        TRY(count_rows(&mine[n], t, n, all, error));
    TRY(comm_allreduce_sum(t->comm, &known, 1, error));
    of_rank = memory_array((size_t)ranks, sizeof mine, error);
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    TRY_OR(done, comm_allgather(t->comm, mine, sizeof mine, of_rank, error));
    *k = (struct known_rows){.entries = (uint64_t)known};
    for (int n = 0; n < order; n++) {
        k->first[n] = NO_ROW;
        for (int r = 0; r < ranks; r++) {
            const struct mode_known *of = &of_rank[r * MAX_ORDER + n];
            k->rows[n] += of->known;
            k->unknown[n] += of->unknown;
            k->first[n] = least_of(k->first[n], of->first);
        }
    }
done:
    memory_free(of_rank);
    return error->status;
}
