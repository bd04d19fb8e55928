/* Squares: the sum of (x - m)^2 over all entries is minimised (numerics/row_term.h). */
#include "problem/loss.h"

#include <math.h>

#include "base/vector_clones.h"
#include "numerics/row_term.h"

VECTOR_CLONES static void make_terms(struct loss_terms *t, const double *value, uint64_t count,
                                     double unlisted, bool only_c)
{
    (void)only_c;
    for (uint64_t k = 0; k < count; k++) {
        const struct row_term term = row_term(value[k], t->m[k], unlisted);
        t->c[k] = term.c;
        t->w[k] = term.w;
        t->misfit[k] = term.misfit;
    }
}

VECTOR_CLONES static void add_numbers(const double *misfit, const double *value, uint64_t count,
                                      double *number)
{
    double known = 0, sum = 0, size = 0;
#pragma omp simd reduction(+ : known, sum, size)
    for (uint64_t k = 0; k < count; k++) {
        known += value[k] == value[k] ? 1 : 0;
        sum += misfit[k];
        size += fabs(misfit[k]);
    }
    number[SYSTEM_KNOWN] += known;
    number[SYSTEM_MISFIT] += sum;
    number[SYSTEM_SIZE] += size;
}

VECTOR_CLONES static void sum_values(const struct loss_terms *t, const double *value,
                                     uint64_t count, double unlisted, struct loss_sums *sums)
{
    double sum = 0;
    (void)unlisted;
#pragma omp simd reduction(+ : sum)
    for (uint64_t k = 0; k < count; k++)
        sum += value[k] == value[k] ? t->m[k] * t->m[k] : 0;
    sums->model_sq += sum;
}

const struct loss loss_squares = {
    .terms = make_terms, .add_numbers = add_numbers, .sum_values = sum_values};
