#include "ranks/model_arrange.h"

#include <string.h>

#include "base/memory.h"

/* Rank k merges the columns cut[k] to cut[k + 1] - 1 for all, so that no rank needs room for the
 * columns of all ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error)
{
    enum { DOUBLES = sizeof *column / sizeof(double) }; /* gathering copies bits as they are */
    _Static_assert(DOUBLES * sizeof(double) == sizeof *column, "a column has whole doubles");
    struct comm *c = comm;
    const uint64_t ranks = (uint64_t)c->size, rank = (uint64_t)c->rank;
    const uint64_t first = count * rank / ranks, own = count * (rank + 1) / ranks - first;
    if (ranks == 1)
        return STATUS_OK;
    uint64_t *cut = memory_array(ranks + 1, sizeof *cut, error);
    uint64_t *send = memory_array(ranks + 1, sizeof *send, error);
    uint64_t *receive = memory_array(ranks + 1, sizeof *receive, error);
    struct column *brought = memory_array(ranks * own, sizeof *brought, error);
    TRY_OR(done, error->status);
    for (uint64_t k = 0; k <= ranks; k++) {
        cut[k] = count * k / ranks;
        send[k] = cut[k] * sizeof *column;
        receive[k] = k * own * sizeof *column;
    }
    TRY_OR(done, comm_alltoallv(c, column, send, brought, receive, error));
    if (own > 0)
        memcpy(column + first, brought, own * sizeof *brought);
    for (uint64_t k = 1; k < ranks; k++)
        for (uint64_t i = 0; i < own; i++)
            column_add(&column[first + i], &brought[k * own + i]);
    comm_allgatherv(c, (double *)(void *)column, &(struct comm_rows){cut, DOUBLES}, error);
done:
    memory_free(cut);
    memory_free(send);
    memory_free(receive);
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
