#include "ranks/mode_nonzeros.h"

#include "ranks/nonzero_exchange.h"

struct solvers {
    const struct mode_rows *rows;
    int mode, me;
};

/* The rank that needs a nonzero: the one that solves its row, or the one that has it. */
static int rank_of(const void *context, const uint32_t *index)
{
    const struct solvers *s = context;
    const uint64_t row = index[s->mode];
    return mode_rows_is_common(s->rows, row) ? s->me : (int)(row / s->rows->stripe);
}

enum status mode_nonzeros_take(struct coo *taken, const struct rank_rows *r, int n,
                               const struct coo *x, struct error *error)
{
    const struct solvers solvers = {&r->mode[n], n, r->all->rank};
    const struct nonzero_receivers to = {
        .rank = rank_of, .context = &solvers, .part = part_all(&x->shape)};
    struct coo piece = *x;
    struct share share = {
        .shape = x->shape, .nnz = x->nnz, .piece = &piece, .pieces = 1, .borrowed = true};
    return nonzero_exchange_to(&share, &to, r->all, taken, error);
}
