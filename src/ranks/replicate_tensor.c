#include "ranks/replicate_tensor.h"

#include <string.h>

#include "base/memory.h"

/* The part of a division that each slice of this rank is in, by its index here; the caller frees
 * it. NULL without memory. */
static uint8_t *find_parts(const struct rank_tensor *t, const struct slice_parts *s, int division,
                           struct error *error)
{
    const struct part *own = &t->rows.part;
    const int n = s->mode - 1;
    const uint64_t slices = own->here.dims[n];
    uint8_t *part = memory_array(slices, sizeof *part, error);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < (part ? slices : 0); i++)
        part[i] =
            (uint8_t)slice_part(s, division, own->row[n] ? own->row[n][i] : own->first[n] + i);
    return part;
}

enum status replicate_tensor_count(const struct rank_tensor *t, const struct slice_parts *s,
                                   uint64_t nonzeros[MOST_REPLICATES], struct error *error)
{
    const struct coo *x = &t->input.x;
    const uint32_t *slice = x->index[s->mode - 1];
    memset(nonzeros, 0, MOST_REPLICATES * sizeof *nonzeros);
    for (int d = 0; d < s->divisions; d++) {
        uint8_t *part = find_parts(t, s, d, error);
        uint64_t count[MOST_REPLICATES] = {0};
#pragma omp parallel for schedule(static) reduction(+ : count)
        for (uint64_t i = 0; i < (part ? x->nnz : 0); i++)
            count[part[slice[i]]] += !isnan(x->value[i]) && x->value[i] != 0;
        for (int k = 0; k < s->parts; k++)
            nonzeros[d * s->parts + k] = count[k];
        memory_free(part);
    }
    return comm_allreduce_counts(t->comm, nonzeros, (size_t)slice_parts_replicates(s), error);
}

/* The entries of a replicate that this rank has, in their order. */
static enum status copy_entries(struct coo *replicate, const struct rank_tensor *t,
                                const struct slice_parts *s, int number, struct error *error)
{
    const struct coo *x = &t->input.x;
    const uint32_t *slice = x->index[s->mode - 1];
    const int left_out = slice_parts_left_out(s, number);
    uint8_t *part = find_parts(t, s, slice_parts_division(s, number), error);
    uint64_t count = 0, at = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint64_t i = 0; i < (part ? x->nnz : 0); i++)
        count += part[slice[i]] != left_out;
    TRY_OR(done, error->status);
    TRY_OR(done, coo_create(replicate, &x->shape, count, error));
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (part[slice[i]] != left_out)
            coo_put(replicate, at++, x, i);
    }
done:
    memory_free(part);
    return error->status;
}

enum status replicate_tensor_take(struct rank_tensor *replicate, const struct rank_tensor *t,
                                  const struct slice_parts *s, int number, struct error *error)
{
    *replicate = (struct rank_tensor){.comm = t->comm,
                                      .shape = t->shape,
                                      .grid = t->grid,
                                      .cost = t->cost,
                                      .part = t->part,
                                      .rows = t->rows};
    copy_entries(&replicate->input.x, t, s, number, error);
    const struct coo_listed here = coo_count_listed(&replicate->input.x);
    uint64_t sum[] = {replicate->input.x.nnz, here.unknown, here.zeros};
    TRY(comm_allreduce_counts(t->comm, sum, 3, error));
    replicate->nnz = sum[0];
    replicate->listed = (struct coo_listed){.unknown = sum[1], .zeros = sum[2]};
    return STATUS_OK;
}

void replicate_tensor_free(struct rank_tensor *replicate)
{
    coo_free(&replicate->input.x);
    *replicate = (struct rank_tensor){0};
}
