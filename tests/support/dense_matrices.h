/* Dense matrices for tests of the host's dense steps, and the expected results. Include it after
 * cmocka.h. */
#pragma once

#include <math.h>
#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_dense_simd.h"
#include "base/memory.h"
#include "support/naive.h"

static uint64_t dense_seed = 1;

/* A fresh matrix with entries in [-1, 1). */
static inline double *random_matrix(uint64_t rows, uint64_t rank)
{
    struct error error = {0};
    double *a = memory_array(rows, rank * sizeof *a, &error);
    assert_non_null(a);
    for (uint64_t i = 0; i < rows * rank; i++)
        a[i] = (double)(int64_t)naive_random(&dense_seed) * 0x1p-63;
    return a;
}

static inline double *copy_of(const double *a, uint64_t rows, uint64_t rank)
{
    double *b = random_matrix(rows, rank);
    memcpy(b, a, rows * rank * sizeof *b);
    return b;
}

/* ||A - B|| / ||B||, or ||A|| if B is zero. */
static inline double distance(const double *a, const double *b, uint64_t n)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        difference += ((long double)a[i] - b[i]) * ((long double)a[i] - b[i]);
        norm += (long double)b[i] * b[i];
    }
    return (double)sqrtl(norm > 0 ? difference / norm : difference);
}

/* The result of host_dense_multiply for *p, by its definition, as a fresh matrix. */
static inline double *naive_product(const struct host_dense_product *p)
{
    double *c = random_matrix(p->rows, p->rank);
    for (uint64_t i = 0; i < p->rows; i++)
        for (uint64_t j = 0; j < p->rank; j++) {
            long double sum = 0;
            for (uint64_t k = 0; k < p->terms; k++)
                sum += (long double)p->x[i * p->x_row + k * p->x_term] * p->y[k * p->rank + j];
            c[i * p->rank + j] = (double)sum;
        }
    return c;
}

/* C (rows x R) = A (rows x R) B (R x R). */
static inline double *product(const double *a, const double *b, uint64_t rows, uint64_t rank)
{
    return naive_product(
        &(struct host_dense_product){NULL, a, b, rank, 1, rows, rank, rank, false});
}

/* G (R x R) = A' A of A (rows x R). */
static inline double *naive_gram(const double *a, uint64_t rows, uint64_t rank)
{
    return naive_product(
        &(struct host_dense_product){NULL, a, a, 1, rank, rank, rows, rank, false});
}

/* V (R x R) = Q diag(w) Q' with the Householder reflection Q = I - 2 u u' / u'u, so that its
 * pseudoinverse is known: the same with 1 / w, or 0 if w is 0. */
static inline double *spectral(const double *u, const double *w, uint64_t rank)
{
    double *q = random_matrix(rank, rank), *scaled = random_matrix(rank, rank);
    long double norm_sq = 0;
    for (uint64_t i = 0; i < rank; i++)
        norm_sq += (long double)u[i] * u[i];
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++) {
            q[i * rank + j] = (double)((i == j) - 2 * (long double)u[i] * u[j] / norm_sq);
            scaled[i * rank + j] = q[i * rank + j] * w[j];
        }
    double *v = product(scaled, q, rank, rank); /* Q is symmetric */
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < i; j++)
            v[i * rank + j] = v[j * rank + i];
    memory_free(q);
    memory_free(scaled);
    return v;
}

/* A = M V^+ by host_dense_update; V is destroyed. */
static inline enum status solve(double *v, const double *m, double *a, uint64_t rows, uint64_t rank,
                                uint64_t *rank_of_v, struct error *error)
{
    struct host_dense_inverse inverse;
    double *g = random_matrix(rank, rank), *inner = random_matrix(1, rank);
    if (host_dense_inverse_create(&inverse, v, rank, PRECISION_DOUBLE, error) == STATUS_OK) {
        *rank_of_v = inverse.rank_of_v;
        host_dense_update(&inverse, NULL, &(struct host_dense_rows){m, a, rows, PRECISION_DOUBLE},
                          g, inner, error);
    }
    host_dense_inverse_free(&inverse);
    memory_free(g);
    memory_free(inner);
    return error->status;
}
