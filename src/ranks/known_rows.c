#include "ranks/known_rows.h"

#include <math.h>

#include "base/memory.h"

/* has (rows of mode n that are here): 1 where one of this rank's entries is known. */
static void mark_rows(const struct coo *x, int n, double *has)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        if (!isnan(x->value[i]))
            has[x->index[n][i]] = 1;
}

/* *count = the rows of mode n, of those that this rank solves, in which any rank knows an entry. */
static enum status count_rows(double *count, const struct rank_tensor *t, int n,
                              struct error *error)
{
    const struct mode_rows *own = &t->rows.mode[n];
    double *has = memory_zeros(t->rows.part.here.dims[n], sizeof *has, error);
    *count = 0;
    if (!has)
        return error->status;
    mark_rows(&t->input.x, n, has);
    TRY_OR(done, rank_rows_reduce_scatter(&t->rows, n, has, 1, error));
    for (uint64_t i = own->first; i < own->first + own->count; i++)
        *count += has[i] > 0;
done:
    memory_free(has);
    return error->status;
}

enum status known_rows_count(struct known_rows *k, const struct rank_tensor *t, struct error *error)
{
    const struct coo *x = &t->input.x;
    const int order = t->shape.order;
    double count[MAX_ORDER + 1];
    for (int n = 0; n < order; n++)
        TRY(count_rows(&count[n], t, n, error));
    count[order] = (double)(x->nnz - coo_count_listed(x).unknown);
    TRY(comm_allreduce_sum(t->comm, count, (size_t)order + 1, error));
    *k = (struct known_rows){.entries = (uint64_t)count[order]};
    for (int n = 0; n < order; n++)
        k->rows[n] = (uint64_t)count[n];
    return STATUS_OK;
}
