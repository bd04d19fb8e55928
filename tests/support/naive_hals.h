/* The oracle of nonnegative updates: HALS by its definition (numerics/nonneg.h), in long double.
 * Include it after cmocka.h. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "numerics/nonneg.h"

/* Multiplies the row b (R) by the number that fits m best. */
static inline void naive_fit_row(long double *b, const long double *m, const long double *v,
                                 uint64_t rank)
{
    long double inner = 0, square = 0;
    for (uint64_t r = 0; r < rank; r++) {
        inner += m[r] * b[r];
        for (uint64_t s = 0; s < rank; s++)
            square += b[r] * v[r * rank + s] * b[s];
    }
    for (uint64_t r = 0; r < rank; r++)
        b[r] = inner > 0 && square > 0 ? b[r] * inner / square : 0;
}

/* The floors of the columns (R): `rows` of the factor matrix, `lambda` of the model before, V (R x
 * R). */
static inline void naive_floors(long double *least, const struct nonneg_floor *of,
                                const double *lambda, const long double *v, uint64_t rows,
                                uint64_t rank)
{
    long double most = 0;
    for (uint64_t r = 0; r < rank; r++)
        most = fmaxl(most, fabsl((long double)lambda[r]) * sqrtl(v[r * rank + r]));
    for (uint64_t r = 0; r < rank; r++)
        least[r] = of->floor / sqrtl((long double)rows) *
                   fmaxl(fabsl((long double)lambda[r]),
                         v[r * rank + r] > 0 ? of->lost * most / sqrtl(v[r * rank + r]) : 0);
}

/* b (rows x R) after `passes` passes, for M (rows x R), V (R x R) and floors (R). */
static inline void naive_hals(long double *b, const long double *m, const long double *v,
                              const long double *least, uint64_t rows, uint64_t rank, int passes,
                              bool fit_rows)
{
    for (uint64_t i = 0; i < rows; i++) {
        long double *row = b + i * rank;
        const long double *target = m + i * rank;
        if (fit_rows)
            naive_fit_row(row, target, v, rank);
        for (uint64_t k = 0; k < (uint64_t)passes * rank; k++) {
            uint64_t r = k % rank;
            long double rest = target[r];
            for (uint64_t s = 0; s < rank; s++)
                rest -= s == r ? 0 : row[s] * v[s * rank + r];
            row[r] = v[r * rank + r] > 0 ? fmaxl(least[r], rest / v[r * rank + r]) : 0;
        }
    }
}
