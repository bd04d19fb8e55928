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

/* The owner of a row, from the sum of all ranks' marks. The mark of rank k is 1 + k (size + 1), so
 * that the sum gives how many ranks touch the row, and, if it is one, which. Exact in a double. */
static int32_t owner_of(double mark, uint64_t row, int size)
{
    uint64_t sum = (uint64_t)mark, base = (uint64_t)size + 1, touching = sum % base;
    if (touching == 0)
        return (int32_t)(row % (uint64_t)size);
    return touching == 1 ? (int32_t)(sum / base) : ROW_COMMON;
}

/* Sets and counts the owners of the rows from `first` on, by their marks (rows). */
static void set_owners(struct row_owners *s, const struct comm *peers, const double *mark,
                       uint64_t first, uint64_t rows)
{
    uint64_t common = 0, own = 0;
#pragma omp parallel for schedule(static) reduction(+ : common, own)
    for (uint64_t i = 0; i < rows; i++) {
        int32_t owner = owner_of(mark[i], first + i, peers->size);
        s->owner[first + i] = owner;
        common += owner == ROW_COMMON;
        own += owner == peers->rank;
    }
    s->common += common;
    s->own += own;
}

enum status row_owners_find(struct row_owners *s, struct comm *peers, const unsigned char *touched,
                            uint64_t rows, struct error *error)
{
    const uint64_t most = rows < AT_A_TIME ? rows : AT_A_TIME;
    const double mine = 1 + (double)peers->rank * (peers->size + 1);
    double *mark = memory_array(most, sizeof *mark, error);
    *s = (struct row_owners){.owner = memory_array(rows, sizeof *s->owner, error)};
    if (error->status != STATUS_OK) {
        comm_abort(peers, error);
        goto done;
    }
    for (uint64_t first = 0; first < rows; first += most) {
        uint64_t some = rows - first < most ? rows - first : most;
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < some; i++)
            mark[i] = touched[first + i] ? mine : 0;
        TRY_OR(done, comm_allreduce_sum(peers, mark, some, error));
        set_owners(s, peers, mark, first, some);
    }
    s->pays = rows > 0 && (double)s->common <= GRID_MOST_COMMON * (double)rows;
done:
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
