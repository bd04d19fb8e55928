#include "ranks/model_arrange.h"

#include <string.h>

#include "base/memory.h"

/* Rank k merges the columns cut[k] to cut[k + 1] - 1 for all, so that no rank needs room for the
 * columns of all ranks. */
struct merging {
    uint64_t *cut;            /* (ranks + 1), owned                                            */
    uint64_t *send, *receive; /* (ranks + 1) of comm_alltoallv, in bytes; owned                 */
    struct column *brought;   /* (ranks x columns merged here), owned                          */
    uint64_t first, count;    /* the columns merged here                                       */
};

static enum status merging_create(struct merging *m, const struct comm *c, uint64_t columns,
                                  struct error *error)
{
    uint64_t ranks = (uint64_t)c->size, rank = (uint64_t)c->rank;
    m->cut = memory_array(ranks + 1, sizeof *m->cut, error);
    m->send = memory_array(ranks + 1, sizeof *m->send, error);
    m->receive = memory_array(ranks + 1, sizeof *m->receive, error);
    TRY(error->status);
    for (uint64_t k = 0; k <= ranks; k++)
        m->cut[k] = columns * k / ranks;
    m->first = m->cut[rank];
    m->count = m->cut[rank + 1] - m->first;
    for (uint64_t k = 0; k <= ranks; k++) {
        m->send[k] = m->cut[k] * sizeof(struct column);
        m->receive[k] = k * m->count * sizeof(struct column);
    }
    m->brought = memory_array(ranks * m->count, sizeof *m->brought, error);
    return error->status;
}

static void merging_free(struct merging *m)
{
    memory_free(m->cut);
    memory_free(m->send);
    memory_free(m->receive);
    memory_free(m->brought);
}

static enum status allgather_columns(struct comm *c, struct column *column, const uint64_t *cut,
                                     struct error *error)
{
    enum { DOUBLES = sizeof *column / sizeof(double) }; /* gathering copies bits as they are */
    _Static_assert(DOUBLES * sizeof(double) == sizeof *column, "a column has whole doubles");
    const struct comm_rows rows = {cut, DOUBLES};
    return comm_allgatherv(c, (double *)(void *)column, &rows, error);
}

enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error)
{
    struct comm *c = comm;
    struct merging m = {0};
    if (c->size == 1)
        return STATUS_OK;
    TRY_OR(done, merging_create(&m, c, count, error));
    TRY_OR(done, comm_alltoallv(c, column, m.send, m.brought, m.receive, error));
    if (m.count > 0)
        memcpy(column + m.first, m.brought, m.count * sizeof *column);
    for (uint64_t k = 1; k < (uint64_t)c->size; k++)
        for (uint64_t i = 0; i < m.count; i++)
            column_add(&column[m.first + i], &m.brought[k * m.count + i]);
    allgather_columns(c, column, m.cut, error);
done:
    merging_free(&m);
    return error->status;
}

enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error)
{
    if (ktensor_arrange_part(part, own, model_columns_together, c, error) != STATUS_OK)
        comm_abort(c, error);
    return error->status;
}
