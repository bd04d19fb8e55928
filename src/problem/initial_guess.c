#include "problem/initial_guess.h"

#include <math.h>
#include <string.h>

/* Copies the rows of mode n that k has from the whole model. */
static void copy_rows(struct ktensor *k, const struct ktensor *whole, int n)
{
    size_t bytes = k->rank * sizeof *k->lambda;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
        uint64_t row = ktensor_row(k, n, i);
        double *to = k->factor[n] + i * k->rank;
        if (row == NO_ROW)
            memset(to, 0, bytes);
        else
            memcpy(to, whole->factor[n] + row * k->rank, bytes);
    }
}

void entries_drop_signs(double *a, uint64_t count)
{
#pragma omp parallel for schedule(static)
    for (uint64_t e = 0; e < count; e++)
        a[e] = fabs(a[e]);
}

void ktensor_drop_signs(struct ktensor *k, int n)
{
    entries_drop_signs(k->factor[n], k->shape.dims[n] * k->rank);
}

enum ktensor_init guess_numbers(enum guess kind)
{
    return kind == GUESS_NORMAL ? KTENSOR_NORMAL : KTENSOR_RANDOM;
}

void initial_guess_fill(struct ktensor *k, const struct shape *whole,
                        const struct initial_guess *guess, const bool *nonneg)
{
    const struct ktensor *model = guess->kind == GUESS_MODEL ? guess->model : NULL;
    bool given[MAX_ORDER] = {false}, all = true;
    for (int n = 0; n < k->shape.order; n++) {
        given[n] = model && n < model->shape.order && model->shape.dims[n] == whole->dims[n];
        all = all && given[n];
    }
    if (!all)
        ktensor_randomise(k, guess_numbers(guess->kind), guess->seed);
    if (model)
        memcpy(k->lambda, model->lambda, k->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        if (given[n])
            copy_rows(k, model, n);
        else if (nonneg[n])
            ktensor_drop_signs(k, n);
}

void ktensor_copy_rows(struct ktensor *k, const struct ktensor *whole)
{
    memcpy(k->lambda, whole->lambda, k->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        copy_rows(k, whole, n);
}
