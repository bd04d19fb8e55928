#include "ranks/row_owners.h"

#include "base/memory.h"
#include "plan/process_grid.h"

#define AT_A_TIME (UINT64_C(1) << 20) /* rows that ranks compare at a time */

void row_owners_touch(unsigned char *touched, const uint32_t *index, uint64_t nnz)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nnz; i++)
        __atomic_store_n(&touched[index[i]], 1, __ATOMIC_RELAXED);
}

/* What the sum of all ranks' marks of a row says: each rank adds 1, and size + 1 times its number
 * beside, both exact in a double. */
static int32_t owner_of(double mark, uint64_t row, int size)
{
    uint64_t sum = (uint64_t)mark, base = (uint64_t)size + 1, touching = sum % base;
    if (touching == 0)
        return (int32_t)(row % (uint64_t)size);
    return touching == 1 ? (int32_t)(sum / base) : ROW_SHARED;
}

/* owner[0..rows) of the rows from `first` on. */
static enum status compare(struct row_owners *s, struct comm *sharing,
                           const unsigned char *touched, uint64_t first, uint64_t rows,
                           double *mark, struct error *error)
{
    double mine = 1 + (double)sharing->rank * (sharing->size + 1);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++)
        mark[i] = touched[first + i] ? mine : 0;
    if (comm_allreduce_sum(sharing, mark, rows, error) != STATUS_OK)
        return error->status;
    uint64_t shared = 0, own = 0;
#pragma omp parallel for schedule(static) reduction(+ : shared, own)
    for (uint64_t i = 0; i < rows; i++) {
        int32_t owner = owner_of(mark[i], first + i, sharing->size);
        s->owner[first + i] = owner;
        shared += owner == ROW_SHARED;
        own += owner == sharing->rank;
    }
    s->shared += shared;
    s->own += own;
    return STATUS_OK;
}

enum status row_owners_find(struct row_owners *s, struct comm *sharing,
                             const unsigned char *touched, uint64_t rows, struct error *error)
{
    uint64_t most = rows < AT_A_TIME ? rows : AT_A_TIME;
    double *mark = memory_array(most, sizeof *mark, error);
    *s = (struct row_owners){.owner = memory_array(rows, sizeof *s->owner, error)};
    if (!mark || !s->owner)
        comm_abort(sharing, error);
    for (uint64_t first = 0; first < rows && error->status == STATUS_OK; first += most)
        compare(s, sharing, touched, first, rows - first < most ? rows - first : most, mark, error);
    s->pays = rows > 0 && (double)s->shared <= GRID_MOST_SHARED * (double)rows;
    memory_free(mark);
    if (error->status != STATUS_OK)
        row_owners_free(s);
    return error->status;
}

void row_owners_free(struct row_owners *s)
{
    memory_free(s->owner);
    *s = (struct row_owners){0};
}
