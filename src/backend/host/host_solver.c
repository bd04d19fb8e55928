#include "backend/host/host_solver.h"

enum status host_solver_create(struct host_solver *s, bool is_nonneg, double *v,
                               const struct host_nonneg_start *start, uint64_t rank,
                               struct error *error)
{
    *s = (struct host_solver){.is_nonneg = is_nonneg};
    if (is_nonneg)
        return host_nonneg_create(&s->nonneg, start, rank, error);
    TRY(host_dense_inverse_create(&s->inverse, v, rank, start->precision, error));
    host_dense_inverse_scale(&s->inverse, start->m, start->out);
    return STATUS_OK;
}

void host_solver_free(struct host_solver *s)
{
    host_dense_inverse_free(&s->inverse);
    host_nonneg_free(&s->nonneg);
}

enum status host_solver_rows(const struct host_solver *s, const struct host_dense_rows *rows,
                             double *g, double *inner, struct error *error)
{
    return s->is_nonneg ? host_dense_update_nonneg(&s->nonneg, rows, g, inner, error)
                        : host_dense_update(&s->inverse, rows, g, inner, error);
}
