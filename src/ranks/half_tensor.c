#include "ranks/half_tensor.h"

/* The half that this entry of t is in, by its index in the whole tensor. */
static int half_of(const struct rank_tensor *t, const struct halves *h, uint64_t entry)
{
    const struct part *part = &t->rows.part;
    const int n = h->mode - 1;
    const uint32_t row = t->input.x.index[n][entry];
    return halves_of(h, part->row[n] ? part->row[n][row] : part->first[n] + row);
}

enum status half_tensor_count(const struct rank_tensor *t, const struct halves *h,
                              uint64_t nonzeros[2], struct error *error)
{
    const struct coo *x = &t->input.x;
    uint64_t all = 0, second = 0;
#pragma omp parallel for schedule(static) reduction(+ : all, second)
    for (uint64_t i = 0; i < x->nnz; i++) {
        const bool counts = !isnan(x->value[i]) && x->value[i] != 0;
        all += counts;
        second += counts && half_of(t, h, i) == 1;
    }
    double sum[] = {(double)(all - second), (double)second}; /* exact: below 2^53 */
    TRY(comm_allreduce_sum(t->comm, sum, 2, error));
    for (int k = 0; k < 2; k++)
        nonzeros[k] = (uint64_t)sum[k];
    return STATUS_OK;
}

/* The entries of half k that this rank has, in their order. */
static enum status copy_entries(struct coo *half, const struct rank_tensor *t,
                                const struct halves *h, int k, struct error *error)
{
    const struct coo *x = &t->input.x;
    uint64_t count = 0, at = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint64_t i = 0; i < x->nnz; i++)
        count += half_of(t, h, i) == k;
    TRY(coo_create(half, &x->shape, count, error));
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (half_of(t, h, i) == k)
            coo_put(half, at++, x, i);
    }
    return STATUS_OK;
}

enum status half_tensor_take(struct rank_tensor *half, const struct rank_tensor *t,
                             const struct halves *h, int k, struct error *error)
{
    *half = (struct rank_tensor){.comm = t->comm,
                                 .shape = t->shape,
                                 .grid = t->grid,
                                 .cost = t->cost,
                                 .part = t->part,
                                 .rows = t->rows};
    copy_entries(&half->input.x, t, h, k, error);
    TRY(comm_allreduce_error(t->comm, error));
    const struct coo_listed here = coo_count_listed(&half->input.x);
    double sum[] = {(double)half->input.x.nnz, (double)here.unknown, (double)here.zeros};
    TRY(comm_allreduce_sum(t->comm, sum, 3, error));
    half->nnz = (uint64_t)sum[0];
    half->listed = (struct coo_listed){.unknown = (uint64_t)sum[1], .zeros = (uint64_t)sum[2]};
    return STATUS_OK;
}

void half_tensor_free(struct rank_tensor *half)
{
    coo_free(&half->input.x);
    *half = (struct rank_tensor){0};
}
