/* The values of the host backend's model at coordinates. */
#include "backend/host/host_state.h"

#include "base/least.h"
#include "base/vector_clones.h"

#define TERMS 16  /* components that are multiplied side by side */
#define PART  512 /* coordinates that a thread takes              */

#define INLINE static inline __attribute__((always_inline))

/* term (count) *= the entries from column r on of this row. */
INLINE void multiply(double *term, uint64_t count, const void *rows, uint64_t at,
                     enum precision precision)
{
    if (precision == PRECISION_SINGLE)
        for (uint64_t i = 0; i < count; i++)
            term[i] *= (double)((const float *)rows)[at + i];
    else
        for (uint64_t i = 0; i < count; i++)
            term[i] *= ((const double *)rows)[at + i];
}

/* Of coordinates [first, last). weight (R): what the columns of the entries lack. */
VECTOR_CLONES static void values_of(double *value, const struct host_rows *factors,
                                    const double *weight, const struct coo *at, uint64_t first,
                                    uint64_t last)
{
    const uint64_t rank = factors->rank;
    for (uint64_t i = first; i < last; i++) {
        double sum = 0;
        for (uint64_t r = 0; r < rank; r += TERMS) {
            const uint64_t count = least_of(TERMS, rank - r);
            double term[TERMS];
            for (uint64_t k = 0; k < count; k++)
                term[k] = weight[r + k];
            for (int n = 0; n < at->shape.order; n++)
                multiply(term, count, factors->of[n], at->index[n][i] * rank + r,
                         factors->precision);
            for (uint64_t k = 0; k < count; k++)
                sum += term[k];
        }
        value[i] = sum;
    }
}

enum status host_state_values(void *state, const struct coo *at, double *value, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    const struct host_rows factors = host_model_rows(&h->model);
    double *weight = h->solve.row;
    host_model_scale_of_m(&h->model, -1, weight);
    for (uint64_t r = 0; r < factors.rank; r++)
        weight[r] *= h->model.lambda[r];
#pragma omp parallel for schedule(static) if (at->nnz > PART)
    for (uint64_t first = 0; first < at->nnz; first += PART)
        values_of(value, &factors, weight, at, first, least_of(first + PART, at->nnz));
    return STATUS_OK;
}
