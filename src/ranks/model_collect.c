#include "ranks/model_collect.h"

#include <string.h>

#include "base/memory.h"

/* Copies the rows of mode n that this rank, and no other, has solved. */
static void copy_rows(struct ktensor *whole, const struct ktensor *part,
                      const struct mode_rows *own, int n)
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

/* Whether the rows that the rank has are all rows, in their order. */
static bool is_whole(const struct ktensor *part, const struct shape *whole)
{
    for (int n = 0; n < whole->order; n++)
        if (part->row[n])
            return false;
    return shape_equal(&part->shape, whole);
}

/* Creates the model, with its lambda. */
static enum status create_whole(struct ktensor *whole, const struct ktensor *part,
                                const struct shape *shape, struct error *error)
{
    TRY(ktensor_create(whole, shape, part->rank, error));
    memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    return STATUS_OK;
}

enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error)
{
    struct comm *c = ranks->all;
    if (c->size == 1 && is_whole(part, &ranks->part.whole)) {
        *whole = *part;
        *part = (struct ktensor){0};
        return STATUS_OK;
    }
    if (c->rank == 0)
        create_whole(whole, part, &ranks->part.whole, error);
    TRY(comm_allreduce_error(c, error));
    for (int n = 0; n < part->shape.order; n++) {
        copy_rows(whole, part, &ranks->mode[n], n);
        memory_free(part->factor[n]);
        part->factor[n] = NULL;
    }
    return comm_allreduce_error(c, error); /* waits until the last rank is done */
}
