#include "backend/host/host_nonneg.h"

#include <float.h>

#include "backend/host/simd_width.h"
#include "base/memory.h"
#include "numerics/nonneg.h"

enum status host_nonneg_create(struct host_nonneg *p, const struct host_nonneg_start *start,
                               uint64_t rank, struct error *error)
{
    *p = (struct host_nonneg){.rank = rank, .fit_rows = start->fit_rows};
    double **rows[] = {&p->diagonal, &p->a_scale, &p->m_scale, &p->floor, &p->out_scale};
    double sum = 0; /* x - x is 0 for finite x and NaN otherwise */
    p->w = memory_array(rank, rank * sizeof *p->w, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = memory_array(rank, sizeof **rows[i], error);
    TRY_OR(failed, error->status);
    for (uint64_t r = 0; r < rank; r++) {
        const double *v = start->v + r * rank, inverse = v[r] >= DBL_MIN ? 1 / v[r] : 0;
        p->diagonal[r] = v[r];
        p->m_scale[r] = start->m[r] * inverse;
        p->a_scale[r] = start->a[r] * start->lambda[r];
        p->out_scale[r] = start->out_scale[r];
        for (uint64_t s = 0; s < rank; s++) {
            sum += v[s] - v[s];
            p->w[r * rank + s] = s == r ? 0 : v[s] * inverse;
        }
    }
    if (sum != 0) {
        error_set(error, STATUS_NUMERICAL,
                  "the Hadamard product of the Gram matrices is not finite");
        goto failed;
    }
    const struct nonneg_update update = {.lambda = start->lambda,
                                         .diagonal = p->diagonal,
                                         .rows = start->rows,
                                         .precision = start->precision};
    nonneg_floors(&update, rank, p->floor);
    return STATUS_OK;
failed:
    host_nonneg_free(p);
    return error->status;
}

void host_nonneg_free(struct host_nonneg *p)
{
    memory_free(p->w, p->diagonal, p->a_scale, p->m_scale, p->floor, p->out_scale);
    *p = (struct host_nonneg){0};
}

uint64_t host_nonneg_room(uint64_t rank)
{
    return 2 * NONNEG_MOST_ROWS * rank;
}

void host_nonneg_rows(const struct host_nonneg *p, const double *m, const double *a, double *x,
                      uint64_t rows, double *scratch)
{
    host_nonneg_panel *panel = SIMD_DOUBLES(host_nonneg, simd_width(8, PRECISION_DOUBLE));
    panel(p, m, a, x, rows, scratch);
}
