#include "als/model_gather.h"

#include <string.h>

#include "base/memory.h"

/* The rows of the whole factor matrix that a rank has solved. */
struct solved {
    uint64_t first, rows;
};

/* Rows of mode n from rank `from` to rank 0, straight to their place. */
static enum status send_rows(const struct backend_ranks *r, int from, const double *rows,
                             const struct solved *solved, uint64_t rank, double *factor,
                             uint64_t *first, struct error *error)
{
    struct comm *c = r->all;
    uint64_t *send = first, *receive = first + c->size + 1;
    uint64_t bytes = solved[from].rows * rank * sizeof *rows;
    for (int k = 0; k <= c->size; k++) {
        send[k] = k > 0 && c->rank == from ? bytes : 0;
        receive[k] = k > from && c->rank == 0 ? bytes : 0;
    }
    double *to = factor ? factor + solved[from].first * rank : NULL;
    return comm_exchange(c, rows, send, to, receive, error);
}

/* Rank by rank, so that nothing is held twice. */
static enum status gather_mode(double *factor, const struct ktensor *part,
                               const struct backend_ranks *r, int n, struct solved *solved,
                               uint64_t *first, struct error *error)
{
    uint64_t skip, rows = backend_ranks_rows(r, n, &skip);
    const struct solved mine = {part->first[n] + skip, rows};
    const double *own = part->factor[n] + skip * part->rank;
    if (comm_gather_all(r->all, &mine, sizeof mine, solved, error) != STATUS_OK)
        return error->status;
    if (factor)
        memcpy(factor + mine.first * part->rank, own, rows * part->rank * sizeof *own);
    for (int from = 1; from < r->all->size && error->status == STATUS_OK; from++)
        send_rows(r, from, own, solved, part->rank, factor, first, error);
    return error->status;
}

enum status model_gather(struct ktensor *whole, const struct ktensor *part,
                         const struct backend_ranks *ranks, struct error *error)
{
    size_t size = (size_t)ranks->all->size;
    struct solved *solved = memory_array(size, sizeof *solved, error);
    uint64_t *first = memory_array(2 * (size + 1), sizeof *first, error);
    *whole = (struct ktensor){0};
    if (solved && first && ranks->all->rank == 0 &&
        ktensor_create(whole, &ranks->part.whole, part->rank, error) == STATUS_OK)
        memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    if (error->status != STATUS_OK)
        comm_abort(ranks->all, error);
    for (int n = 0; n < part->shape.order && error->status == STATUS_OK; n++)
        gather_mode(whole->factor[n], part, ranks, n, solved, first, error);
    if (error->status != STATUS_OK)
        ktensor_free(whole);
    memory_free(first);
    memory_free(solved);
    return error->status;
}
