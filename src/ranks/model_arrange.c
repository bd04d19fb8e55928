#include "ranks/model_arrange.h"

#include <string.h>

#include "base/memory.h"

/* Each rank merges a part of the columns for all, so that no rank needs room for the
 * columns of all ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error)
{
    struct comm *c = comm;
    const uint64_t ranks = (uint64_t)c->size, rank = (uint64_t)c->rank;
    const uint64_t first = count * rank / ranks, own = count * (rank + 1) / ranks - first;
    if (ranks == 1)
        return STATUS_OK;
    struct column *brought = memory_array(ranks * own, sizeof *brought, error);
    if (!brought)
        return error->status;
    for (uint64_t k = 0; k < ranks; k++) {
        const uint64_t begin = count * k / ranks, end = count * (k + 1) / ranks;
        c->out[k] = (struct comm_parcel){(char *)(column + begin), (end - begin) * sizeof *column};
        c->in[k] = (struct comm_parcel){(char *)(brought + k * own), own * sizeof *column};
    }
    TRY_OR(done, comm_exchange(c, error));
    if (own > 0)
        memcpy(column + first, brought, own * sizeof *brought);
    for (uint64_t k = 1; k < ranks; k++)
        for (uint64_t i = 0; i < own; i++)
            column_add(&column[first + i], &brought[k * own + i]);
    for (uint64_t k = 0; k < ranks; k++) {
        const uint64_t begin = count * k / ranks, end = count * (k + 1) / ranks;
        c->out[k] = (struct comm_parcel){(char *)(column + first), own * sizeof *column};
        c->in[k] = (struct comm_parcel){(char *)(column + begin), (end - begin) * sizeof *column};
    }
    comm_exchange(c, error);
done:
    memory_free(brought);
    return error->status;
}

enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error)
{
    if (ktensor_arrange_part(part, own, model_columns_together, c, error) != STATUS_OK)
        comm_abort(c, error);
    return error->status;
}
