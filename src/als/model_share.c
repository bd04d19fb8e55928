#include "als/model_share.h"

#include <string.h>

#include "base/memory.h"
#include "ranks/model_arrange.h"
#include "ranks/share.h"

/* Copies the rows of mode n that this rank has solved, which are nobody else's. */
static void copy_rows(struct ktensor *whole, const struct ktensor *part,
                      const struct backend_rows *own, int n)
{
    uint64_t rank = part->rank;
#pragma omp parallel for schedule(static)
    for (uint64_t i = own->first; i < own->first + own->count; i++) {
        uint64_t row = ktensor_row(part, n, i);
        if (row != NO_ROW)
            memcpy(whole->factor[n] + row * rank, part->factor[n] + i * rank,
                   rank * sizeof *whole->factor[n]);
    }
}

/* Each rank arranges consecutive rows of the whole, in place. Every rank needs a lambda of its own:
 * rank 0 has that of the whole, the others have that of their part. */
static enum status arrange(struct ktensor *whole, const struct ktensor *part, struct comm *c,
                           struct error *error)
{
    struct ktensor rows = *whole;
    memcpy(rows.nonneg, part->nonneg, sizeof rows.nonneg);
    memcpy(rows.fixed, part->fixed, sizeof rows.fixed);
    rows.lambda = c->rank == 0 ? whole->lambda : part->lambda;
    for (int n = 0; n < rows.shape.order; n++) {
        uint64_t length = whole->shape.dims[n];
        rows.first[n] = share_begin(length, c->rank, c->size);
        rows.shape.dims[n] = share_begin(length, c->rank + 1, c->size) - rows.first[n];
        rows.factor[n] += rows.first[n] * rows.rank;
    }
    const struct ktensor_rows all = ktensor_rows_all(&rows);
    return model_arrange_together(&rows, &all, c, error);
}

enum status model_share(struct ktensor *whole, struct ktensor *part,
                        const struct backend_ranks *ranks, struct error *error)
{
    struct comm *c = ranks->all;
    if (c->rank == 0 && ktensor_create(whole, &ranks->part.whole, part->rank, error) == STATUS_OK)
        memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    if (comm_agree_error(c, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < part->shape.order; n++) {
        copy_rows(whole, part, &ranks->mode[n], n);
        memory_free(part->factor[n]);
        part->factor[n] = NULL;
    }
    if (comm_agree_error(c, error) == STATUS_OK)
        arrange(whole, part, c, error);
    return comm_agree_error(c, error); /* the whole is complete when the last rank is done */
}
