#include "backend/host/host_dense_inverse.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "backend/host/host_dense_simd.h"
#include "base/memory.h"
#include "numerics/column_scale.h"
#include "lapack/lapack_library.h"
#include "lapack/symmetric_eigen.h"

/* Where V's reciprocal condition number is above this, V^-1 loses less than four digits. */
#define WELL_CONDITIONED 1e-3

/* Cholesky V = U' U (U upper, row-major) in place, and an estimate of V's reciprocal condition
 * number in 1-norms, 0 where a pivot fails. V is symmetric, so the lower triangle of LAPACK's
 * column-major order is the upper one of row-major order. */
static enum status factorise(const struct lapack_library *lapack, double *u, uint64_t rank,
                             double *reciprocal, struct error *error)
{
    double norm = 0.0; /* that sums each column's absolute values */
    for (uint64_t i = 0; i < rank; i++) {
        double sum = 0.0;
        for (uint64_t j = 0; j < rank; j++)
            sum += fabs(u[i * rank + j]);
        norm = sum > norm ? sum : norm;
    }
    double *work = memory_array(3 * rank, sizeof *work, error);
    lapack_int *whole = work ? memory_array(rank, sizeof *whole, error) : NULL;
    lapack_int n = (lapack_int)rank, info = 0;
    *reciprocal = 0.0;
    if (whole) {
        lapack_library_enter();
        info = lapack->dpotrf(LAPACK_COL_MAJOR, 'L', n, u, n);
        if (info == 0)
            info =
                lapack->dpocon_work(LAPACK_COL_MAJOR, 'L', n, u, n, norm, reciprocal, work, whole);
        lapack_library_leave();
    }
    if (info < 0)
        error_set(error, STATUS_INTERNAL, "Cholesky solve failed with code %d", (int)info);
    memory_free(whole, work);
    return error->status;
}

/* The inverses of the Cholesky factors: V^-1 = W W' with W = U^-1. On entry factor[0] holds U.
 * Where V is well conditioned, factor[0] becomes the product W W', by way of `work` (R x R). */
static enum status invert_factors(const struct lapack_library *lapack, struct host_dense_inverse *p,
                                  bool well_conditioned, double *work, struct error *error)
{
    uint64_t rank = p->rank;
    double *w = p->factor[0];
    lapack_int n = (lapack_int)rank;
    lapack_library_enter();
    lapack_int info = lapack->dtrtri(LAPACK_COL_MAJOR, 'L', 'N', n, w, n);
    lapack_library_leave();
    if (info != 0)
        return error_set(error, STATUS_INTERNAL, "inverting a Cholesky factor failed with code %d",
                         (int)info);
    for (uint64_t i = 0; i < rank; i++)
        memset(w + i * rank, 0, i * sizeof *w);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            p->factor[1][j * rank + i] = w[i * rank + j];
    p->factors = 2;
    p->rank_of_v = rank;
    if (!well_conditioned)
        return STATUS_OK;
    host_dense_times_square(w, p->factor[1], work, rank, rank);
    memcpy(w, work, rank * rank * sizeof *w);
    p->factors = 1;
    return STATUS_OK;
}

/* factor[0] = V^+ by eigendecomposition, by way of factor[1]; V is destroyed. Zeros of d (R) are
 * those of columns that are zero, which cut off nothing. */
static enum status pseudoinverse(struct host_dense_inverse *p, double *v, const double *d,
                                 double epsilon, struct error *error)
{
    uint64_t rank = p->rank, zeros = 0;
    double *w = memory_array(rank, sizeof *w, error);
    if (!w || symmetric_eigen(v, rank, w, error) != STATUS_OK)
        goto done;
    double least = (double)rank * epsilon * w[rank - 1]; /* ascending: the last is largest */
    uint64_t kept = 0;
    while (kept < rank && w[rank - 1 - kept] > least && w[rank - 1 - kept] > 0.0)
        kept++;

    /* Eigenvectors are now the rows of V: with S = diag(w)^-1/2 Q, V^+ = S' S. */
    double *s = v + (rank - kept) * rank;
    for (uint64_t e = 0; e < kept; e++)
        for (uint64_t i = 0; i < rank; i++)
            s[e * rank + i] *= 1.0 / sqrt(w[rank - kept + e]);
    struct host_dense_product product = host_dense_gram_product(p->factor[0], s, kept, rank);
    host_dense_multiply(&product, false);
    p->factors = 1;
    p->rank_of_v = kept;
    for (uint64_t r = 0; r < rank; r++)
        zeros += d[r] == 0;
    p->reciprocal = kept > 0 && kept + zeros >= rank ? w[rank - kept] / w[rank - 1] : 0;
done:
    memory_free(w);
    return error->status;
}

enum status host_dense_inverse_create(struct host_dense_inverse *p, double *v, uint64_t rank,
                                      enum precision precision, struct error *error)
{
    const double epsilon = precision == PRECISION_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON;
    const struct lapack_library *lapack = lapack_library(error);
    double sum = 0.0; /* x - x is 0 for finite x and NaN otherwise */
    *p = (struct host_dense_inverse){.rank = rank};
    TRY(error->status);
    for (uint64_t i = 0; i < rank * rank; i++)
        sum += v[i] - v[i];
    if (sum != 0.0)
        return error_set(error, STATUS_NUMERICAL,
                         "the Hadamard product of the Gram matrices is not finite");
    double *d = memory_array(rank, sizeof *d, error);
    for (int f = 0; f < 2; f++)
        p->factor[f] = memory_array(rank, rank * sizeof **p->factor, error);
    TRY_OR(done, error->status);
    /* V = diag(d) V diag(d), whose columns are near unit ones: no scale of a column counts for the
     * condition of V, nor for which eigenvalues are zero. */
    for (uint64_t r = 0; r < rank; r++)
        d[r] = column_unit_scale(v[r * rank + r]);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            v[i * rank + j] = v[i * rank + j] * d[i] * d[j];
    memcpy(p->factor[0], v, rank * rank * sizeof *v);
    TRY_OR(done, factorise(lapack, p->factor[0], rank, &p->reciprocal, error));
    /* In 1-norms the reciprocal condition number is at most R times that in 2-norms, so a V that
     * passes has no eigenvalue that the pseudoinverse would drop. */
    if (p->reciprocal > (double)rank * (double)rank * epsilon)
        TRY_OR(done, invert_factors(lapack, p, p->reciprocal > WELL_CONDITIONED, v, error));
    else
        TRY_OR(done, pseudoinverse(p, v, d, epsilon, error));
    host_dense_inverse_scale(p, d, d); /* the zeros of d are those of V^+, where rounding may be */
done:
    memory_free(d);
    if (error->status != STATUS_OK)
        host_dense_inverse_free(p);
    return error->status;
}

void host_dense_inverse_scale(struct host_dense_inverse *p, const double *row, const double *column)
{
    double *first = p->factor[0], *last = p->factor[p->factors - 1];
    for (uint64_t i = 0; i < p->rank; i++)
        for (uint64_t j = 0; j < p->rank; j++)
            first[i * p->rank + j] *= row[i];
    for (uint64_t i = 0; i < p->rank; i++)
        for (uint64_t j = 0; j < p->rank; j++)
            last[i * p->rank + j] *= column[j];
}

void host_dense_inverse_free(struct host_dense_inverse *p)
{
    memory_free(p->factor[0], p->factor[1]);
    *p = (struct host_dense_inverse){0};
}
