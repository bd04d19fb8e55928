#include "ranks/model_arrange.h"

#include "base/memory.h"
#include "plan/process_grid.h"

/* Rank k merges the columns cut[k] to cut[k + 1] - 1 for all, so that no rank needs room for the
 * columns of all ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error)
{
    struct comm *c = comm;
    const uint64_t ranks = (uint64_t)c->size;
    uint64_t cut[MAX_RANKS + 1];
    if (ranks == 1)
        return STATUS_OK;
    for (uint64_t k = 0; k <= ranks; k++)
        cut[k] = count * k / ranks;
    struct column *merged = column + cut[c->rank];
    const uint64_t own = cut[c->rank + 1] - cut[c->rank];
    struct column *brought = memory_array(ranks * own, sizeof *brought, error);
    if (!brought)
        return error->status;
    for (uint64_t k = 0; k < ranks; k++) {
        c->sent[k] =
            (struct comm_parcel){(char *)(column + cut[k]), (cut[k + 1] - cut[k]) * sizeof *column};
        c->received[k] = (struct comm_parcel){(char *)(brought + k * own), own * sizeof *column};
    }
    TRY_OR(done, comm_exchange(c, error));
    memory_copy(merged, brought, own * sizeof *brought);
    for (uint64_t k = 1; k < ranks; k++)
        for (uint64_t i = 0; i < own; i++)
            column_add(&merged[i], &brought[k * own + i]);
    comm_allgatherv(c, column, cut, sizeof *column, error);
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
